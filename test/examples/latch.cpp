// SPDX-License-Identifier: BSL-1.0
// Requests are served when all caches are filled, by whatever processes: `latch [REDIS_URL]`.
#include <boost/asio.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>

#include <conch/conch.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> fill_cache(conch::client& redis, int which) {
    conch::latch warm{redis, "warm:2026-11"};
    co_await warm.async_try_set_count(3);  // all know how many; the first to come sets it
    std::cout << "cache " << which << " is filled\n";
    co_await warm.async_count_down();
}

asio::awaitable<void> serve(conch::client& redis) {
    for (int which = 1; which <= 3; ++which) {
        co_await fill_cache(redis, which);  // each in a process of its own, say
    }
    conch::latch warm{redis, "warm:2026-11"};
    co_await warm.async_wait({.wait = 30s});
    std::cout << "all are: serving\n";
    co_await redis.async_shutdown();
}

int main(int argc, char* argv[]) {
    asio::io_context io;
    conch::client redis{io, conch::config::from_url(argc > 1 ? argv[1] : "redis://127.0.0.1")};
    int status = EXIT_SUCCESS;
    asio::co_spawn(io, serve(redis), [&](std::exception_ptr failure) {
        if (!failure) {
            return;
        }
        status = EXIT_FAILURE;
        redis.async_shutdown([](conch::error_code) {});
        try {
            std::rethrow_exception(failure);
        } catch (const std::exception& e) {
            std::cerr << "latch: " << e.what() << "\n";
        }
    });
    io.run();
    return status;
}
