// SPDX-License-Identifier: BSL-1.0
// A service of which one works at a time, anywhere, and the others stand by: `leader [REDIS_URL]`.
// Ends by SIGINT or SIGTERM.
#include <conch/conch.hpp>

#include <boost/asio.hpp>

#include <exception>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> lead(conch::hold& h) {
    asio::steady_timer pause{co_await asio::this_coro::executor};
    for (;;) {  // until with_lock cancels it
        std::cout << "leads under fence " << h.fence() << std::endl;
        pause.expires_after(1s);
        co_await pause.async_wait(asio::use_awaitable);
    }
}

asio::awaitable<void> serve(conch::client& redis) {
    conch::mutex m{redis, "leader", {.fenced = true}};
    asio::steady_timer pause{co_await asio::this_coro::executor};
    for (;;) {
        try {
            co_await conch::with_lock(m, {.lease = 10s}, lead);  // stands by until the lock is free
        } catch (const conch::system_error& e) {
            if (e.code() == conch::errc::client_closed) {
                co_return;
            }
            std::cerr << e.what() << std::endl;  // the lead is lost, or there is no Redis
        }
        pause.expires_after(1s);
        co_await pause.async_wait(asio::use_awaitable);
    }
}

int main(int argc, char* argv[]) {
    asio::io_context io;
    conch::client redis{io, conch::config::from_url(argc > 1 ? argv[1] : "redis://127.0.0.1")};
    asio::signal_set stop{io, SIGINT, SIGTERM};
    stop.async_wait([&](auto...) {
        redis.async_shutdown({.drain = 1s}, [](conch::error_code) {});  // run() returns after it
    });
    asio::co_spawn(io, serve(redis), [](std::exception_ptr defect) {
        if (defect) {
            std::rethrow_exception(defect);
        }
    });
    io.run();
}
