// SPDX-License-Identifier: BSL-1.0
#include "unit/engine/harness.hpp"

#include <gtest/gtest.h>

// Waiters of one client among themselves: rule 10.
namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

// Not renewed: the server hears of each release.
const conch::lock_options fixed_lease{.lease = 30s, .renew = false};

TEST(engine_hand_off, one_name_has_one_contender) {
    engine_harness h;
    for (int i = 0; i < 10; ++i) {
        h.lock("a");
    }
    h.connect();
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 1)});
    h.reply(busy(5000));
    EXPECT_EQ(h.sent(), (lines{subscribe_of("a"), acquire_of("a", 2)}));
}

TEST(engine_hand_off, waiters_get_the_lock_in_the_order_of_their_coming) {
    engine_harness h;
    h.lock("a", fixed_lease);
    std::vector<operation*> ops;
    for (int i = 0; i < 5; ++i) {
        ops.push_back(&h.lock("a", fixed_lease));
    }
    h.connect();
    h.reply(granted());
    auto holder = h.operation_at(0).view;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        for (std::size_t later = i; later < ops.size(); ++later) {
            EXPECT_FALSE(ops[later]->done());
        }
        h.release(holder);
        h.reply(integer(0), granted());
        ASSERT_TRUE(ops[i]->granted());
        holder = ops[i]->view;
    }
}

TEST(engine_hand_off, the_release_and_the_next_acquire_leave_in_one_write) {
    engine_harness h;
    const auto hold = h.grant("a", fixed_lease);
    operation& op = h.lock("a", fixed_lease);
    EXPECT_EQ(h.sent(), lines{});
    const std::size_t writes = h.writes();
    h.release(hold);
    EXPECT_EQ(h.sent(), (lines{release_of("a", 1), acquire_of("a", 2)}));
    EXPECT_EQ(h.writes(), writes + 1);
    h.reply(integer(0), granted());
    EXPECT_TRUE(op.granted());
    EXPECT_EQ(h.counters().hand_offs, 1u);
}

TEST(engine_hand_off, they_leave_in_one_write_with_a_contender_too) {
    engine_harness h;
    operation& first = h.lock("a", fixed_lease);
    operation& second = h.lock("a", fixed_lease);
    h.connect();
    h.reply(busy(5000));
    h.reply(subscribed("a"), granted());
    h.sent();
    const std::size_t writes = h.writes();
    h.release(first.view);
    EXPECT_EQ(h.sent(), (lines{release_of("a", 2), acquire_of("a", 3)}));
    EXPECT_EQ(h.writes(), writes + 1);
    h.reply(integer(1), granted());
    EXPECT_TRUE(second.granted());
    EXPECT_EQ(h.sent(), lines{unsubscribe_of("a")}) << "nobody waits any more";
}

TEST(engine_hand_off, a_grant_whose_waiter_is_gone_goes_to_the_next) {
    engine_harness h;
    operation& first = h.lock("a");
    operation& second = h.lock("a");
    h.connect();
    h.cancel(first);
    h.sent();
    h.reply(granted());
    EXPECT_TRUE(second.granted());
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_EQ(h.counters().compensations, 0u);
}

TEST(engine_hand_off, a_grant_with_other_terms_than_the_next_wants_is_released) {
    engine_harness h;
    operation& first = h.lock("a", {.lease = 10s});
    operation& second = h.lock("a", {.lease = 20s});
    h.connect();
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 1, 10'000)});
    h.cancel(first);
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 2, 20'000)});
    h.reply(granted(), busy(10'000));
    EXPECT_FALSE(second.done());
    EXPECT_EQ(h.sent(), (lines{release_of("a", 1), subscribe_of("a"), acquire_of("a", 3, 20'000)}));
}

TEST(engine_hand_off, a_grant_for_another_owner_is_not_passed_on) {
    engine_harness h;
    const conch::owner me;
    operation& first = h.lock("a", {.owner = &me});
    operation& second = h.lock("a");
    h.connect();
    h.cancel(first);
    h.sent();
    h.reply(granted());
    EXPECT_FALSE(second.done());
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
}

TEST(engine_hand_off, a_grant_that_nobody_wants_is_released) {
    engine_harness h;
    operation& first = h.lock("a");
    operation& second = h.lock("a");
    h.connect();
    h.cancel(second);
    h.cancel(first);
    h.sent();
    h.reply(granted());
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
}

TEST(engine_hand_off, a_wake_whose_waiter_is_gone_is_the_next_ones) {
    engine_harness h;
    operation& first = h.lock("a");
    operation& second = h.lock("a");
    h.connect();
    h.reply(busy(60'000));
    h.reply(subscribed("a"), busy(60'000));
    h.sent();
    h.reply(released("a"));
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 3)});
    h.cancel(first);
    h.reply(granted());
    EXPECT_TRUE(second.granted());
}

TEST(engine_hand_off, a_waiter_behind_a_local_hold_times_out_without_a_try) {
    engine_harness h;
    h.grant("a");
    operation& op = h.lock("a", {.wait = 2s});
    h.advance(2s);
    EXPECT_TRUE(op.ended(errc::timed_out));
    for (const std::string& line : h.sent()) {
        EXPECT_FALSE(line.starts_with("acquire")) << line;
    }
}

TEST(engine_hand_off, a_waiter_behind_a_local_hold_listens_unless_the_hold_is_short) {
    engine_harness h;
    const auto hold = h.grant("a");
    h.lock("a");
    h.advance(9ms);
    EXPECT_EQ(h.sent(), lines{});
    h.advance(1ms);
    EXPECT_EQ(h.sent(), lines{subscribe_of("a")});
    h.reply(subscribed("a"));
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1)}) << "was it taken before anybody listened?";
    h.reply(array(integer(1)));
    EXPECT_EQ(h.sent(), lines{}) << "the hold is good: there is nothing to try";
    h.reply(released("a"));
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1)}) << "somebody released it: is it still ours?";
    h.reply(array(integer(0)));
    EXPECT_EQ(lost(hold), errc::lock_lost);
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 2)});
}

TEST(engine_hand_off, a_waiter_behind_a_local_hold_has_it_looked_at_now_and_then) {
    engine_harness h;
    const auto hold = h.grant("a", {.lease = 60s, .renew = false});
    h.lock("a");
    h.advance(10ms);
    h.sent();
    h.reply(subscribed("a"));
    h.sent();
    h.reply(array(integer(1)));
    h.advance(1s);  // max_poll_interval
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 0)}) << "a message may have been lost";
    h.reply(array(integer(1)));
    h.advance(1s);
    h.sent();
    h.reply(array(integer(0)));
    EXPECT_EQ(lost(hold), errc::lock_lost);
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 2)});
}

TEST(engine_hand_off, waiters_who_leave_put_off_no_look_at_the_hold) {
    engine_harness h;
    const auto hold = h.grant("a", {.lease = 60s, .renew = false});
    h.lock("a");
    h.advance(10ms);
    h.reply(subscribed("a"));
    h.reply(array(integer(1)));
    h.sent();
    for (int i = 0; i < 3; ++i) {
        const operation& gone = h.lock("a", {.wait = 300ms});
        h.advance(300ms);
        ASSERT_TRUE(gone.ended(errc::timed_out));
    }
    h.advance(100ms);  // max_poll_interval since the first of them began to listen
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 0)});
    h.reply(array(integer(0)));
    EXPECT_EQ(lost(hold), errc::lock_lost);
}

TEST(engine_hand_off, without_messages_a_local_hold_is_looked_at_more_often) {
    engine_harness h;
    h.grant("a", {.lease = 60s, .renew = false});
    h.lock("a");
    h.advance(10ms);
    h.sent();
    h.reply(error("NOPERM this user has no permissions to access one of the channels"));
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 0)});
    h.reply(array(integer(1)));
    h.advance(100ms);  // sooner than max_poll_interval
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 0)});
}

TEST(engine_hand_off, after_max_passes_others_get_their_turn) {
    conch::config c = quiet();
    c.max_passes = 3;
    engine_harness h{c};
    for (int i = 0; i < 6; ++i) {
        h.lock("a", fixed_lease);
    }
    h.connect();
    h.reply(granted());
    h.sent();
    for (std::size_t i = 0; i < 2; ++i) {
        h.release(h.operation_at(i).view);
        const int n = static_cast<int>(i) + 1;
        EXPECT_EQ(h.sent(), (lines{release_of("a", n), acquire_of("a", n + 1)}));
        h.reply(integer(3), granted());  // three clients heard of the release
    }
    h.release(h.operation_at(2).view);
    EXPECT_EQ(h.sent(), (lines{release_of("a", 3), subscribe_of("a")}));
}

TEST(engine_hand_off, a_turn_of_others_ends_though_a_refused_subscribe_is_told_just_then) {
    conch::config c = quiet();
    c.max_passes = 1;
    engine_harness h{c};
    for (int i = 0; i < 3; ++i) {
        h.lock("a");
    }
    h.connect();
    h.reply(granted());
    h.release(h.operation_at(0).view);
    h.sent();
    h.reply(integer(3), granted());  // others wait
    h.release(h.operation_at(1).view);
    EXPECT_EQ(h.sent(), (lines{release_of("a", 2), subscribe_of("a")})) << "their turn";
    h.skip(1s);
    h.reply(integer(3), error("NOPERM this user has no permissions to access the channel"));
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 3)});
}

TEST(engine_hand_off, a_row_that_has_lasted_for_100_ms_ends_with_the_next_release) {
    for (const conch::duration age : {99ms, 100ms}) {
        engine_harness h;
        for (int i = 0; i < 4; ++i) {
            h.lock("a", fixed_lease);
        }
        h.connect();
        h.reply(granted());
        h.advance(5ms);
        h.release(h.operation_at(0).view);
        h.reply(integer(3), granted());  // three clients heard of the release
        ASSERT_TRUE(h.operation_at(1).granted()) << "a short one is passed on";
        h.advance(age - 5ms);
        h.reply(subscribed("a"));  // who waits behind a hold listens
        h.reply(array(integer(1)));
        h.sent();
        h.release(h.operation_at(1).view);
        EXPECT_EQ(h.sent(), age < 100ms ? (lines{release_of("a", 2), acquire_of("a", 3)})
                                        : lines{release_of("a", 2)})
            << "else it is the turn of others";
    }
}

TEST(engine_hand_off, a_yielding_client_keeps_silent_for_a_moment_and_then_tries) {
    conch::config c = quiet();
    c.max_passes = 1;
    engine_harness h{c};
    operation& first = h.lock("a");
    operation& second = h.lock("a");
    operation& third = h.lock("a");
    h.connect();
    h.reply(granted());
    h.release(first.view);
    h.sent();
    h.reply(integer(2), granted());
    ASSERT_TRUE(second.granted());
    h.release(second.view);
    EXPECT_EQ(h.sent(), (lines{release_of("a", 2), subscribe_of("a")}));
    h.advance(1ms);
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 3)});
    h.reply(integer(2), subscribed("a"), granted());
    EXPECT_TRUE(third.granted());
}

// Of a client that gives others their turn after each hold: the first ended, others wait, and the
// client listens.
class engine_turns : public testing::Test {
protected:
    engine_turns() {
        for (int i = 0; i < 6; ++i) {
            h.lock("a");
        }
        h.connect();
        h.reply(granted());
        h.release(h.operation_at(0).view);
        h.sent();
        h.reply(integer(2), granted());
        h.release(h.operation_at(1).view);
        h.sent();
        h.reply(integer(2), subscribed("a"));
    }

    static conch::config yielding() {
        conch::config c = quiet();
        c.max_passes = 1;
        return c;
    }

    void expect_turn_of(conch::duration d, int next) {
        h.advance(d - 1us);
        EXPECT_EQ(h.sent(), lines{}) << "before the try of number " << next;
        h.advance(1us);
        EXPECT_EQ(h.sent(), lines{acquire_of("a", next)});
        h.reply(granted());
        ASSERT_TRUE(h.operation_at(static_cast<std::size_t>(next - 1)).granted());
    }
    // All that is heard of it is the client's own release.
    void release(std::size_t i) {
        h.release(h.operation_at(i).view);
        h.sent();
        h.reply(integer(2), released("a"));
    }

    engine_harness h{yielding()};
};

TEST_F(engine_turns, each_that_nobody_takes_makes_the_next_one_twice_as_long) {
    expect_turn_of(1ms, 3);
    release(2);
    expect_turn_of(2ms, 4);
    release(3);
    expect_turn_of(4ms, 5);
}

TEST_F(engine_turns, one_in_which_others_had_the_lock_makes_the_next_one_short_again) {
    expect_turn_of(1ms, 3);
    release(2);
    expect_turn_of(2ms, 4);
    release(3);
    h.reply(released("a"));  // theirs
    expect_turn_of(4ms, 5);
    release(4);
    expect_turn_of(1ms, 6);
}

TEST_F(engine_turns, one_is_no_hand_off) {
    expect_turn_of(1ms, 3);
    release(2);
    EXPECT_EQ(h.counters().hand_offs, 1u);
}

TEST(engine_hand_off, where_nobody_else_waits_the_lock_is_passed_on_for_ever) {
    conch::config c = quiet();
    c.max_passes = 1;
    engine_harness h{c};
    for (int i = 0; i < 20; ++i) {
        h.lock("a");
    }
    h.connect();
    h.reply(granted());
    for (std::size_t i = 0; i + 1 < 20; ++i) {
        h.release(h.operation_at(i).view);
        h.reply(integer(0), granted());
        ASSERT_TRUE(h.operation_at(i + 1).granted()) << i;
    }
}

}  // namespace
