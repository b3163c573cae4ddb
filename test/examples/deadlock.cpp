// SPDX-License-Identifier: BSL-1.0
// Two transfers that lock the same accounts, in opposite order: `deadlock [REDIS_URL]`.
#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>

#include <conch/conch.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

conch::config settings_of(int argc, char* argv[]) {
    conch::config settings = conch::config::from_url(argc > 1 ? argv[1] : "redis://127.0.0.1");
    settings.deadlock_detection = true;
    return settings;
}

asio::awaitable<void> transfer(conch::mutex from, conch::mutex to) {
    for (bool again = true; again;) {
        conch::owner job;  // of both locks
        conch::hold first = co_await from.async_lock({.owner = &job});
        asio::steady_timer work{co_await asio::this_coro::executor, 50ms};
        co_await work.async_wait(asio::use_awaitable);
        const auto [ec, second] = co_await to.async_lock({.owner = &job}, as_result);
        again = ec == conch::errc::deadlock;
        std::cout << (again ? "again\n" : ec ? "not locked\n" : "transfer\n");
        co_await first.async_unlock();  // also where somebody else waits for it
    }
}

asio::awaitable<void> run(conch::client& redis) {
    using namespace asio::experimental::awaitable_operators;
    conch::mutex mine{redis, "accounts:1"};
    conch::mutex yours{redis, "accounts:2"};
    co_await (transfer(mine, yours) && transfer(yours, mine));
    std::cout << redis.last_deadlock() << '\n';
    co_await redis.async_shutdown();
}

int main(int argc, char* argv[]) {
    asio::io_context io;
    conch::client redis{io, settings_of(argc, argv)};
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
