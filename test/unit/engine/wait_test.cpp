// SPDX-License-Identifier: BSL-1.0
#include "unit/engine/harness.hpp"

#include <gtest/gtest.h>

// Waiting for others: rules 9 and 10.
namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

/// A waiter for "a" whose second try is on its way, behind the SUBSCRIBE.
struct engine_wait : testing::Test {
    engine_harness h{};
    operation& op = h.lock("a");

    engine_wait() {
        h.connect();
        h.reply(busy(60'000));
    }
    /// The second try is answered as well: it waits for a message or a poll.
    void wait(std::int64_t ttl_ms = 60'000) {
        h.reply(subscribed("a"), busy(ttl_ms));
        h.sent();
    }
    /// How long until something is sent; at most `most`.
    conch::duration silence(conch::duration most) {
        const auto from = h.now();
        while (h.sent().empty() && h.now() - from < most) {
            h.advance(std::max<conch::duration>(h.engine.next_deadline() - h.now(), 1ns));
        }
        return h.now() - from;
    }
};

TEST_F(engine_wait, subscribe_and_the_second_try_leave_in_one_write) {
    EXPECT_EQ(h.sent(), (lines{acquire_of("a", 1), subscribe_of("a"), acquire_of("a", 2)}));
    EXPECT_EQ(h.writes(), 3u) << "the greeting, the first try, and both of these";
}

TEST_F(engine_wait, a_message_brings_a_try_at_once) {
    wait();
    h.reply(released("a"));
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 3)});
    h.reply(granted());
    EXPECT_TRUE(op.granted());
    EXPECT_EQ(h.counters().wakes_by_message, 1u);
    EXPECT_EQ(h.counters().contended, 1u);
}

TEST(engine_names, with_and_without_braces_are_two_locks_though_one_channel) {
    engine_harness h;
    const auto plain = h.grant("a");
    operation& op = h.try_lock("{a}");
    EXPECT_EQ(h.sent(), lines{acquire_of("{a}", 2)});
    h.reply(granted());
    EXPECT_TRUE(op.granted());
    operation& waits = h.lock("{a}");
    h.release(plain);
    h.advance(100ms);
    h.sent();
    h.reply(integer(0));
    EXPECT_FALSE(waits.done());
}

TEST(engine_names, who_joins_a_subscription_has_the_local_hold_looked_at) {
    engine_harness h;
    h.grant("{a}");
    operation& waits = h.lock("a");
    h.sent();
    h.reply(busy(60'000));
    h.sent();
    h.reply(subscribed("a"), busy(60'000));
    ASSERT_FALSE(waits.done());
    h.lock("{a}");
    h.advance(10ms);
    EXPECT_EQ(h.sent(), lines{renew_of("{a}", 1)}) << "the message of its end may be over";
}

TEST_F(engine_wait, a_message_right_behind_the_answer_is_not_lost) {
    h.sent();
    h.reply(subscribed("a"), busy(60'000), released("a"));
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 3)});
}

TEST_F(engine_wait, a_message_before_the_answer_is_answered_by_it) {
    h.sent();
    h.reply(subscribed("a"), released("a"), busy(60'000));
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_wait, many_messages_bring_one_try) {
    wait();
    h.reply(released("a"), released("a"), released("a"));
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 3)});
}

TEST_F(engine_wait, without_messages_it_polls_at_the_cap) {
    wait(-1);
    const auto silent = silence(5s);
    EXPECT_GE(silent, 500ms);
    EXPECT_LE(silent, 1s);
    EXPECT_EQ(h.counters().wakes_by_poll, 1u);
}

TEST_F(engine_wait, a_key_without_expiry_is_polled_and_not_taken_for_free) {
    wait(-1);
    EXPECT_FALSE(op.done());
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_wait, it_asks_again_when_the_holders_time_is_over) {
    wait(100);
    EXPECT_EQ(silence(5s), 101ms);
}

TEST_F(engine_wait, a_remaining_time_of_nought_is_still_locked) {
    wait(0);
    EXPECT_FALSE(op.done());
    EXPECT_EQ(silence(5s), 1ms);
}

TEST_F(engine_wait, a_refused_subscription_degrades_to_polling) {
    h.reply(error("NOPERM this user has no permissions to access one of the channels"),
            busy(60'000));
    h.sent();
    EXPECT_LE(silence(5s), 100ms);
    EXPECT_FALSE(op.done());
}

TEST_F(engine_wait, one_that_is_refused_after_a_reconnect_brings_a_try_at_once) {
    wait();
    h.break_connection();
    h.connect(2);
    h.sent();
    h.reply(integer(1), error("NOPERM this user has no permissions to access this channel"));
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 3)}) << "it may have been released meanwhile";
}

TEST_F(engine_wait, a_subscription_that_the_server_ends_is_made_again_with_a_try_behind_it) {
    wait();
    const auto before = h.counters().wakes_by_subscribe;
    h.reply(unsubscribed("a"));
    EXPECT_EQ(h.sent(), (lines{subscribe_of("a"), acquire_of("a", 3)}))
        << "it may have been released somewhere else, and nobody else would tell";
    h.reply(subscribed("a"), busy(60'000));
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_EQ(h.counters().wakes_by_subscribe, before + 1);
}

TEST_F(engine_wait, after_a_reconnect_it_subscribes_and_tries_again) {
    wait();
    h.break_connection();
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", subscribe_of("a")}));
    h.reply(integer(1), subscribed("a"));
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 3)});
}

TEST_F(engine_wait, a_try_in_flight_is_replayed_behind_the_new_subscription) {
    h.sent();
    h.break_connection();
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", subscribe_of("a"), acquire_of("a", 2)}));
    h.reply(integer(1), subscribed("a"), busy(60'000));
    EXPECT_EQ(h.sent(), lines{}) << "that try saw all that came before the subscription";
}

TEST_F(engine_wait, its_patience_ends_with_timed_out) {
    operation& brief = h.lock("b", {.wait = 2s});
    h.reply(subscribed("a"), busy(-1), busy(-1));
    h.reply(subscribed("b"), busy(-1));
    h.sent();
    for (int i = 0; i < 100 && !brief.done(); ++i) {
        h.advance(100ms);
        for (std::size_t n = h.sent().size(); n > 0; --n) {
            h.reply(busy(-1));
        }
    }
    EXPECT_TRUE(brief.ended(errc::timed_out));
    EXPECT_EQ(brief.at - engine_harness::start, 2s);
    EXPECT_FALSE(op.done());
}

TEST(engine_try, busy_is_an_empty_answer_after_one_round_trip) {
    engine_harness h;
    operation& op = h.try_lock("a");
    h.connect();
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 1)});
    h.reply(busy(5000));
    EXPECT_TRUE(op.ended({}));
    EXPECT_FALSE(op.view);
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_EQ(h.counters().slots_now, 0u);
}

TEST(engine_try, it_finds_a_local_hold_without_a_round_trip) {
    engine_harness h;
    h.grant("a");
    operation& op = h.try_lock("a");
    EXPECT_TRUE(op.ended({}));
    EXPECT_FALSE(op.view);
    EXPECT_EQ(h.sent(), lines{});
}

TEST(engine_try, it_finds_local_waiters_without_a_round_trip) {
    engine_harness h;
    h.lock("a");
    h.connect();
    h.reply(busy(5000));
    h.sent();
    EXPECT_TRUE(h.try_lock("a").ended({}));
    EXPECT_EQ(h.sent(), lines{});
}

TEST(engine_try, a_lock_with_no_patience_gets_one_try_and_times_out) {
    engine_harness h;
    operation& op = h.lock("a", {.wait = 0s});
    h.connect();
    h.reply(busy(5000));
    EXPECT_TRUE(op.ended(errc::timed_out));
}

TEST(engine_try, one_try_is_awaited_even_if_it_takes_longer_than_the_patience) {
    engine_harness h;
    h.grant("other", {.renew = false});
    operation& op = h.lock("a", {.wait = 10ms});
    h.advance(100ms);
    EXPECT_FALSE(op.done());
    h.reply(granted());
    EXPECT_TRUE(op.granted());
}

TEST(engine_try, an_answer_that_does_not_come_is_not_awaited_for_long) {
    engine_harness h;
    h.grant("other", {.renew = false});
    operation& op = h.lock("a", {.wait = 1s});
    h.advance(1100ms);
    EXPECT_TRUE(op.ended(errc::not_connected));
    h.sent();
    h.reply(granted());
    EXPECT_EQ(h.sent(), lines{release_of("a", 2)}) << "granted to nobody";
    h.reply(integer(0));
}

TEST(engine_try, a_wait_is_a_bound_for_a_server_that_is_away_too) {
    engine_harness h;
    operation& first = h.lock("a", {.wait = 2s});
    operation& second = h.lock("a", {.wait = 3s});
    h.advance(2099ms);
    EXPECT_FALSE(first.done());
    h.advance(1ms);
    EXPECT_TRUE(first.ended(errc::not_connected));
    h.advance(1s);
    EXPECT_TRUE(second.ended(errc::not_connected));
}

TEST(engine_try, without_a_wait_the_patience_with_a_server_counts) {
    engine_harness h;
    operation& op = h.try_lock("a");
    h.advance(h.settings.operation_timeout - 1ms);
    EXPECT_FALSE(op.done());
    h.advance(1ms);
    EXPECT_TRUE(op.ended(errc::not_connected));
}

TEST(engine_try, a_try_with_patience_waits_and_comes_back_empty) {
    engine_harness h;
    operation& op = h.try_lock("a", {.wait = 50ms});
    h.connect();
    h.reply(busy(5000));
    h.reply(subscribed("a"), busy(5000));
    EXPECT_FALSE(op.done());
    h.advance(50ms);
    EXPECT_TRUE(op.ended({}));
    EXPECT_FALSE(op.view);
}

TEST(engine_refusal, says_whether_a_server_was_there_to_be_asked) {
    engine_harness h;
    h.lock("a");
    const operation& unheard = h.try_lock("a");
    EXPECT_TRUE(unheard.ended({}));
    EXPECT_TRUE(unheard.unasked());
    h.connect();
    const operation& heard = h.try_lock("a");
    EXPECT_TRUE(heard.ended({}));
    EXPECT_FALSE(heard.unasked());
    h.reply(granted());
    const operation& behind = h.try_lock("a");
    EXPECT_TRUE(behind.ended({}));
    EXPECT_FALSE(behind.unasked());
}

}  // namespace
