// SPDX-License-Identifier: BSL-1.0
// A lock passes between waiters of one client with no word to the server: what that costs, and
// what the others see of it.
#include "support/redis_test.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

class passing_test : public redis_test {
protected:
    static constexpr int waiters = 64;
    static constexpr int rounds = 50;

    // So many coroutines of this client lock and unlock so often; returns how often two of them
    // were inside at a time.
    asio::awaitable<int> crowd(const mutex& m, const lock_options& options = {}) {
        int inside = 0, overlaps = 0;
        const auto worker = [&]() -> asio::awaitable<void> {
            for (int i = 0; i < rounds; ++i) {
                hold h = co_await m.async_lock(options);
                overlaps += inside++ > 0 ? 1 : 0;
                co_await asio::post(io.get_executor(), asio::deferred);
                --inside;
                co_await h.async_unlock();
            }
        };
        task_group group{io.get_executor()};
        for (int i = 0; i < waiters; ++i) {
            group.spawn(worker());
        }
        co_await group.join();
        co_return overlaps;
    }
};

TEST_F(passing_test, where_nobody_else_waits_max_passes_holds_cost_two_scripts) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "crowded"};
        co_await warm_up(c);
        raw.reset_calls();
        const std::uint64_t before = c.stats().acquisitions;
        const int overlaps = co_await crowd(m);
        EXPECT_EQ(overlaps, 0);
        constexpr std::uint64_t n = waiters * rounds;
        EXPECT_EQ(c.stats().acquisitions - before, n);
        // Some for looks at the hold, and where no other waiter happened to be there.
        EXPECT_LE(raw.calls("evalsha"), 2 * n / config{}.max_passes + 10);
        EXPECT_FALSE(raw.exists("crowded"));
    });
}

TEST_F(passing_test, with_one_pass_the_server_hears_of_each_release) {
    config each = settings();
    each.max_passes = 1;
    client c{io, each};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "crowded"};
        co_await warm_up(c);
        raw.reset_calls();
        const int overlaps = co_await crowd(m);
        EXPECT_EQ(overlaps, 0);
        EXPECT_GE(raw.calls("evalsha"), std::uint64_t{waiters * rounds * 2});
    });
}

TEST_F(passing_test, fenced_holders_have_a_token_each) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "fenced", {.fenced = true}};
        std::uint64_t last = 0;
        int grew = 0;
        const auto worker = [&]() -> asio::awaitable<void> {
            hold h = co_await m.async_lock();
            grew += h.fence() > last ? 1 : 0;
            last = h.fence();
            co_await h.async_unlock();
        };
        task_group group{io.get_executor()};
        for (int i = 0; i < waiters; ++i) {
            group.spawn(worker());
        }
        co_await group.join();
        EXPECT_EQ(grew, waiters);
    });
}

TEST_F(passing_test, fenced_holds_cost_a_script_each) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "fenced", {.fenced = true}};
        co_await warm_up(c);
        raw.reset_calls();
        const int overlaps = co_await crowd(m);
        EXPECT_EQ(overlaps, 0);
        constexpr std::uint64_t n = waiters * rounds;
        // One more where a row ends, and where no other waiter happened to be there.
        EXPECT_LE(raw.calls("evalsha"), n + 2 * n / config{}.max_passes + 10);
        EXPECT_FALSE(raw.exists("fenced"));
    });
}

TEST_F(passing_test, a_lock_that_was_taken_away_is_lost_by_who_has_it_now) {
    client c{io, settings()};
    client other{io, settings("other")};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "taken"};
        hold first = co_await m.async_lock();
        hold second;
        const auto waiter = [&]() -> asio::awaitable<void> { second = co_await m.async_lock(); };
        task_group group{io.get_executor()};
        group.spawn(waiter());
        const bool queued = co_await when([&] { return c.stats().waiting_now == 1; });
        EXPECT_TRUE(queued);
        co_await first.async_unlock();
        co_await group.join();
        // One more who waits, and so listens for a message.
        hold third;
        const auto next = [&]() -> asio::awaitable<void> { third = co_await m.async_lock(); };
        group.spawn(next());
        const bool listens = co_await when([&] { return listening("taken"); });
        EXPECT_TRUE(listens);
        const bool taken = co_await mutex(other, "taken").async_force_unlock();
        EXPECT_TRUE(taken);
        const auto [ec] = co_await second.async_wait_lost(asio::as_tuple(asio::deferred));
        EXPECT_EQ(ec, errc::lock_lost);
        co_await group.join();
        EXPECT_TRUE(third.owns_lock());
        co_await third.async_unlock();
    });
}

}  // namespace
