// SPDX-License-Identifier: BSL-1.0
// One semaphore for many processes, while connections break: no permit is lost, none is doubled.
#include "support/child_process.hpp"
#include "support/proxy.hpp"
#include "support/redis_test.hpp"

#include <conch/counting_semaphore.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

constexpr int total = 5;

/// What the processes have.
struct permits_ledger {
    std::atomic<int> taken{0};
    std::atomic<int> most{0};
    std::atomic<std::uint64_t> grants{0};
    std::atomic<std::uint64_t> cancelled{0};
    std::atomic<int> failures{0};

    void take(int n) {
        const int now = taken += n;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        ++grants;
    }
};

/// The socket that the processes use.
struct permits_socket {
    std::atomic<bool> ready{false};
    char path[108]{};
};

class semaphore_processes : public redis_test {
protected:
    /// Until that time, and on until there is something to judge.
    bool goes_on(time_point until) const {
        const time_point now = clock::now();
        return now < until || (book->grants <= 50 && now < until + 40s);
    }

    int work(time_point until) {
        while (!way->ready) {
            std::this_thread::yield();
        }
        asio::io_context own;
        config c = settings("worker");
        c.unix_path = way->path;
        c.operation_timeout = 20s;
        c.max_poll_interval = 20s;
        c.ping_interval = 1s;
        client redis{own, c};
        const counting_semaphore s{redis, "permits"};
        int running = 4;
        for (int i = 0; i < 4; ++i) {
            asio::co_spawn(own, one_after_another(s, i, until), [&](std::exception_ptr e) {
                book->failures += e ? 1 : 0;
                if (--running == 0) {
                    redis.async_shutdown({.drain = 20s}, [](error_code) {});
                }
            });
        }
        own.run_for(60s);
        return running;
    }

    asio::awaitable<void> one_after_another(counting_semaphore s, int which, time_point until) {
        constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
        for (int round = which; goes_on(until); ++round) {
            const int permits = round % 7 == 0 ? total : 1 + round % 2;
            asio::steady_timer soon{co_await asio::this_coro::executor};
            asio::cancellation_signal stop;
            if (round % 5 == 0) {  // gives up, sooner or later than the answer comes
                soon.expires_after(std::chrono::microseconds{100 * (round % 40)});
                soon.async_wait([&](error_code ec) {
                    if (!ec) {
                        stop.emit(asio::cancellation_type::terminal);
                    }
                });
            }
            const auto [ec] = co_await s.async_acquire(
                permits, {.wait = 10s}, asio::bind_cancellation_slot(stop.slot(), as_result));
            soon.cancel();
            co_await asio::post(asio::use_awaitable);
            if (ec) {
                book->cancelled += ec == asio::error::operation_aborted ? 1 : 0;
                book->failures += ec == asio::error::operation_aborted ? 0 : 1;
                continue;
            }
            book->take(permits);
            co_await asio::post(asio::use_awaitable);
            book->taken -= permits;
            const auto [freed] = co_await s.async_release(permits, as_result);
            book->failures += freed ? 1 : 0;
        }
    }

    void judge() {
        EXPECT_EQ(book->failures, 0);
        EXPECT_LE(book->most, total);
        EXPECT_EQ(book->taken, 0);
        EXPECT_GT(book->grants, 50u);
        EXPECT_GT(book->cancelled, 0u);
        EXPECT_EQ(raw.get("permits"), std::to_string(total)) << "after " << book->grants;
    }

    shared_value<permits_ledger> book;
    shared_value<permits_socket> way;
};

TEST_F(semaphore_processes, twelve_of_them_never_have_more_than_there_are_and_lose_none) {
    raw.must({"SET", "permits", std::to_string(total)});
    const time_point until = clock::now() + 3s;
    server.socket_path().copy(way->path, sizeof way->path - 1);
    way->ready = true;
    std::deque<child_process> children;
    for (int i = 0; i < 12; ++i) {
        children.emplace_back([&](const auto&) { return work(until); });
    }
    for (child_process& child : children) {
        EXPECT_EQ(child.join(60s), 0);
    }
    judge();
}

TEST_F(semaphore_processes, nor_while_connections_break_at_any_point) {
    raw.must({"SET", "permits", std::to_string(total)});
    const time_point until = clock::now() + 4s;
    {
        std::deque<child_process> children;
        for (int i = 0; i < 8; ++i) {
            children.emplace_back([&](const auto&) { return work(until); });
        }
        proxy wire{server.socket_path()};
        wire.socket_path().copy(way->path, sizeof way->path - 1);
        way->ready = true;
        for (int round = 0; goes_on(until); ++round) {
            const std::uint64_t grants = book->grants;
            while (book->grants < grants + 5 && goes_on(until)) {
                std::this_thread::yield();
            }
            switch (round % 4) {
                case 0: wire.swallow_replies(); break;
                case 1: wire.swallow_requests(); break;
                case 2: wire.truncate_replies(static_cast<std::size_t>(round % 97)); break;
                default: break;
            }
            const std::size_t passed = wire.passed();
            for (int i = 0; i < 1000 && wire.passed() < passed + 500; ++i) {
                std::this_thread::yield();
            }
            round % 3 == 0 ? wire.reset() : wire.cut();
        }
        for (child_process& child : children) {
            EXPECT_EQ(child.join(60s), 0);
        }
    }
    judge();
}

}  // namespace
