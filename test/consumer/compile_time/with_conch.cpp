// SPDX-License-Identifier: BSL-1.0
// The same shape on conch: `with_conch URL` locks, waits a moment, and unlocks, three times, or
// until SIGINT.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <conch/conch.hpp>

#include <chrono>
#include <exception>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> hold_now_and_then(conch::client& redis) {
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer pause{executor};
    conch::mutex m{redis, "compile time", {.fenced = true}};
    for (int i = 0; i < 3; ++i) {
        conch::hold h = co_await m.async_lock({.wait = 2s});
        std::cout << h.fence() << '\n';
        pause.expires_after(10ms);
        co_await pause.async_wait(asio::use_awaitable);
        co_await h.async_unlock();
    }
    co_await redis.async_shutdown();
}

int main(int argc, char* argv[]) {
    if (argc != 2) {
        return 64;
    }
    asio::io_context io;
    asio::signal_set signals{io, SIGINT};
    signals.async_wait([&](boost::system::error_code, int) { io.stop(); });
    conch::client redis{io, conch::config::from_url(argv[1])};
    int status = 1;
    asio::co_spawn(io, hold_now_and_then(redis), [&](std::exception_ptr failure) {
        signals.cancel();
        try {
            if (failure) {
                std::rethrow_exception(failure);
            }
            status = 0;
        } catch (const std::exception& e) {
            std::cerr << e.what() << '\n';
            io.stop();
        }
    });
    io.run();
    return status;
}
