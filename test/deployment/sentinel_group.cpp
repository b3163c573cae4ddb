// SPDX-License-Identifier: BSL-1.0
#include "deployment/sentinel_group.hpp"

#include "support/rights.hpp"
#include "support/run.hpp"
#include "deployment/group_settings.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

namespace conch::test {
namespace {

// "3" of "num-other-sentinels 3" in the flat list of a sentinel's answer.
std::string field(const reply& flat, const std::string& name) {
    for (std::size_t i = 0; i + 1 < flat.items.size(); i += 2) {
        if (flat.items[i].text == name) {
            return flat.items[i + 1].text;
        }
    }
    return {};
}

std::string line_of_user() {
    std::string out = "user";
    for (const std::string& word : words_of_user(rights_at_sentinels())) {
        out += ' ' + word;
    }
    return out + '\n';
}

std::string configuration(const std::string& host, std::uint16_t master_port) {
    const std::string names =
        host == usual_host ? std::string{}
                           : "sentinel resolve-hostnames yes\nsentinel announce-hostnames yes\n";
    return names + "sentinel monitor conch-test " + host + ' ' + std::to_string(master_port) +
           " 2\n"
           "sentinel down-after-milliseconds conch-test 500\n"
           "sentinel failover-timeout conch-test 4000\n"
           "sentinel parallel-syncs conch-test 2\n" +
           line_of_user();
}

}  // namespace

sentinel_group::sentinel_group(std::optional<node_certificate> shown)
    : shown_{std::move(shown)}, servers_{shown_} {
    asio::io_context io;
    const std::string host = shown_ ? shown_->host : usual_host;
    while (sentinels_.size() < sentinel_count) {
        cli::private_redis::options o{.tcp = !shown_, .sentinel = configuration(host, port(0))};
        if (shown_) {
            o.arguments = tls_arguments(*shown_, tls_ports_.emplace_back().number());
        }
        sentinels_.emplace_back(std::move(o));
    }
    if (!run_until(io, [&] { return complete(); }, start_limit)) {
        throw std::runtime_error{"the sentinels did not find each other"};
    }
}

bool sentinel_group::complete() const {
    for (const auto& s : sentinels_) {
        raw_client raw{s.socket_path()};
        const reply r = raw.must({"SENTINEL", "MASTER", "conch-test"});
        if (field(r, "num-slaves") != std::to_string(server_count - 1) ||
            field(r, "num-other-sentinels") != std::to_string(sentinel_count - 1) ||
            field(r, "flags") != "master") {
            return false;
        }
    }
    return true;
}

std::size_t sentinel_group::master_by(std::size_t i) const {
    raw_client raw{sentinels_[i].socket_path()};
    const reply at = raw.must({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "conch-test"});
    for (std::size_t s = 0; s < server_count && at.items.size() == 2; ++s) {
        if (at.items[1].text == std::to_string(port(s))) {
            return s;
        }
    }
    return server_count;
}

reply sentinel_group::role(std::size_t i) const {
    try {
        return raw(i).command({"ROLE"});
    } catch (const std::runtime_error&) {
        return {};
    }
}

bool sentinel_group::calm() const {
    const std::size_t m = master_by(0);
    if (m == server_count || master_by(1) != m || master_by(2) != m) {
        return false;
    }
    const reply r = role(m);
    return r.items.size() == 3 && r.items[0].text == "master" && !r.items[2].items.empty();
}

config sentinel_group::settings(const std::string& client_name) const {
    config c = group_settings(config::from_url(url()), client_name);
    c.sentinel->username = conch_user;
    c.sentinel->password = conch_password;
    return c;
}

std::string sentinel_group::url() const {
    std::string hosts;
    for (std::size_t i = 0; i < sentinel_count; ++i) {
        hosts += (hosts.empty() ? "" : ",") + (shown_ ? shown_->host : usual_host) + ':' +
                 std::to_string(sentinel_port(i));
    }
    return shown_ ? "rediss+sentinel://" + hosts + "/conch-test?cacert=" + shown_->ca
                  : "redis+sentinel://" + hosts + "/conch-test";
}

}  // namespace conch::test
