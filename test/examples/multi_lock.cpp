// SPDX-License-Identifier: BSL-1.0
// Two accounts locked as one: `multi_lock [REDIS_URL]`.
#include <boost/asio.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>

#include <conch/conch.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> transfer(conch::mutex from, conch::mutex to) {
    conch::hold both = co_await conch::async_lock_all({.wait = 2s}, from, to);
    std::cout << (both.owns_lock() ? "transfer\n" : "not locked!\n");
    co_await both.async_unlock();
}

asio::awaitable<void> run(conch::client& redis) {
    conch::mutex mine{redis, "accounts:1"};
    conch::mutex yours{redis, "accounts:2"};
    co_await transfer(mine, yours);
    co_await transfer(yours, mine);  // in any order: there is no deadlock
    co_await redis.async_shutdown();
}

int main(int argc, char* argv[]) {
    asio::io_context io;
    conch::client redis{io, conch::config::from_url(argc > 1 ? argv[1] : "redis://127.0.0.1")};
    int status = EXIT_SUCCESS;
    asio::co_spawn(io, run(redis), [&](std::exception_ptr failure) {
        if (failure) {
            status = EXIT_FAILURE;
            redis.async_shutdown([](conch::error_code) {});
        }
    });
    io.run();
    return status;
}
