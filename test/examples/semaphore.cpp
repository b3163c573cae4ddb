// SPDX-License-Identifier: BSL-1.0
// At most so many downloads at a time, over all processes: `semaphore [REDIS_URL]`.
#include <boost/asio.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>

#include <conch/conch.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> work(conch::client& redis) {
    conch::counting_semaphore downloads{redis, "downloads"};
    const bool first = co_await downloads.async_try_set(3);  // false where somebody has set it
    std::cout << (first ? "three permits\n" : "the permits of somebody else\n");

    co_await downloads.async_acquire(2, {.wait = 5s});
    const bool one = co_await downloads.async_try_acquire();
    const bool none = co_await downloads.async_try_acquire();
    std::cout << (one && !none ? "all are taken\n" : "too few, or too many!\n");
    co_await downloads.async_release(3);

    const std::int64_t left = co_await downloads.async_available();
    std::cout << left << " are left\n";
}

asio::awaitable<void> run(conch::client& redis) {
    co_await work(redis);
    co_await redis.async_shutdown();
}

int main(int argc, char* argv[]) {
    asio::io_context io;
    conch::client redis{io, conch::config::from_url(argc > 1 ? argv[1] : "redis://127.0.0.1")};
    int status = EXIT_SUCCESS;
    asio::co_spawn(io, run(redis), [&](std::exception_ptr failure) {
        if (!failure) {
            return;
        }
        status = EXIT_FAILURE;
        redis.async_shutdown([](conch::error_code) {});
        try {
            std::rethrow_exception(failure);
        } catch (const std::exception& e) {
            std::cerr << "semaphore: " << e.what() << "\n";
        }
    });
    io.run();
    return status;
}
