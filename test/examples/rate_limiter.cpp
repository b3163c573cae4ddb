// SPDX-License-Identifier: BSL-1.0
// At most so many calls per window, over all processes: `rate_limiter [REDIS_URL]`.
#include <boost/asio.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string>

#include <conch/conch.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> by_hand(conch::client& redis) {
    conch::rate_limiter calls{redis, "supplier:calls", {.limit = 2, .window = 200ms}};
    for (int i = 1; i <= 3; ++i) {
        const conch::rate_verdict v = co_await calls.async_try_acquire();
        std::cout << "call " << i << (v.allowed ? " goes out, " : " must wait, ") << v.remaining
                  << " left\n";
    }
    const conch::rate_verdict v = co_await calls.async_acquire(1, {.wait = 5s});
    std::cout << "call 3 goes out, " << v.remaining << " left\n";  // else timed_out is thrown
}

asio::awaitable<void> evenly(conch::client& redis) {
    // Three calls at once, then one each 100 ms.
    conch::rate_limiter paced{redis,
                              "supplier:paced",
                              {.limit = 10, .window = 1s, .burst = 3},
                              conch::rate_algorithm::gcra};
    for (int i = 1; i <= 4; ++i) {
        const conch::rate_verdict v = co_await paced.async_acquire({.wait = 5s});
        std::cout << (v.allowed ? "paced call " : "refused call ") << i << '\n';
    }
}

asio::awaitable<int> fetch_price(std::string item) { co_return static_cast<int>(item.size()); }

asio::awaitable<void> wrapped(conch::client& redis) {
    auto price = conch::rate_limited(redis, "supplier:price", {2000, 60s}, fetch_price);
    auto news = conch::rate_limited(redis, "supplier:news", {1, 60s}, fetch_price,
                                    {.on_limit = conch::skip});
    const int paid = co_await price("lamp");  // throws conch::rate_limit_error over the limit
    const std::optional<int> first = co_await news("lamp");
    const std::optional<int> second = co_await news("lamp");
    std::cout << "price " << paid << ", news " << first.value_or(0)
              << (second ? ", and more\n" : ", then none\n");
}

asio::awaitable<void> run(conch::client& redis) {
    co_await by_hand(redis);
    co_await evenly(redis);
    co_await wrapped(redis);
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
