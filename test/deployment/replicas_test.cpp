// SPDX-License-Identifier: BSL-1.0
// Locks that are granted only when replicas have them, on a real master with two replicas.
#include "support/run.hpp"
#include "deployment/replica_group.hpp"
#include "deployment/sentinel_group.hpp"

#include <conch/conch.hpp>

#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

constexpr std::chrono::seconds long_patience{60};

constexpr mutex_options replicas(unsigned at_least, duration within = 100ms) {
    return {.replicas = {.at_least = at_least, .within = within}};
}

class replicas_test : public testing::Test {
protected:
    template <typename Body>
    void run(Body&& body) {
        run_test(io, body(), long_patience);
    }
    std::size_t replicas_with(const std::string& key) const {
        return (group.raw(1).exists(key) ? 1u : 0u) + (group.raw(2).exists(key) ? 1u : 0u);
    }
    void freeze_replicas() {
        group.server(1).freeze();
        group.server(2).freeze();
    }

    replica_group group{};
    asio::io_context io{};
    client c{io, group.settings()};
};

TEST_F(replicas_test, a_granted_lock_is_where_it_was_asked_to_be) {
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "m", replicas(2, 2s)};
        for (int i = 0; i < 50; ++i) {
            hold h = co_await m.async_lock();
            EXPECT_EQ(replicas_with("m"), 2u);
            co_await h.async_unlock();
        }
        const token_mutex plain{c, "plain", replicas(2, 2s)};
        for (int i = 0; i < 50; ++i) {
            hold h = co_await plain.async_lock();
            EXPECT_EQ(replicas_with("plain"), 2u);
            co_await h.async_unlock();
        }
    });
}

// Both have the name in common, and no connection.
TEST_F(replicas_test, a_hold_that_waited_for_none_is_told_when_one_that_did_is_granted_its_lock) {
    run([&]() -> asio::awaitable<void> {
        hold h = co_await mutex{c, "m"}.async_lock({.lease = 2min, .renew = false});
        group.raw(0).command({"DEL", "m"});
        const hold next = co_await mutex{c, "m", replicas(1, 2s)}.async_lock();
        const auto [why] = co_await h.async_wait_lost(as_result);
        EXPECT_EQ(why, errc::lock_lost);
        EXPECT_TRUE(next.owns_lock());
    });
}

TEST_F(replicas_test, one_replica_is_enough_where_one_is_asked_for) {
    group.server(2).freeze();
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "m", {.fenced = true, .replicas = {.at_least = 1, .within = 2s}}};
        hold h = co_await m.async_lock();
        EXPECT_TRUE(group.raw(1).exists("m"));
        EXPECT_GT(h.fence(), 0u);
    });
    group.server(2).thaw();
}

TEST_F(replicas_test, more_than_there_are_is_told_in_time_and_nothing_is_left) {
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "m", replicas(3, 200ms)};
        co_await mutex{c, "warm", replicas(1, 2s)}.async_lock();
        const auto begun = clock::now();
        const auto [ec, h] = co_await m.async_lock({}, as_result);
        const auto took = clock::now() - begun;
        EXPECT_EQ(ec, errc::not_replicated);
        EXPECT_FALSE(h);
        EXPECT_GE(took, 190ms);
        EXPECT_LT(took, 2s);
        const bool gone = co_await when([&] { return !group.raw(0).exists("m"); });
        EXPECT_TRUE(gone);
        EXPECT_EQ(c.stats().not_replicated, 1u);
    });
}

TEST_F(replicas_test, a_stopped_replica_fails_who_asks_for_it_and_stalls_nobody_else) {
    group.server(2).freeze();
    run([&]() -> asio::awaitable<void> {
        const mutex asks{c, "m", replicas(2, 1s)};
        error_code ended = make_error_code(errc::timed_out);
        bool done = false;
        task_group waiting{io.get_executor()};
        const auto waiter = [&]() -> asio::awaitable<void> {
            const auto [ec, h] = co_await asks.async_lock({}, as_result);
            ended = ec;
            done = true;
        };
        waiting.spawn(waiter());
        const bool taken = co_await when([&] { return group.raw(0).exists("m"); });
        EXPECT_TRUE(taken) << "but not granted";
        const mutex other{c, "other"};
        for (int i = 0; i < 20; ++i) {
            hold h = co_await other.async_lock();
            co_await h.async_unlock();
        }
        EXPECT_FALSE(done) << "twenty pairs within the second that the replica has";
        co_await waiting.join();
        EXPECT_EQ(ended, errc::not_replicated);
        const bool gone = co_await when([&] { return !group.raw(0).exists("m"); });
        EXPECT_TRUE(gone);
    });
    group.server(2).thaw();
}

TEST_F(replicas_test, renewals_that_too_few_have_are_counted_and_the_hold_goes_on) {
    run([&]() -> asio::awaitable<void> {
        constexpr auto within = 500ms;
        const mutex m{c, "m", replicas(2, within)};
        hold h = co_await m.async_lock({.lease = 2s});
        const bool renewed = co_await when([&] { return c.stats().renewals >= 2; });
        EXPECT_TRUE(renewed);
        freeze_replicas();
        const bool reported = co_await when([&] { return c.stats().renewals_not_replicated >= 3; });
        EXPECT_TRUE(reported);
        EXPECT_TRUE(h.owns_lock()) << "over more than its lease";
        const mutex other{c, "other"};
        duration slowest = 1h;
        for (int round = 0; round < 5 && slowest > within / 2; ++round) {
            slowest = {};
            const auto reports = c.stats().renewals_not_replicated;
            while (c.stats().renewals_not_replicated == reports) {
                const time_point start = clock::now();
                hold one = co_await other.async_lock();
                co_await one.async_unlock();
                slowest = std::max<duration>(slowest, clock::now() - start);
            }
        }
        EXPECT_LE(slowest, within / 2) << "who waits for replicas delays nobody else";
        group.server(1).thaw();
        group.server(2).thaw();
        co_await h.async_unlock();
    });
}

TEST_F(replicas_test, what_was_lost_between_both_answers_is_asked_for_anew) {
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "m", replicas(2, 2s)};
        {
            hold warm = co_await m.async_lock();
            co_await warm.async_unlock();
        }
        freeze_replicas();
        bool done = false;
        error_code ended;
        task_group waiting{io.get_executor()};
        const auto waiter = [&]() -> asio::awaitable<void> {
            auto [ec, h] = co_await m.async_lock({}, as_result);
            ended = ec;
            done = true;
            EXPECT_EQ(replicas_with("m"), 2u);
            co_await h.async_unlock(as_result);
        };
        waiting.spawn(waiter());
        const bool taken = co_await when([&] { return group.raw(0).exists("m"); });
        EXPECT_TRUE(taken);
        EXPECT_EQ(group.raw(0).kill_connections("conch"), 1u);
        const bool back = co_await when([&] { return c.stats().connects == 2; });
        EXPECT_TRUE(back);
        co_await pass(200ms);
        EXPECT_FALSE(done) << "the repeated acquire waits for replicas too";
        group.server(1).thaw();
        group.server(2).thaw();
        co_await waiting.join();
        EXPECT_FALSE(ended) << ended.message();
    });
}

TEST(replicas_and_sentinels, slow_a_lock_that_all_replicas_have_outlives_its_master) {
    sentinel_group group;
    asio::io_context io;
    client a{io, group.settings("a")};
    client b{io, group.settings("b")};
    const auto body = [&]() -> asio::awaitable<void> {
        const mutex of_a{a, "m", replicas(2, 500ms)};
        const mutex of_b{b, "m", replicas(1, 500ms)};
        hold h = co_await of_a.async_lock({.lease = 60s});
        group.server(0).kill();  // at once: both replicas have it
        std::size_t now = 0;
        const bool moved = co_await when(
            [&] {
                now = group.master_by(0);
                return now != 0 && now < sentinel_group::server_count;
            },
            long_patience);
        EXPECT_TRUE(moved);
        const bool back = co_await when(
            [&] { return a.stats().connects == 2 && a.stats().renewals >= 1; }, long_patience);
        EXPECT_TRUE(back) << "its own connection follows the master";
        EXPECT_TRUE(h.owns_lock());
        hold none = co_await of_b.async_try_lock();
        EXPECT_FALSE(none);
        const bool calm = co_await when([&] { return group.calm(); }, long_patience);
        EXPECT_TRUE(calm) << "the new master has a replica again";
        co_await h.async_unlock();
        hold next = co_await of_b.async_lock();
        EXPECT_TRUE(group.raw(now).exists("m"));
        co_await next.async_unlock();
    };
    run_test(io, body(), 2 * long_patience);
}

}  // namespace
