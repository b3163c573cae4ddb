// SPDX-License-Identifier: BSL-1.0
// Permits with leases for many processes, while connections break and a process is killed: never
// more than there are, and all come back.
#include "support/child_process.hpp"
#include "support/proxy.hpp"
#include "support/redis_test.hpp"

#include <conch/semaphore.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <signal.h>

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
struct ledger {
    std::atomic<bool> ready{false};
    char path[108]{};  ///< of the socket that they use
    std::atomic<int> taken{0};
    std::atomic<int> most{0};
    std::atomic<int> grants{0};
    std::atomic<int> failures{0};

    void take(int n) {
        const int now = taken += n;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        ++grants;
    }
};

class permits_processes : public redis_test {
protected:
    /// Until that time, and on until there is something to judge.
    bool goes_on(time_point until) const {
        const time_point now = clock::now();
        return now < until || (book->grants <= 50 && now < until + 40s);
    }

    int work(time_point until) {
        while (!book->ready) {
            std::this_thread::yield();
        }
        asio::io_context own;
        config c = settings("worker");
        c.unix_path = book->path;
        c.operation_timeout = 20s;
        c.ping_interval = 1s;
        client redis{own, c};
        int running = 3;
        for (int i = 0; i < 3; ++i) {
            asio::co_spawn(own, one_after_another({redis, "permits"}, i, until),
                           [&](std::exception_ptr e) {
                               book->failures += e ? 1 : 0;
                               if (--running == 0) {
                                   redis.async_shutdown({.drain = 20s}, [](error_code) {});
                               }
                           });
        }
        own.run_for(60s);
        return running;
    }

    // A lease is longer than the test: no hold is lost.
    asio::awaitable<void> one_after_another(semaphore s, int which, time_point until) {
        constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
        for (int round = which; goes_on(until); ++round) {
            const int permits = round % 7 == 0 ? total : 1 + round % 2;
            auto [ec, h] =
                co_await s.async_acquire(permits, {.wait = 20s, .lease = 60s}, as_result);
            if (ec) {
                ++book->failures;
                continue;
            }
            book->take(permits);
            co_await asio::post(asio::use_awaitable);
            book->taken -= permits;
            const auto [freed] = co_await h.async_unlock(as_result);
            book->failures += freed ? 1 : 0;
        }
    }

    void begin(const std::string& socket_path) {
        socket_path.copy(book->path, sizeof book->path - 1);
        book->ready = true;
    }
    void judge() {
        EXPECT_EQ(book->failures, 0);
        EXPECT_LE(book->most, total);
        EXPECT_EQ(book->taken, 0);
        EXPECT_GT(book->grants, 50);
        EXPECT_EQ(raw.get("permits"), std::to_string(total)) << "after " << book->grants;
        EXPECT_FALSE(raw.exists("{permits}:timeout"));
    }

    shared_value<ledger> book;
};

TEST_F(permits_processes, eight_of_them_never_have_more_than_there_are_and_lose_none) {
    raw.must({"SET", "permits", std::to_string(total)});
    const time_point until = clock::now() + 2s;
    begin(server.socket_path());
    std::deque<child_process> children;
    for (int i = 0; i < 8; ++i) {
        children.emplace_back([&](const auto&) { return work(until); });
    }
    for (child_process& child : children) {
        EXPECT_EQ(child.join(60s), 0);
    }
    judge();
}

TEST_F(permits_processes, nor_while_connections_break_at_any_point) {
    raw.must({"SET", "permits", std::to_string(total)});
    const time_point until = clock::now() + 3s;
    {
        std::deque<child_process> children;
        for (int i = 0; i < 6; ++i) {
            children.emplace_back([&](const auto&) { return work(until); });
        }
        proxy wire{server.socket_path()};
        begin(wire.socket_path());
        for (int round = 0; goes_on(until); ++round) {
            const int grants = book->grants;
            while (book->grants < grants + 5 && goes_on(until)) {
                std::this_thread::yield();
            }
            switch (round % 3) {
                case 0: wire.swallow_replies(); break;
                case 1: wire.swallow_requests(); break;
                default: wire.truncate_replies(static_cast<std::size_t>(round % 97)); break;
            }
            const std::size_t passed = wire.passed();
            for (int i = 0; i < 1000 && wire.passed() < passed + 500; ++i) {
                std::this_thread::yield();
            }
            round % 2 == 0 ? wire.reset() : wire.cut();
        }
        for (child_process& child : children) {
            EXPECT_EQ(child.join(60s), 0);
        }
    }
    judge();
}

TEST_F(permits_processes, what_a_killed_one_had_comes_back) {
    raw.must({"SET", "permits", "2"});
    child_process doomed{[&](const auto&) {
        asio::io_context own;
        client redis{own, settings("doomed")};
        const semaphore s{redis, "permits"};
        s.async_acquire(2, {.lease = 500ms}, [](error_code, const hold&) { ::raise(SIGKILL); });
        own.run_for(60s);
        return 0;
    }};
    EXPECT_NE(doomed.join(60s), 0);
    EXPECT_EQ(raw.get("permits"), "0");
    run([&]() -> asio::awaitable<void> {
        client redis{io, settings("heir")};
        const semaphore s{redis, "permits"};
        hold h = co_await s.async_acquire(2, {.wait = 10s});
        EXPECT_TRUE(h.owns_lock());
        EXPECT_EQ(raw.must({"ZCARD", "{permits}:timeout"}).number, 2);
    });
}

}  // namespace
