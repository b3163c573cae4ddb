// SPDX-License-Identifier: BSL-1.0
// Cancelled at any moment, an acquisition leaves no key, no renewal and no subscription.
#include "support/attempt.hpp"
#include "support/proxy.hpp"
#include "support/redis_test.hpp"

namespace {

using namespace conch;
using namespace conch::test;

class fault_cancel_test : public redis_test {
protected:
    /// More handlers than any scenario of this file runs.
    static constexpr std::size_t many = 400;
    /// Short, so that a renewal that goes on is seen soon.
    static constexpr std::chrono::milliseconds lease{150};

    void connect(client& c) {
        run([&]() -> asio::awaitable<void> { co_await warm_up(c); });
    }

    /// The cancelled caller was told, and a caller who was faster gives the lock back.
    void settle(lock_attempt& a, client& c, std::size_t k) {
        ASSERT_TRUE(run_until(io, [&] { return a.done(); })) << "after " << k << " handlers";
        if (a.ec()) {
            EXPECT_EQ(a.ec(), asio::error::operation_aborted) << "after " << k << " handlers";
            EXPECT_FALSE(a.value());
        }
        a.value() = hold{};
        ASSERT_TRUE(run_until(io,
                              [&] {
                                  const auto s = c.stats();
                                  return s.slots_now == 0 && s.holds_now == 0 &&
                                         s.waiting_now == 0 && s.subscriptions_now == 0;
                              }))
            << "after " << k << " handlers";
        raw.reset_calls();
        ASSERT_TRUE(lease_passes(io, raw, lease));
        EXPECT_EQ(raw.calls("evalsha"), 0u) << "renewed after " << k << " handlers";
    }
};

TEST_F(fault_cancel_test, at_each_step_of_an_uncontended_acquire_nothing_is_left) {
    std::size_t k = 0;
    for (bool finished = false; !finished && k < many; ++k) {
        const std::string name = "free:" + std::to_string(k);
        {
            client c{io, settings()};
            const mutex m{c, name};
            lock_attempt a = start_lock(m, {.lease = lease});
            step(io, k);
            finished = a.done();
            a.cancel();
            settle(a, c, k);
        }
        run_to_end(io);
        EXPECT_FALSE(raw.exists(name)) << "cancelled after " << k << " handlers";
        ASSERT_FALSE(HasFatalFailure());
    }
    EXPECT_GT(k, 3u) << "the scenario has steps";
    EXPECT_LT(k, many) << "the scenario never finished";
    EXPECT_EQ(raw.dbsize(), 0);
}

TEST_F(fault_cancel_test, at_each_step_of_a_wait_nothing_is_left_and_the_holder_is_unharmed) {
    take_as_stranger(raw, "busy", 600s);
    const auto theirs = raw.hgetall("busy");
    std::size_t k = 0;
    for (bool parked = false; !parked && k < many; ++k) {
        {
            client c{io, push_only()};
            const mutex m{c, "busy"};
            lock_attempt a = start_lock(m, {.lease = lease});
            parked = step(io, k, 500ms) < k;
            EXPECT_FALSE(a.done());
            a.cancel();
            settle(a, c, k);
        }
        run_to_end(io);
        ASSERT_FALSE(HasFatalFailure());
        EXPECT_EQ(raw.hgetall("busy"), theirs);
    }
    EXPECT_GT(k, 3u);
    EXPECT_LT(k, many);
    EXPECT_TRUE(run_until(io, [&] { return raw.channels().empty(); }));
}

TEST_F(fault_cancel_test, right_at_the_grant_nothing_is_left) {
    std::size_t k = 0;
    for (bool finished = false; !finished && k < many; ++k) {
        const std::string name = "granted:" + std::to_string(k);
        take_as_stranger(raw, name);
        {
            client c{io, push_only()};
            const mutex m{c, name};
            lock_attempt a = start_lock(m, {.lease = lease});
            ASSERT_TRUE(run_until(io, [&] { return listening(name); }));
            step(io, 20, 20ms);
            redisson_release(raw, name);
            step(io, k);
            finished = a.done();
            a.cancel();
            settle(a, c, k);
        }
        run_to_end(io);
        ASSERT_FALSE(HasFatalFailure());
        EXPECT_FALSE(raw.exists(name)) << "cancelled after " << k << " handlers";
    }
    EXPECT_GT(k, 1u);
    EXPECT_LT(k, many);
}

TEST_F(fault_cancel_test, a_grant_whose_waiter_is_gone_goes_to_the_next_one) {
    std::size_t k = 0;
    for (bool finished = false; !finished && k < many; ++k) {
        const std::string name = "passed:" + std::to_string(k);
        take_as_stranger(raw, name);
        client c{io, push_only()};
        const mutex m{c, name};
        lock_attempt first = start_lock(m);
        lock_attempt second = start_lock(m);
        ASSERT_TRUE(run_until(io, [&] { return listening(name); }));
        redisson_release(raw, name);
        step(io, k);
        finished = first.done();
        first.cancel();
        ASSERT_TRUE(run_until(io, [&] { return first.done(); }));
        first.value() = hold{};
        ASSERT_TRUE(run_until(io, [&] { return second.done(); })) << "after " << k;
        EXPECT_TRUE(second.value().owns_lock()) << second.ec().message();
        EXPECT_EQ(raw.hlen(name), 1);
    }
    EXPECT_GT(k, 1u);
    EXPECT_LT(k, many);
}

TEST_F(fault_cancel_test, the_caller_is_told_at_once_even_if_the_server_is_frozen) {
    client c{io, settings()};
    connect(c);
    const mutex m{c, "frozen"};
    server.freeze();
    lock_attempt a = start_lock(m);
    step(io, 20, 20ms);
    a.cancel();
    EXPECT_TRUE(run_until(io, [&] { return a.done(); }, 1500ms));
    EXPECT_EQ(a.ec(), asio::error::operation_aborted);
    server.thaw();
    ASSERT_TRUE(run_until(io, [&] { return c.stats().slots_now == 0; }));
    EXPECT_FALSE(raw.exists("frozen"));
    EXPECT_EQ(c.stats().cancelled, 1u);
}

TEST_F(fault_cancel_test, each_kind_of_cancellation_is_honoured) {
    client c{io, settings()};
    const mutex m{c, "busy"};
    take_as_stranger(raw, "busy");
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                            asio::cancellation_type::total}) {
        lock_attempt a = start_lock(m);
        step(io, 20, 20ms);
        a.cancel(type);
        ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
        EXPECT_EQ(a.ec(), asio::error::operation_aborted);
    }
}

TEST_F(fault_cancel_test, an_abandoned_acquire_whose_reply_is_lost_leaves_nothing) {
    proxy wire{server.socket_path()};
    client c{io, settings_for(wire.socket_path())};
    connect(c);
    const mutex m{c, "lost"};
    wire.swallow_replies();
    lock_attempt a = start_lock(m);
    ASSERT_TRUE(run_until(io, [&] { return raw.exists("lost"); }));
    a.cancel();
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    wire.cut();
    EXPECT_TRUE(run_until(io, [&] { return !raw.exists("lost"); }));
    EXPECT_TRUE(run_until(io, [&] { return c.stats().slots_now == 0; }));
    EXPECT_GE(c.stats().compensations, 1u);
}

TEST_F(fault_cancel_test, an_abandoned_acquire_is_not_sent_again_after_a_lost_connection) {
    proxy wire{server.socket_path()};
    client c{io, settings_for(wire.socket_path())};
    connect(c);
    const mutex m{c, "lost"};
    wire.swallow_requests();
    const auto before = c.stats().script_calls;
    lock_attempt a = start_lock(m);
    ASSERT_TRUE(run_until(io, [&] { return c.stats().script_calls > before; }));
    step(io, 5, 20ms);
    a.cancel();
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    raw.reset_calls();
    wire.cut();
    ASSERT_TRUE(run_until(io, [&] { return c.stats().slots_now == 0; }));
    EXPECT_EQ(raw.calls("hset"), 0u) << "the lock was taken for nobody";
    EXPECT_FALSE(raw.exists("lost"));
}

TEST_F(fault_cancel_test, an_abandoned_acquire_that_meets_noscript_is_not_sent_again) {
    client c{io, settings()};
    connect(c);
    const mutex m{c, "flushed"};
    raw.must({"SCRIPT", "FLUSH"});
    raw.pause_writes(10s);  // the acquire waits in the server
    raw.reset_calls();
    const auto before = c.stats().script_calls;
    lock_attempt a = start_lock(m);
    ASSERT_TRUE(run_until(io, [&] { return c.stats().script_calls > before; }));
    step(io, 5, 20ms);
    a.cancel();
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    EXPECT_EQ(a.ec(), asio::error::operation_aborted);
    raw.unpause();
    ASSERT_TRUE(run_until(io, [&] { return c.stats().slots_now == 0; }));
    EXPECT_EQ(raw.calls("hset"), 0u) << "the lock was taken for nobody";
    EXPECT_FALSE(raw.exists("flushed"));
    connect(c);
}

TEST_F(fault_cancel_test, a_cancelled_unlock_still_releases) {
    client c{io, settings()};
    const mutex m{c, "released"};
    lock_attempt a = start_lock(m);
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    plain_attempt u = start_unlock(a.value());
    u.cancel();
    ASSERT_TRUE(run_until(io, [&] { return u.done(); }));
    EXPECT_TRUE(run_until(io, [&] { return !raw.exists("released"); }));
}

}  // namespace
