// SPDX-License-Identifier: BSL-1.0
// How long an acquisition waits: never less than its budget, and always at least one try.
#include "support/attempt.hpp"
#include "support/redis_test.hpp"

#include <array>
#include <utility>

namespace {

using namespace conch;
using namespace conch::test;

using wait_test = redis_test;

TEST_F(wait_test, a_lock_that_stays_busy_ends_in_timed_out_and_not_early) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "busy"};
        take_as_stranger(raw, "busy");
        const std::array<duration, 3> budgets{1ms, 20ms, 150ms};
        for (const duration wait : budgets) {
            const time_point start = clock::now();
            const auto [ec, h] = co_await m.async_lock({.wait = wait}, as_result);
            EXPECT_EQ(ec, errc::timed_out);
            EXPECT_FALSE(h);
            EXPECT_GE(clock::now() - start, wait);
        }
        EXPECT_EQ(c.stats().timeouts, 3u);
    });
}

TEST_F(wait_test, a_try_that_stays_busy_ends_in_an_empty_hold_and_not_early) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "busy"};
        take_as_stranger(raw, "busy");
        const time_point start = clock::now();
        const auto [ec, h] = co_await m.async_try_lock({.wait = 150ms}, as_result);
        EXPECT_FALSE(ec) << ec.message();
        EXPECT_FALSE(h);
        EXPECT_GE(clock::now() - start, 150ms);
    });
}

TEST_F(wait_test, a_waiter_in_the_local_queue_has_its_whole_budget_too) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "busy"};
        const hold first = co_await m.async_lock();
        const time_point start = clock::now();
        const auto [ec, h] = co_await m.async_lock({.wait = 100ms}, as_result);
        EXPECT_EQ(ec, errc::timed_out);
        EXPECT_FALSE(h);
        EXPECT_GE(clock::now() - start, 100ms);
    });
}

TEST_F(wait_test, who_gets_the_lock_goes_on_before_the_subscription_is_ended) {
    client c{io, settings()};
    client other{io, settings()};
    const mutex m{c, "busy"};
    hold first;
    std::uint64_t when_granted = 0;
    run([&]() -> asio::awaitable<void> { first = co_await mutex{other, "busy"}.async_lock(); });
    hold h;
    m.async_lock([&](error_code ec, hold got) {
        EXPECT_FALSE(ec) << ec.message();
        when_granted = c.stats().bytes_sent;
        h = std::move(got);
    });
    run([&]() -> asio::awaitable<void> {
        const bool parked = co_await when([&] { return c.stats().subscriptions_now == 1; });
        EXPECT_TRUE(parked);
        co_await first.async_unlock();
        const bool ended = co_await when([&] { return c.stats().subscriptions_now == 0; });
        EXPECT_TRUE(ended);
        EXPECT_TRUE(h);
        EXPECT_GT(when_granted, 0U);
        EXPECT_GT(c.stats().bytes_sent, when_granted) << "UNSUBSCRIBE left before";
    });
}

TEST_F(wait_test, a_wait_of_zero_makes_one_try) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "free"};
        co_await warm_up(c);
        hold h = co_await m.async_lock({.wait = 0s});
        EXPECT_TRUE(h);
        co_await h.async_unlock();
        take_as_stranger(raw, "free");
        raw.reset_calls();
        const auto [ec, none] = co_await m.async_lock({.wait = 0s}, as_result);
        EXPECT_EQ(ec, errc::timed_out);
        EXPECT_FALSE(none);
        EXPECT_EQ(raw.calls("evalsha"), 1u);
        EXPECT_EQ(raw.calls("subscribe"), 0u);
    });
}

TEST_F(wait_test, a_budget_shorter_than_connecting_still_takes_a_free_lock) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "free"};
        const hold h = co_await m.async_lock({.wait = 1ns});
        EXPECT_TRUE(h.owns_lock());
    });
}

TEST_F(wait_test, a_try_without_wait_is_answered_busy_with_no_error) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "busy"};
        take_as_stranger(raw, "busy");
        const auto [ec, h] = co_await m.async_try_lock({}, as_result);
        EXPECT_FALSE(ec) << ec.message();
        EXPECT_FALSE(h);
        EXPECT_EQ(c.stats().busy, 1u);
    });
}

TEST_F(wait_test, a_try_against_a_local_hold_does_not_ask_the_server) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "mine"};
        const hold h = co_await m.async_lock();
        raw.reset_calls();
        const hold second = co_await m.async_try_lock();
        EXPECT_FALSE(second);
        EXPECT_EQ(raw.calls("evalsha"), 0u);
    });
}

TEST_F(wait_test, a_waiter_that_gave_up_is_not_granted_later) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "busy"};
        take_as_stranger(raw, "busy");
        const auto [ec, h] = co_await m.async_lock({.wait = 20ms}, as_result);
        EXPECT_EQ(ec, errc::timed_out);
        redisson_release(raw, "busy");
        const bool idle = co_await when([&] { return c.stats().slots_now == 0; });
        EXPECT_TRUE(idle);
        EXPECT_FALSE(raw.exists("busy"));
        const bool quiet = co_await when([&] { return raw.channels().empty(); });
        EXPECT_TRUE(quiet);
    });
}

TEST_F(wait_test, a_waiter_that_gives_up_leaves_the_others_waiting) {
    client c{io, push_only()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "busy"};
        take_as_stranger(raw, "busy");
        task_group group{io.get_executor()};
        int granted = 0;
        const auto patient = [&]() -> asio::awaitable<void> {
            hold h = co_await m.async_lock();
            ++granted;
            co_await h.async_unlock();
        };
        const auto impatient = [&]() -> asio::awaitable<void> {
            const auto [ec, h] = co_await m.async_lock({.wait = 50ms}, as_result);
            EXPECT_EQ(ec, errc::timed_out);
        };
        group.spawn(impatient());  // at the head of the queue, where the contender works for it
        group.spawn(patient());
        group.spawn(patient());
        const bool gave_up = co_await when([&] { return group.running() == 2; });
        EXPECT_TRUE(gave_up);
        EXPECT_EQ(granted, 0);
        redisson_release(raw, "busy");
        co_await group.join();
        EXPECT_EQ(granted, 2);
        EXPECT_EQ(c.stats().wakes_by_poll, 0u);
    });
}

// Both are asked for before the client turns.
TEST_F(wait_test, who_gives_up_waiting_and_then_tries_does_not_meet_their_own_waiter) {
    client c{io, settings()};
    const mutex m{c, "own"};
    take_as_stranger(raw, "own");
    lock_attempt waiter = start_lock(m);
    ASSERT_TRUE(run_until(io, [&] { return listening("own"); }));
    raw.must({"DEL", "own"});
    waiter.cancel();
    lock_attempt tries{[&](auto token) { m.async_try_lock(std::move(token)); }};
    ASSERT_TRUE(run_until(io, [&] { return waiter.done() && tries.done(); }));
    EXPECT_EQ(waiter.ec(), asio::error::operation_aborted);
    EXPECT_TRUE(tries.value().owns_lock());
}

// All three are asked for before the client turns.
TEST_F(wait_test, who_gives_up_a_try_and_tries_again_does_not_meet_the_first) {
    client c{io, settings()};
    const mutex m{c, "own"};
    const auto try_it = [&](auto token) { m.async_try_lock(std::move(token)); };
    lock_attempt first{try_it};
    first.cancel();
    lock_attempt second{try_it};
    ASSERT_TRUE(run_until(io, [&] { return first.done() && second.done(); }));
    EXPECT_EQ(first.ec(), asio::error::operation_aborted);
    EXPECT_TRUE(second.value().owns_lock());
}

}  // namespace
