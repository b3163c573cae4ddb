// SPDX-License-Identifier: BSL-1.0
// At most so many licences in use, over all processes, also when one crashes: `permits
// [REDIS_URL]`.
#include <boost/asio.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>

#include <conch/conch.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> work(conch::client& redis) {
    conch::semaphore licences{redis, "licences"};
    const bool first = co_await licences.async_try_set_permits(3);  // false: it was set before
    std::cout << (first ? "three licences\n" : "the licences of somebody else\n");

    conch::hold two = co_await licences.async_acquire(2, {.wait = 5s});  // renewed until it ends
    const conch::hold more = co_await licences.async_try_acquire(2);
    const bool none = !more;
    std::cout << (none ? "one is left\n" : "too many!\n");
    co_await two.async_unlock();

    auto body = [](conch::hold& h) -> asio::awaitable<bool> { co_return h.owns_lock(); };
    const bool owned = co_await conch::with_lock(licences.permits(3), body);
    std::cout << (owned ? "all at once\n" : "not all!\n");
    const std::int64_t left = co_await licences.async_available();
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
            std::cerr << "permits: " << e.what() << "\n";
        }
    });
    io.run();
    return status;
}
