// SPDX-License-Identifier: BSL-1.0
// Many names on one connection, and nothing left of them.
#include "core/sanitizer.hpp"
#include "support/attempt.hpp"
#include "support/redis_test.hpp"

#include <boost/asio/post.hpp>

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

using scale_test = redis_test;

// Sanitizers keep freed memory for a while: resident memory says nothing there.
constexpr bool memory_is_measured = !core::address_sanitizer && !core::thread_sanitizer;

std::int64_t resident_bytes() {
    std::ifstream statm{"/proc/self/statm"};
    std::int64_t total = 0;
    std::int64_t resident = 0;
    statm >> total >> resident;
    return resident * ::sysconf(_SC_PAGESIZE);
}

TEST_F(scale_test, a_thousand_contended_names_share_one_connection) {
    client a{io, push_only("holder")};
    client b{io, push_only("waiter")};
    std::vector<lock_attempt> held;
    std::vector<lock_attempt> waiting;
    std::vector<mutex> of_b;
    const auto done = [](const std::vector<lock_attempt>& all) {
        std::size_t n = 0;
        for (const lock_attempt& one : all) {
            n += one.done() ? 1 : 0;
        }
        return n;
    };
    for (int i = 0; i < 1000; ++i) {
        const std::string name = "contended:" + std::to_string(i);
        held.push_back(start_lock(mutex{a, name}));
        of_b.emplace_back(b, name);
    }
    ASSERT_TRUE(run_until(io, [&] { return done(held) == held.size(); }));
    for (const mutex& m : of_b) {
        waiting.push_back(start_lock(m));
    }
    ASSERT_TRUE(run_until(io, [&] { return raw.channels().size() == 1000; }));
    EXPECT_EQ(b.stats().subscriptions_now, 1000u);
    EXPECT_EQ(raw.connections("holder").size(), 1u);
    EXPECT_EQ(raw.connections("waiter").size(), 1u);
    EXPECT_EQ(done(waiting), 0u);
    for (lock_attempt& one : held) {
        one.value().release();
    }
    ASSERT_TRUE(run_until(io, [&] { return done(waiting) == waiting.size(); }));
    for (lock_attempt& one : waiting) {
        EXPECT_TRUE(one.value().owns_lock()) << one.ec().message();
        one.value().release();
    }
    EXPECT_EQ(b.stats().wakes_by_poll, 0u);
    EXPECT_TRUE(run_until(io, [&] { return raw.dbsize() == 0 && raw.channels().empty(); }));
    EXPECT_TRUE(
        run_until(io, [&] { return a.stats().slots_now == 0 && b.stats().slots_now == 0; }));
    EXPECT_EQ(b.stats().connects, 1u);
}

TEST_F(scale_test, a_thousand_coroutines_share_one_name) {
    client c{io, settings()};
    int count = 0;
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "popular"};
        task_group group{io.get_executor()};
        const auto worker = [&]() -> asio::awaitable<void> {
            hold h = co_await m.async_lock();
            const int seen = count;
            co_await asio::post(io, asio::deferred);
            count = seen + 1;
            co_await h.async_unlock();
        };
        for (int i = 0; i < 1000; ++i) {
            group.spawn(worker());
        }
        co_await group.join();
        const bool idle = co_await when([&] { return c.stats().slots_now == 0; });
        EXPECT_TRUE(idle);
    });
    EXPECT_EQ(count, 1000);
    EXPECT_EQ(c.stats().acquisitions, 1000u);
    EXPECT_EQ(raw.dbsize(), 0);
}

/// Locks and unlocks `count` names, from `first` on, in 200 coroutines at a time. The client has to
/// wait for every 20th: `other` holds it first.
asio::awaitable<void> use_names(client& c, client& other, int first, int count) {
    task_group group{co_await asio::this_coro::executor};
    int next = first;
    const auto worker = [&]() -> asio::awaitable<void> {
        while (next < first + count) {
            const int number = next++;
            const std::string name = "name:" + std::to_string(number);
            const mutex m{c, name};
            hold before;
            if (number % 20 == 0) {
                const mutex contended{other, name};
                before = co_await contended.async_lock();
                asio::post(c.get_executor(), [&] { before.release(); });
            }
            hold h = co_await m.async_lock();
            co_await h.async_unlock();
        }
    };
    for (int i = 0; i < 200; ++i) {
        group.spawn(worker());
    }
    co_await group.join();
}

TEST_F(scale_test, slow_a_hundred_thousand_names_leave_nothing) {
    client c{io, settings()};
    client other{io, settings()};
    run(
        [&]() -> asio::awaitable<void> {
            co_await use_names(c, other, 0, 50'000);
            const std::int64_t after_half = resident_bytes();
            co_await use_names(c, other, 50'000, 50'000);
            const std::int64_t after_all = resident_bytes();
            if (memory_is_measured) {
                EXPECT_LT(after_all - after_half, 4 * 1024 * 1024) << "bytes kept per name";
            }
            const bool idle = co_await when(
                [&] { return c.stats().slots_now == 0 && other.stats().slots_now == 0; });
            EXPECT_TRUE(idle);
            EXPECT_EQ(raw.dbsize(), 0);
            const bool quiet = co_await when([&] { return raw.channels().empty(); });
            EXPECT_TRUE(quiet);
            const stats s = c.stats();
            EXPECT_EQ(s.acquisitions, 100'000u);
            EXPECT_EQ(s.releases, 100'000u);
            EXPECT_GT(s.wakes_by_subscribe, 0u) << "no name was contended";
            EXPECT_EQ(s.holds_now, 0u);
            EXPECT_EQ(s.subscriptions_now, 0u);
        },
        180s);
}

}  // namespace
