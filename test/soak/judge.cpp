// SPDX-License-Identifier: BSL-1.0
#include "soak/judge.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <sstream>
#include <utility>

namespace conch::soak {
namespace {

namespace asio = boost::asio;
using error_code = boost::system::error_code;

constexpr std::size_t most_findings = 30;

test::claim read_claim(std::istream& in) {
    test::claim c;
    time_point::rep valid_until = 0;
    duration::rep lease = 0;
    in >> c.name >> c.fence >> valid_until >> lease;
    c.valid_until = time_point{duration{valid_until}};
    c.lease = duration{lease};
    return c;
}

std::string text_of(const test::fenced_resource::answer& a, std::uint64_t unfenced = 0) {
    return (a.accepted ? "+ " : "- ") + std::to_string(a.value) + ' ' + std::to_string(unfenced) +
           '\n';
}

}  // namespace

struct judge::session {
    explicit session(protocol::socket s) : socket{std::move(s)} {}
    protocol::socket socket;
    std::string in{};
    std::string out{};
};

judge::judge(const std::string& folder)
    : path_{folder + "/judge.sock"}, acceptor_{io_, protocol::endpoint{path_}} {
    accept();
    thread_ = std::thread{[this] { io_.run(); }};
}

judge::~judge() {
    io_.stop();
    thread_.join();
}

testimony judge::heard() const {
    const std::lock_guard lock{guard_};
    testimony out = heard_;
    out.resource = resource_.report();
    out.unfenced = unfenced_.report();
    const auto& lost = unfenced_.findings();
    out.findings.insert(out.findings.begin(), lost.begin(), lost.end());
    const auto& overlaps = resource_.findings();
    out.findings.insert(out.findings.begin(), overlaps.begin(), overlaps.end());
    return out;
}

void judge::data_lost(const std::string& name_prefix, time_point from, time_point to) {
    const std::lock_guard lock{guard_};
    resource_.data_lost(name_prefix, from, to);
    losses_.add(name_prefix, from, to);
}

void judge::found(std::string what) {
    if (heard_.findings.size() < most_findings) {
        heard_.findings.push_back(std::move(what));
    }
}

void judge::taken(const test::claim& c) {
    const bool declared = losses_.may_have_taken(c, clock::now());
    if (!declared) {
        found("a hold of " + c.name + " was taken away by a server that has lost nothing");
    }
    ++heard_.counts[declared ? "holds taken away, by a server that lost its data"
                             : "holds taken away"];
}

void judge::accept() {
    acceptor_.async_accept([this](error_code ec, protocol::socket s) {
        if (!ec) {
            next(std::make_shared<session>(std::move(s)));
            accept();
        }
    });
}

void judge::next(const std::shared_ptr<session>& s) {
    asio::async_read_until(s->socket, asio::dynamic_buffer(s->in), '\n',
                           [this, s](error_code ec, std::size_t size) {
                               if (ec) {
                                   return;
                               }
                               s->out = answer(s->in.substr(0, size - 1));
                               s->in.erase(0, size);
                               asio::async_write(s->socket, asio::buffer(s->out),
                                                 [this, s](error_code failed, std::size_t) {
                                                     if (!failed) {
                                                         next(s);
                                                     }
                                                 });
                           });
}

std::string judge::answer(const std::string& line) {
    std::istringstream in{line};
    std::string verb;
    std::string word;
    in >> verb;
    const std::lock_guard lock{guard_};
    if (verb == "enter") {
        in >> word;
        const test::claim c = read_claim(in);
        duration::rep waited = 0;
        in >> waited;
        ++heard_.acquisitions;
        ++heard_.served[word];
        heard_.longest_wait = std::max(heard_.longest_wait, duration{waited});
        const std::uint64_t unfenced = unfenced_.read(c);
        return text_of(resource_.enter(c, clock::now()), unfenced);
    }
    if (verb == "write" || verb == "write-unfenced") {
        const test::claim c = read_claim(in);
        std::uint64_t value = 0;
        in >> value;
        if (verb == "write") {
            return text_of(resource_.write(c, value, clock::now()));
        }
        unfenced_.write(c, value, clock::now());
    } else if (verb == "leave") {
        const test::claim c = read_claim(in);
        resource_.leave(c);
        unfenced_.leave(c);
    } else if (verb == "taken") {
        taken(read_claim(in));
    } else if (verb == "count") {
        std::getline(in >> std::ws, word);
        ++heard_.counts[word];
    } else {
        found(line);
    }
    return text_of({.accepted = true, .value = 0});
}

}  // namespace conch::soak
