// SPDX-License-Identifier: BSL-1.0
// The operations of a lock from coroutines: `coroutines [REDIS_URL]`. Prints what happens.
#include <boost/asio.hpp>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include <conch/conch.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> charge(std::string order, std::uint64_t fence);  // what the lock is for

asio::awaitable<void> settle(conch::client& redis, std::string order) {
    conch::mutex m{redis, "orders:" + order, {.fenced = true}};
    conch::hold h = co_await m.async_lock({.wait = 2s});  // a timeout is errc::timed_out
    co_await charge(order, h.fence());
    co_await h.async_unlock();  // or the destructor, in the background
}

asio::awaitable<void> charge(std::string order, std::uint64_t fence) {
    std::cout << "charges " << order << (fence != 0 ? " under a fence\n" : "\n");
    co_return;
}

asio::awaitable<void> try_it(conch::client& redis) {
    conch::mutex m{redis, "report"};
    if (conch::hold first = co_await m.async_try_lock()) {
        conch::hold second = co_await m.async_try_lock({.wait = 50ms});
        std::cout << (second ? "two holders!\n" : "busy for others\n");
    }  // the destructor releases in the background
}

asio::awaitable<int> total(conch::client& redis) {
    conch::mutex m{redis, "account:7"};
    const int sum =
        co_await conch::with_lock(m, {.lease = 10s}, [](conch::hold& h) -> asio::awaitable<int> {
            // cancelled 1 s before the lease ends, if it can't be renewed
            co_return h.owns_lock() ? 42 : 0;
        });
    co_return sum;
}

asio::awaitable<void> import_part(int part) {
    std::cout << "imports part " << part << "\n";
    co_return;
}

asio::awaitable<void> import_parts(conch::client& redis, int parts) {
    conch::mutex m{redis, "import"};
    auto import_all = [parts](conch::hold& h) -> asio::awaitable<void> {
        for (int part = 0; part < parts; ++part) {
            co_await import_part(part);
            h.progress();
        }
    };
    co_await conch::with_lock(m, {.lease = 10s, .progress_within = 60s}, import_all);
}

asio::awaitable<void> nested(conch::client& redis) {
    conch::mutex m{redis, "tree"};
    const conch::owner self;  // whoever passes the same owner, nests
    conch::hold outer = co_await m.async_lock({.owner = &self});
    conch::hold inner = co_await m.async_lock({.owner = &self});
    co_await inner.async_unlock();
    co_await outer.async_unlock();
}

asio::awaitable<void> watch_for_loss(conch::client& redis) {
    conch::mutex m{redis, "leader"};
    conch::hold h = co_await m.async_lock();
    h.async_wait_lost([](conch::error_code why) {
        std::cout << "lost: " << (why ? why.message() : "no, released") << "\n";
    });
    co_await m.async_force_unlock();  // someone takes it away
    co_await h.async_extend(30s, asio::as_tuple(asio::use_awaitable));
}

asio::awaitable<void> run(conch::client& redis) {
    co_await settle(redis, "42");
    co_await try_it(redis);
    const int sum = co_await total(redis);
    std::cout << "total " << sum << "\n";
    co_await import_parts(redis, 2);
    co_await nested(redis);
    co_await watch_for_loss(redis);
    co_await redis.async_shutdown({.drain = 1s});
}

int main(int argc, char* argv[]) {
    asio::io_context io;
    conch::client redis{io, conch::config::from_url(argc > 1 ? argv[1] : "redis://127.0.0.1")};
    int status = EXIT_SUCCESS;
    asio::co_spawn(io, run(redis), [&](std::exception_ptr failure) {
        try {
            if (failure) {
                std::rethrow_exception(failure);
            }
        } catch (const std::exception& e) {
            std::cerr << e.what() << "\n";
            status = EXIT_FAILURE;
            redis.async_shutdown([](conch::error_code) {});
        }
    });
    io.run();  // returns after the shutdown
    return status;
}
