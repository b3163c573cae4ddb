// SPDX-License-Identifier: BSL-1.0
// A lock on a majority of independent servers: `quorum REDIS_URL REDIS_URL REDIS_URL`.
#include <boost/asio.hpp>

#include <array>
#include <cstdlib>
#include <exception>
#include <iostream>

#include <conch/conch.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> elect(conch::client& a, conch::client& b, conch::client& c) {
    conch::quorum_mutex m{{a, b, c}, "leader"};
    conch::hold h = co_await m.async_lock({.lease = 10s});  // two of three have granted it
    std::cout << (h.owns_lock() ? "leads\n" : "lost at once\n");
    co_await h.async_unlock();  // two of three have confirmed it
}

asio::awaitable<void> run(std::array<conch::client, 3>& redis) {
    co_await elect(redis[0], redis[1], redis[2]);
    for (conch::client& each : redis) {
        co_await each.async_shutdown();
    }
}

int main(int argc, char* argv[]) {
    if (argc != 4) {
        std::cerr << "usage: quorum REDIS_URL REDIS_URL REDIS_URL\n";
        return EXIT_FAILURE;
    }
    asio::io_context io;
    std::array<conch::client, 3> redis{conch::client{io, conch::config::from_url(argv[1])},
                                       conch::client{io, conch::config::from_url(argv[2])},
                                       conch::client{io, conch::config::from_url(argv[3])}};
    int status = EXIT_SUCCESS;
    asio::co_spawn(io, run(redis), [&](std::exception_ptr failure) {
        if (failure) {
            status = EXIT_FAILURE;
            for (conch::client& each : redis) {
                each.async_shutdown([](conch::error_code) {});
            }
        }
    });
    io.run();
    return status;
}
