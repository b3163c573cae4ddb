// SPDX-License-Identifier: BSL-1.0
#include "support/proxy.hpp"

#include "support/program.hpp"
#include "support/proxy_lane.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/socket_base.hpp>

#include <future>
#include <utility>
#include <vector>

namespace conch::test {
namespace {

namespace asio = boost::asio;
using asio::local::stream_protocol;
using tcp = asio::ip::tcp;
using error_code = boost::system::error_code;
using any_socket = asio::generic::stream_protocol::socket;

void close(any_socket& s) {
    error_code ignored;
    s.close(ignored);
}

}  // namespace

/// A client, and the connection to the server that was made for it.
class proxy::connection : public std::enable_shared_from_this<connection> {
public:
    connection(any_socket from_client, any_socket from_server, proxy_damage& damage)
        : client{std::move(from_client)},
          server{std::move(from_server)},
          to_server{client, server, damage, false},
          to_client{server, client, damage, true} {}

    void start() {
        const auto cut = [this] {
            close(client);
            close(server);
        };
        to_server.start(weak_from_this(), cut);
        to_client.start(weak_from_this(), cut);
    }
    bool closed() const { return !client.is_open() && !server.is_open(); }

    any_socket client;
    any_socket server;
    proxy_lane to_server;
    proxy_lane to_client;
};

struct proxy::state {
    state(asio::io_context& context, std::string upstream_path)
        : io{context}, upstream{std::move(upstream_path)} {}

    template <typename Acceptor>
    void accept(Acceptor& acceptor) {
        acceptor.async_accept([this, &acceptor](error_code ec, auto socket) {
            if (ec) {
                return;
            }
            ++damage.accepted;
            join(any_socket{std::move(socket)});
            accept(acceptor);
        });
    }

    void join(any_socket client) {
        stream_protocol::socket server{io};
        error_code ec;
        if (!damage.refuse) {
            server.connect(stream_protocol::endpoint{upstream}, ec);
        }
        if (damage.refuse || ec) {
            close(client);
            return;
        }
        std::erase_if(all, [](const auto& c) { return c->closed(); });
        all.push_back(
            std::make_shared<connection>(std::move(client), any_socket{std::move(server)}, damage));
        all.back()->start();
    }

    template <typename Function>
    void each(Function f) {
        for (const auto& c : all) {
            f(*c);
        }
    }
    void go_on() {
        each([](connection& c) {
            c.to_server.go_on();
            c.to_client.go_on();
        });
    }

    asio::io_context& io;
    std::string upstream;
    temporary_folder folder{};
    stream_protocol::acceptor local{io, stream_protocol::endpoint{folder.path() + "/wire.sock"}};
    tcp::acceptor loopback{io, tcp::endpoint{asio::ip::address_v4::loopback(), 0}};
    proxy_damage damage{};
    std::vector<std::shared_ptr<connection>> all{};
};

proxy::proxy(std::string upstream_path)
    : state_{std::make_unique<state>(io_, std::move(upstream_path))},
      socket_path_{state_->folder.path() + "/wire.sock"},
      port_{state_->loopback.local_endpoint().port()} {
    state_->accept(state_->local);
    state_->accept(state_->loopback);
    thread_ = std::thread{[this] { io_.run(); }};
}

proxy::~proxy() {
    io_.stop();
    thread_.join();
}

void proxy::order(const std::function<void()>& what) {
    std::promise<void> done;
    asio::post(io_, [&] {
        what();
        done.set_value();
    });
    done.get_future().wait();
}

void proxy::swallow_replies() {
    order([&] { state_->each([](connection& c) { c.to_client.swallow(); }); });
}

void proxy::swallow_requests() {
    order([&] { state_->each([](connection& c) { c.to_server.swallow(); }); });
}

void proxy::cut() {
    order([&] {
        state_->each([](connection& c) {
            close(c.client);
            close(c.server);
        });
    });
}

void proxy::reset() {
    order([&] {
        state_->each([](connection& c) {
            for (any_socket* s : {&c.client, &c.server}) {
                error_code ignored;
                s->set_option(asio::socket_base::linger{true, 0}, ignored);
                close(*s);
            }
        });
    });
}

void proxy::cut_clients_only() {
    order([&] {
        state_->each([](connection& c) {
            c.to_client.swallow();
            c.to_server.abandon();
            close(c.client);
        });
    });
}

void proxy::cut_servers_only() {
    order([&] {
        state_->each([](connection& c) {
            c.to_server.swallow();
            c.to_client.abandon();
            close(c.server);
        });
    });
}

void proxy::truncate_replies(std::size_t bytes) {
    order([&] { state_->each([&](connection& c) { c.to_client.truncate_after(bytes); }); });
}

void proxy::inject(std::string bytes) {
    order([&] { state_->each([&](connection& c) { c.to_client.inject(bytes); }); });
}

void proxy::stall() {
    order([&] { state_->damage.stall = true; });
}

void proxy::stall_replies() {
    order([&] { state_->damage.stall_replies = true; });
}

void proxy::delay(duration length) {
    order([&] { state_->damage.delay = length; });
}

void proxy::dribble() {
    order([&] { state_->damage.dribble = true; });
}

void proxy::reorder_pushes() {
    order([&] { state_->damage.reorder = true; });
}

void proxy::refuse() {
    order([&] { state_->damage.refuse = true; });
}

void proxy::heal() {
    order([&] {
        proxy_damage& d = state_->damage;
        d.stall = d.stall_replies = d.dribble = d.reorder = d.refuse = false;
        d.delay = {};
        state_->go_on();
    });
}

std::size_t proxy::accepted() {
    std::size_t n = 0;
    order([&] { n = state_->damage.accepted; });
    return n;
}

std::size_t proxy::reordered() {
    std::size_t n = 0;
    order([&] { n = state_->damage.reordered; });
    return n;
}

std::size_t proxy::dribbled() {
    std::size_t n = 0;
    order([&] { n = state_->damage.dribbled; });
    return n;
}

std::size_t proxy::passed() {
    std::size_t n = 0;
    order([&] { n = state_->damage.passed; });
    return n;
}

std::size_t proxy::swallowed_of_clients() {
    std::size_t n = 0;
    order([&] { n = state_->damage.swallowed_of_clients; });
    return n;
}

}  // namespace conch::test
