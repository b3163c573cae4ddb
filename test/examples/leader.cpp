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
    for (;;) {  // until async_lead cancels it
        std::cout << "leads under fence " << h.fence() << std::endl;
        pause.expires_after(1s);
        co_await pause.async_wait(asio::use_awaitable);
    }
}

// Needs no candidacy: any process may watch.
asio::awaitable<void> watch(conch::leader service) {
    conch::lock_status now;
    for (;;) {
        const auto [ec, next] = co_await service.async_watch_leader(
            now, {.clients = true}, asio::as_tuple(asio::use_awaitable));
        if (ec && ec != conch::errc::not_connected) {  // that is temporary
            co_return;
        }
        if (!ec) {
            now = next;
            std::cout << "leader: " << (now.locked ? now.holder_host : "nobody") << std::endl;
        }
    }
}

int main(int argc, char* argv[]) {
    asio::io_context io;
    conch::client redis{io, conch::config::from_url(argc > 1 ? argv[1] : "redis://127.0.0.1")};
    asio::signal_set stop{io, SIGINT, SIGTERM};
    stop.async_wait([&](auto...) {
        redis.async_shutdown({.drain = 1s}, [](conch::error_code) {});  // run() returns after it
    });
    conch::leader service{redis, "leader"};
    asio::co_spawn(io, watch(service), asio::detached);
    service.async_lead({.lease = 10s, .again = true}, lead, [](std::exception_ptr end) {
        try {
            std::rethrow_exception(end);
        } catch (const conch::system_error& e) {
            std::cerr << e.what() << std::endl;  // of async_shutdown, or a lasting error
        }
    });
    io.run();
}
