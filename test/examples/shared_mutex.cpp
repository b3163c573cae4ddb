// SPDX-License-Identifier: BSL-1.0
// A price list that many processes read and now and then one changes: `shared_mutex [REDIS_URL]`.
#include <boost/asio.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>

#include <conch/conch.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> work(conch::client& redis) {
    conch::shared_mutex prices{redis, "prices"};
    conch::hold one = co_await prices.async_lock_shared({.wait = 2s});
    conch::hold two = co_await prices.async_try_lock_shared();  // beside the first
    const conch::hold none = co_await prices.async_try_lock();  // empty: somebody reads
    std::cout << (one && two && !none ? "two readers\n" : "a writer beside readers!\n");
    co_await one.async_unlock();
    co_await two.async_unlock();

    conch::hold all = co_await prices.async_lock({.wait = 2s});
    std::cout << (all.owns_lock() ? "one writer\n" : "lost!\n");
    co_await all.async_downgrade();  // reads on: others may read now, and nobody wrote in between
    two = co_await prices.async_try_lock_shared();
    std::cout << (all.owns_lock() && two ? "two readers again\n" : "a writer still!\n");
    co_await all.async_unlock();
    co_await two.async_unlock();

    co_await conch::with_lock(prices.reader(), {}, [](conch::hold&) -> asio::awaitable<void> {
        std::cout << "a body that reads\n";
        co_return;
    });
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
            std::cerr << "shared_mutex: " << e.what() << "\n";
        }
    });
    io.run();
    return status;
}
