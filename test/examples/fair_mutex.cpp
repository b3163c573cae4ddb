// SPDX-License-Identifier: BSL-1.0
// A till where everybody is served in turn: `fair_mutex [REDIS_URL]`.
#include <boost/asio.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>

#include <conch/conch.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> pay(conch::client& redis, int customer) {
    conch::fair_mutex till{redis, "till"};
    conch::hold h = co_await till.async_lock();  // served in the order of coming
    std::cout << "customer " << customer << " pays\n";
    co_await h.async_unlock();  // the next in line has the lock from here on
}

asio::awaitable<void> run(conch::client& redis) {
    const auto executor = co_await asio::this_coro::executor;
    conch::fair_mutex till{redis, "till"};
    conch::hold cashier = co_await till.async_lock();
    int served = 0;
    for (int customer = 1; customer <= 3; ++customer) {
        asio::co_spawn(executor, pay(redis, customer),
                       [&](std::exception_ptr failure) { served += failure ? 0 : 1; });
    }
    asio::steady_timer pause{executor};
    while (redis.stats().waiting_now < 3) {
        pause.expires_after(1ms);
        co_await pause.async_wait(asio::use_awaitable);
    }
    co_await cashier.async_unlock();
    while (served < 3) {
        pause.expires_after(1ms);
        co_await pause.async_wait(asio::use_awaitable);
    }
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
