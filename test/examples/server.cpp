// SPDX-License-Identifier: BSL-1.0
// A TCP server that settles one order per connection, each order once at a time among all servers
// that share the Redis: `server PORT [REDIS_URL]`. A client sends the order's number and a newline.
#include <conch/conch.hpp>

#include <boost/asio.hpp>

#include <cstdlib>
#include <iostream>
#include <string>

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

asio::awaitable<std::string> charge(const std::string& order, std::uint64_t fence) {
    co_return order + " settled under fence " + std::to_string(fence);
}

asio::awaitable<std::string> settle(conch::client& redis, std::string order) {
    conch::mutex m{redis, "orders:" + order, {.fenced = true}};
    conch::hold h;
    try {
        h = co_await m.async_lock({.wait = 2s});
    } catch (const conch::system_error& e) {  // busy for 2 s, no Redis ...
        co_return order + " not settled: " + e.code().message();
    }
    const std::string done = co_await charge(order, h.fence());  // the work
    const auto [ec] = co_await h.async_unlock(asio::as_tuple(asio::use_awaitable));
    if (ec) {  // the work was done all the same: who is told "not settled" would do it again
        std::cerr << order << ": " << ec.message() << '\n';
    }
    co_return done;
}

asio::awaitable<void> talk(conch::client& redis, tcp::socket peer) {
    std::string order;
    const std::size_t n = co_await asio::async_read_until(
        peer, asio::dynamic_buffer(order, 64), '\n', asio::use_awaitable);
    order.resize(n - 1);
    const std::string answer = co_await settle(redis, order);
    co_await asio::async_write(peer, asio::buffer(answer + "\n"), asio::use_awaitable);
}

asio::awaitable<void> serve(conch::client& redis, tcp::acceptor& acceptor) {
    for (;;) {
        tcp::socket peer = co_await acceptor.async_accept(asio::use_awaitable);
        asio::co_spawn(acceptor.get_executor(), talk(redis, std::move(peer)), asio::detached);
    }
}

int main(int argc, char* argv[]) {
    if (argc < 2) {
        std::cerr << "usage: server PORT [REDIS_URL]\n";
        return 64;
    }
    asio::io_context io;
    conch::client redis{io, conch::config::from_url(argc > 2 ? argv[2] : "redis://127.0.0.1")};
    tcp::acceptor acceptor{io, {asio::ip::address_v4::loopback(),
                                static_cast<unsigned short>(std::atoi(argv[1]))}};
    std::cout << "port " << acceptor.local_endpoint().port() << std::endl;
    asio::signal_set stop{io, SIGINT, SIGTERM};
    stop.async_wait([&](auto...) {
        acceptor.close();
        redis.async_shutdown({.drain = 5s}, [&](conch::error_code) { io.stop(); });
    });
    asio::co_spawn(io, serve(redis, acceptor), asio::detached);
    io.run();
}
