// SPDX-License-Identifier: BSL-1.0
// The public operations as such: callbacks, executors, status, forced release, shutdown.
#include "support/attempt.hpp"
#include "support/redis_test.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/strand.hpp>

#include <algorithm>
#include <functional>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

using api_test = redis_test;

TEST_F(api_test, a_callback_gets_the_hold_and_never_inside_the_call) {
    client c{io, settings()};
    const mutex m{c, "callback"};
    bool called = false;
    hold kept;
    m.async_lock({}, [&](error_code ec, hold h) {
        EXPECT_FALSE(ec) << ec.message();
        kept = std::move(h);
        called = true;
    });
    EXPECT_FALSE(called);
    ASSERT_TRUE(run_until(io, [&] { return called; }));
    EXPECT_TRUE(kept.owns_lock());
    bool unlocked = false;
    kept.async_unlock([&](error_code ec) {
        EXPECT_FALSE(ec) << ec.message();
        unlocked = true;
    });
    EXPECT_FALSE(unlocked);
    ASSERT_TRUE(run_until(io, [&] { return unlocked; }));
    EXPECT_FALSE(raw.exists("callback"));
}

TEST_F(api_test, a_handler_with_a_name_can_be_given_to_several_operations) {
    client c{io, settings()};
    std::vector<hold> kept;
    std::function<void(error_code, hold)> keep = [&](error_code ec, hold h) {
        EXPECT_FALSE(ec) << ec.message();
        kept.push_back(std::move(h));
    };
    mutex{c, "first"}.async_lock(keep);
    mutex{c, "second"}.async_lock({}, keep);
    EXPECT_TRUE(keep);
    EXPECT_TRUE(run_until(io, [&] { return kept.size() == 2; }));
    int verdicts = 0;
    std::function<void(error_code, rate_verdict)> count = [&](error_code ec, const rate_verdict&) {
        EXPECT_FALSE(ec) << ec.message();
        ++verdicts;
    };
    const rate_limiter calls{c, "calls", {.limit = 2}};
    calls.async_try_acquire(count);
    calls.async_acquire(count);
    EXPECT_TRUE(run_until(io, [&] { return verdicts == 2; }));
}

TEST_F(api_test, an_answer_known_at_once_does_not_come_inside_the_call_either) {
    client c{io, settings()};
    const mutex m{c, "callback"};
    bool called = false;
    m.async_lock({.wait = -1s}, [&](error_code ec, hold) {
        EXPECT_EQ(ec, errc::invalid_wait);
        called = true;
    });
    EXPECT_FALSE(called);
    EXPECT_TRUE(run_until(io, [&] { return called; }));
}

TEST_F(api_test, the_handler_runs_on_its_associated_executor) {
    client c{io, settings()};
    const mutex m{c, "bound"};
    auto strand = asio::make_strand(io);
    bool called = false;
    m.async_lock({}, asio::bind_executor(strand, [&](error_code, const hold&) {
                     EXPECT_TRUE(strand.running_in_this_thread());
                     called = true;
                 }));
    EXPECT_TRUE(run_until(io, [&] { return called; }));
}

TEST_F(api_test, the_status_of_a_free_lock_is_free) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "free"};
        const lock_status s = co_await m.async_status();
        EXPECT_FALSE(s.locked);
        EXPECT_EQ(s.holder, "");
        EXPECT_EQ(s.depth, 0u);
        EXPECT_FALSE(s.ttl.has_value());
        EXPECT_EQ(s.fence, 0u);
    });
}

TEST_F(api_test, the_status_of_a_held_lock_names_its_holder_and_depth) {
    client c{io, settings()};
    client other{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "held"};
        const mutex of_other{other, "held"};
        const owner me;
        const hold outer = co_await m.async_lock({.lease = 20s, .owner = &me});
        const hold inner = co_await m.async_lock({.lease = 20s, .owner = &me});
        const lock_status s = co_await of_other.async_status();
        EXPECT_TRUE(s.locked);
        EXPECT_EQ(s.holder, raw.hgetall("held").begin()->first);
        EXPECT_TRUE(s.holder.starts_with(c.id() + ":"));
        EXPECT_EQ(s.depth, 2u);
        EXPECT_TRUE(s.ttl.has_value());
        EXPECT_GT(s.ttl.value_or(0s), 0s);
        EXPECT_LE(s.ttl.value_or(0s), 20s);
    });
}

TEST_F(api_test, the_status_of_a_lock_without_expiry_has_no_ttl) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "eternal"};
        raw.must({"HSET", "eternal", owner_of_redisson, "3"});
        const lock_status s = co_await m.async_status();
        EXPECT_TRUE(s.locked);
        EXPECT_EQ(s.holder, owner_of_redisson);
        EXPECT_EQ(s.depth, 3u);
        EXPECT_FALSE(s.ttl.has_value());
    });
}

TEST_F(api_test, a_forced_unlock_says_whether_there_was_a_holder) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "forced"};
        const bool nothing = co_await m.async_force_unlock();
        EXPECT_FALSE(nothing);
        take_as_stranger(raw, "forced");
        const bool something = co_await m.async_force_unlock();
        EXPECT_TRUE(something);
        EXPECT_FALSE(raw.exists("forced"));
    });
}

TEST_F(api_test, a_forced_unlock_tells_the_waiters_of_redisson) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "forced"};
        take_as_stranger(raw, "forced");
        raw_client listener{server.socket_path()};
        listener.subscribe(channel_of("forced"));
        const bool taken = co_await m.async_force_unlock();
        EXPECT_TRUE(taken);
        const reply message = listener.receive();
        EXPECT_EQ(message.items.size(), 3u);
    });
}

TEST_F(api_test, nothing_is_sent_before_the_first_operation) {
    client c{io, settings()};
    const mutex m{c, "quiet"};
    step(io, 20, 50ms);
    EXPECT_EQ(c.stats().connects, 0u);
    EXPECT_EQ(raw.connections("conch").size(), 0u);
}

TEST_F(api_test, the_loss_watch_can_be_cancelled_without_harm) {
    client c{io, settings()};
    const mutex m{c, "watched"};
    lock_attempt a = start_lock(m);
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    hold h = std::move(a.value());
    plain_attempt watch = start_wait_lost(h);
    step(io, 20, 20ms);
    EXPECT_FALSE(watch.done());
    watch.cancel();
    ASSERT_TRUE(run_until(io, [&] { return watch.done(); }));
    EXPECT_EQ(watch.ec(), asio::error::operation_aborted);
    EXPECT_TRUE(h.owns_lock());
    EXPECT_TRUE(raw.exists("watched"));
}

TEST_F(api_test, the_loss_watch_survives_moves_of_its_hold) {
    client c{io, settings()};
    const mutex m{c, "watched"};
    lock_attempt a = start_lock(m);
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    hold first = std::move(a.value());
    plain_attempt watch = start_wait_lost(first);
    hold second = std::move(first);
    step(io, 20, 20ms);
    EXPECT_FALSE(watch.done());
    second.release();
    ASSERT_TRUE(run_until(io, [&] { return watch.done(); }));
    EXPECT_FALSE(watch.ec());
}

TEST_F(api_test, more_operations_than_max_pending_fail_with_overloaded) {
    config small = settings();
    small.max_pending = 3;
    client c{io, small};
    const mutex m{c, "crowded"};
    take_as_stranger(raw, "crowded");
    std::vector<lock_attempt> attempts;
    for (int i = 0; i < 5; ++i) {
        attempts.push_back(start_lock(m));
    }
    const auto refused = [&] {
        return std::count_if(attempts.begin(), attempts.end(),
                             [](const lock_attempt& a) { return a.done(); });
    };
    ASSERT_TRUE(run_until(io, [&] { return refused() == 2; }));
    step(io, 20, 20ms);
    EXPECT_EQ(refused(), 2);
    for (const lock_attempt& a : attempts) {
        if (a.done()) {
            EXPECT_EQ(a.ec(), errc::overloaded);
        }
    }
}

}  // namespace
