// SPDX-License-Identifier: BSL-1.0
// A report that is made once a day, by the first of all hosts that start this: `once [REDIS_URL]`.
#include <conch/conch.hpp>

#include <boost/asio.hpp>

#include <exception>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> make_report(conch::hold& h) {
    std::cout << (h.fence() > 0 ? "reports under a fence" : "reports") << std::endl;
    co_return;
}

asio::awaitable<void> run(conch::client& redis) {
    conch::once nightly{redis, "report", {.period = 24h, .at = 2h}};  // 2:00 UTC
    for (int host = 1; host <= 2; ++host) {
        const bool ran = co_await nightly.async_run({.wait = 1h}, make_report);
        std::cout << "host " << host << (ran ? " ran it" : ": it is done") << std::endl;
    }
    co_await redis.async_shutdown();
}

int main(int argc, char* argv[]) {
    asio::io_context io;
    conch::client redis{io, conch::config::from_url(argc > 1 ? argv[1] : "redis://127.0.0.1")};
    asio::co_spawn(io, run(redis), [](std::exception_ptr failed) {
        if (failed) {
            std::rethrow_exception(failed);
        }
    });
    io.run();
}
