// SPDX-License-Identifier: BSL-1.0
// Every kind of lock and counter goes on at the master that real sentinels make of a replica.
#include "deployment/job_run.hpp"
#include "deployment/sentinel_test.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

namespace {

using namespace conch;
using namespace conch::test;

class sentinel_kinds : public sentinel_test {
protected:
    /// Starts to wait; the hold is written there.
    static void start(const mutex& m, hold& to) {
        m.async_lock([&to](error_code ec, hold h) {
            EXPECT_FALSE(ec) << ec.message();
            to = std::move(h);
        });
    }
    asio::awaitable<void> fail_over() {
        EXPECT_TRUE(group.replicated(0));
        group.server(0).kill();
        co_await next_master(0);
        const bool back = co_await when(
            [&] { return a.stats().connects >= 2 && b.stats().connects >= 2; }, long_patience);
        EXPECT_TRUE(back);
    }
};

TEST_F(sentinel_kinds, slow_holds_of_each_outlive_the_master) {
    run([&]() -> asio::awaitable<void> {
        const fair_mutex fair_of_a{a, "fair"};
        const fair_mutex fair_of_b{b, "fair"};
        const shared_mutex shared_of_a{a, "shared"};
        const shared_mutex shared_of_b{b, "shared"};
        const semaphore leased_of_a{a, "leased"};
        const semaphore leased_of_b{b, "leased"};
        const multi_lock several{mutex{a, "one"}, mutex{a, "other"}};
        co_await leased_of_a.async_set_permits(2);
        const lock_options long_lease{.lease = 60s};
        hold fair = co_await fair_of_a.async_lock(long_lease);
        hold reads = co_await shared_of_a.async_lock_shared(long_lease);
        const shared_mutex turned_of_a{a, "turned"};
        hold turned = co_await turned_of_a.async_lock(long_lease);
        co_await turned.async_downgrade();
        hold permit = co_await leased_of_a.async_acquire(long_lease);
        hold both = co_await several.async_lock(long_lease);
        hold plain = co_await token_mutex{a, "plain"}.async_lock(long_lease);
        hold next;
        start(fair_of_b, next);
        const bool waits = co_await when([&] { return b.stats().subscriptions_now == 1; });
        EXPECT_TRUE(waits);
        co_await fail_over();

        hold other = co_await shared_of_b.async_try_lock();
        EXPECT_FALSE(other) << "it is read";
        other = co_await shared_of_b.async_try_lock_shared();
        EXPECT_TRUE(other);
        const shared_mutex turned_of_b{b, "turned"};
        other = co_await turned_of_b.async_try_lock();
        EXPECT_FALSE(other) << "it is read, too";
        other = co_await turned_of_b.async_try_lock_shared();
        EXPECT_TRUE(other);
        hold second = co_await leased_of_b.async_try_acquire();
        EXPECT_TRUE(second);
        hold third = co_await leased_of_b.async_try_acquire();
        EXPECT_FALSE(third);
        third = co_await mutex{b, "other"}.async_try_lock();
        EXPECT_FALSE(third);
        third = co_await token_mutex{b, "plain"}.async_try_lock();
        EXPECT_FALSE(third);
        EXPECT_FALSE(next);
        for (hold* h : {&fair, &reads, &turned, &permit, &both, &plain}) {
            EXPECT_TRUE(h->owns_lock());
            co_await h->async_unlock();
        }
        const bool served = co_await when([&] { return next.owns_lock(); }, long_patience);
        EXPECT_TRUE(served) << "its place was replicated, too";
        third = co_await mutex{b, "other"}.async_try_lock();
        EXPECT_TRUE(third);
        third = co_await token_mutex{b, "plain"}.async_try_lock();
        EXPECT_TRUE(third);
        const std::int64_t left = co_await leased_of_a.async_available();
        EXPECT_EQ(left, 1);
    });
}

TEST_F(sentinel_kinds, slow_counters_keep_what_was_counted) {
    run([&]() -> asio::awaitable<void> {
        const counting_semaphore of_a{a, "permits"};
        const counting_semaphore of_b{b, "permits"};
        const latch latch_of_a{a, "latch"};
        const latch latch_of_b{b, "latch"};
        co_await of_a.async_set(3);
        co_await of_a.async_acquire(2);
        const bool armed = co_await latch_of_a.async_try_set_count(2);
        EXPECT_TRUE(armed);
        co_await latch_of_a.async_count_down();
        const rate paced{.limit = 2, .window = 1h};
        const rate_limiter paced_of_a{a, "paced", paced, rate_algorithm::gcra};
        const rate_limiter paced_of_b{b, "paced", paced, rate_algorithm::gcra};
        rate_verdict asked = co_await paced_of_a.async_try_acquire();
        EXPECT_EQ(asked.remaining, 1u);
        bool open = false;
        latch_of_b.async_wait([&](error_code ec) {
            EXPECT_FALSE(ec) << ec.message();
            open = true;
        });
        const bool waits = co_await when([&] { return b.stats().subscriptions_now == 1; });
        EXPECT_TRUE(waits);
        co_await fail_over();

        const bool none = co_await of_b.async_try_acquire(2);
        EXPECT_FALSE(none);
        co_await of_a.async_release();
        const bool some = co_await of_b.async_try_acquire(2);
        EXPECT_TRUE(some);
        asked = co_await paced_of_b.async_try_acquire(2);
        EXPECT_FALSE(asked.allowed) << "one of them is not back";
        EXPECT_GT(asked.retry_after, 20min);
        asked = co_await paced_of_b.async_try_acquire();
        EXPECT_TRUE(asked.allowed);
        EXPECT_EQ(asked.remaining, 0u);
        asked = co_await paced_of_a.async_try_acquire();
        EXPECT_FALSE(asked.allowed);
        EXPECT_FALSE(open);
        co_await latch_of_a.async_count_down();
        const bool opened = co_await when([&] { return open; }, long_patience);
        EXPECT_TRUE(opened);
    });
}

TEST_F(sentinel_kinds, slow_a_job_and_a_lead_go_on) {
    run([&]() -> asio::awaitable<void> {
        job_run job_of_a{a, "job"};
        co_await job_of_a.works();
        job_run job_of_b{b, "job"};
        bool stepping_down = false;
        int leading = 0;
        auto body = [&]() -> asio::awaitable<void> {
            ++leading;
            co_await when([&] { return stepping_down; }, long_patience);
        };
        int ended = 0;
        const auto token = [&](std::exception_ptr e) {
            EXPECT_FALSE(e) << code_of(e).message();
            ++ended;
        };
        const leader of_a{a, "lead"};
        const leader of_b{b, "lead"};
        of_a.async_lead({.lease = 60s}, body, token);
        const bool leads = co_await when([&] { return leading == 1; });
        EXPECT_TRUE(leads);
        of_b.async_lead({.lease = 60s}, body, token);
        const bool wait = co_await when([&] { return b.stats().subscriptions_now == 2; });
        EXPECT_TRUE(wait);
        co_await fail_over();

        EXPECT_EQ(leading, 1);
        stepping_down = true;
        const bool both = co_await when([&] { return ended == 2; }, long_patience);
        EXPECT_TRUE(both) << "the place of the second was replicated, too";
        EXPECT_EQ(leading, 2);
        job_of_a.end();
        co_await job_of_a.ended(true);
        co_await job_of_b.ended(false);
    });
}

}  // namespace
