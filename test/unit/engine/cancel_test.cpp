// SPDX-License-Identifier: BSL-1.0
#include "unit/engine/harness.hpp"

#include <gtest/gtest.h>

// Rule 5: an acquire ends owned or released, at whatever stage its caller gives up.
namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

const conch::error_code aborted =
    boost::system::errc::make_error_code(boost::system::errc::operation_canceled);

TEST(engine_cancel, an_acquire_that_was_not_written_leaves_no_trace) {
    engine_harness h;
    operation& op = h.lock("a");
    h.cancel(op);
    EXPECT_TRUE(op.ended(aborted));
    h.connect();
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_EQ(h.counters().slots_now, 0u);
}

TEST(engine_cancel, a_written_acquire_completes_at_once_and_is_released_if_it_is_granted) {
    engine_harness h;
    h.grant("other");
    operation& op = h.lock("a");
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 2)});
    h.cancel(op);
    EXPECT_TRUE(op.ended(aborted));
    EXPECT_EQ(h.sent(), lines{}) << "its fate is not known yet";
    h.reply(granted());
    EXPECT_EQ(h.sent(), lines{release_of("a", 2)});
    h.reply(integer(0));
    EXPECT_EQ(h.counters().compensations, 1u);
    EXPECT_EQ(h.counters().slots_now, 1u) << "only that of the other lock";
}

TEST(engine_cancel, a_written_acquire_that_is_answered_busy_needs_no_release) {
    engine_harness h;
    h.grant("other");
    h.cancel(h.lock("a"));
    h.sent();
    h.reply(busy(5000));
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_EQ(h.counters().slots_now, 1u);
}

TEST(engine_cancel, an_abandoned_acquire_is_not_sent_again_after_noscript) {
    engine_harness h;
    h.grant("other");
    h.cancel(h.lock("a"));
    h.sent();
    h.reply(error("NOSCRIPT No matching script. Please use EVAL."));
    h.advance(2s);
    EXPECT_EQ(h.sent(), lines{}) << "it didn't run: neither the acquire nor a release";
}

TEST(engine_cancel, an_abandoned_acquire_is_not_sent_again_after_loading) {
    engine_harness h;
    h.grant("other");
    h.cancel(h.lock("a"));
    h.sent();
    h.reply(error("LOADING Redis is loading the dataset in memory"));
    h.advance(2s);
    EXPECT_EQ(h.sent(), lines{});
}

TEST(engine_cancel, an_acquire_that_waits_after_loading_is_released_and_not_sent_again) {
    engine_harness h;
    h.grant("other");
    operation& op = h.lock("a");
    h.reply(error("LOADING Redis is loading the dataset in memory"));
    h.cancel(op);
    h.sent();
    h.advance(2s);
    EXPECT_EQ(h.sent(), lines{});
}

TEST(engine_cancel, an_acquire_in_flight_when_the_link_breaks_is_released_and_not_replayed) {
    engine_harness h;
    h.grant("other");
    h.cancel(h.lock("a"));
    h.sent();
    h.break_connection();
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", release_of("a", 2), renew_of("other", 1)}));
}

TEST(engine_cancel, an_acquire_queued_for_replay_is_withdrawn_and_released) {
    engine_harness h;
    h.grant("other");
    operation& op = h.lock("a");
    h.sent();
    h.break_connection();
    h.cancel(op);
    EXPECT_TRUE(op.ended(aborted));
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", release_of("a", 2), renew_of("other", 1)}));
}

TEST(engine_cancel, a_waiter_leaves_and_the_subscription_with_it) {
    engine_harness h;
    h.grant("other");
    operation& op = h.lock("a");
    h.reply(busy(5000));
    h.reply(subscribed("a"), busy(5000));
    h.sent();
    h.cancel(op);
    EXPECT_TRUE(op.ended(aborted));
    EXPECT_EQ(h.sent(), lines{unsubscribe_of("a")});
    h.reply(unsubscribed("a"));
    EXPECT_EQ(h.counters().slots_now, 1u);
    EXPECT_EQ(h.counters().subscriptions_now, 0u);
}

TEST(engine_cancel, a_compensation_is_repeated_until_the_server_confirms_it) {
    engine_harness h;
    h.grant("other");
    h.cancel(h.lock("a"));
    h.reply(granted());
    h.sent();
    h.reply(error("ERR something passing"));
    h.advance(100ms);
    EXPECT_EQ(h.sent(), lines{release_of("a", 2)});
    h.reply(integer(0));
    h.advance(2s);
    EXPECT_EQ(h.sent(), lines{});
}

TEST(engine_cancel, while_the_old_connection_may_live_the_compensation_is_repeated) {
    engine_harness h;
    h.grant("other");
    h.cancel(h.lock("a"));
    h.sent();
    h.break_connection();
    h.connect(2);
    h.sent();
    h.reply(error("NOPERM this user has no permissions to run the 'client|kill' command"),
            integer(-1), array(integer(1)));
    h.advance(1s);
    EXPECT_NE(h.sent(), lines{}) << "the acquire may still be in the old connection's buffers";
}

TEST(engine_cancel, once_the_old_connection_was_ended_one_confirmed_release_is_enough) {
    engine_harness h;
    h.grant("other");
    h.cancel(h.lock("a"));
    h.sent();
    h.break_connection();
    h.connect(2);
    h.sent();
    h.reply(integer(1), integer(-1), array(integer(1)));
    h.advance(1s);
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_EQ(h.counters().slots_now, 1u);
}

TEST(engine_cancel, ending_one_old_connection_does_not_vouch_for_the_one_before_it) {
    engine_harness h;
    h.grant("other");
    h.cancel(h.lock("a"));
    h.break_connection();
    h.connect(2);
    h.break_connection();  // before the KILL of the first was answered
    h.sent();
    h.connect(3);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", "CLIENT KILL ID 2", release_of("a", 2),
                               renew_of("other", 1)}));
    h.reply(error("NOPERM no"), integer(1), integer(-1), array(integer(1)));
    h.advance(1s);
    EXPECT_NE(h.sent(), lines{}) << "the first connection may still run the acquire";
}

TEST(engine_cancel, a_copy_that_is_refused_does_not_tell_what_became_of_the_one_before) {
    engine_harness h;
    h.grant("other");
    operation& op = h.lock("a");
    h.break_connection();  // it ran, and its answer was lost
    h.connect(2);
    h.sent();
    h.reply(integer(1), array(integer(1)),
            error("OOM command not allowed when used memory > 'maxmemory'."));
    EXPECT_TRUE(op.ended(errc::out_of_memory));
    EXPECT_EQ(h.sent(), lines{release_of("a", 2)}) << "else the lock is left to nobody";
}

TEST(engine_cancel, an_abandoned_copy_that_is_refused_is_released_too) {
    engine_harness h;
    h.grant("other");
    operation& op = h.lock("a");
    h.break_connection();
    h.connect(2);
    h.cancel(op);
    h.sent();
    h.reply(integer(1), array(integer(1)), error("LOADING Redis is loading the dataset in memory"));
    EXPECT_EQ(h.sent(), lines{release_of("a", 2)});
}

TEST(engine_cancel, one_that_waits_after_loading_is_released_where_the_copy_before_may_have_run) {
    engine_harness h;
    h.grant("other");
    operation& op = h.lock("a");
    h.break_connection();
    h.connect(2);
    h.sent();
    h.reply(integer(1), array(integer(1)), error("LOADING Redis is loading the dataset in memory"));
    h.cancel(op);
    EXPECT_TRUE(op.ended(aborted));
    EXPECT_EQ(h.sent(), lines{release_of("a", 2)})
        << "the first connection is ended, but not undone";
}

TEST(engine_cancel, a_compensation_goes_on_until_the_lease_is_over_and_not_for_ever) {
    engine_harness h;
    h.grant("other", {.renew = false});
    h.cancel(h.lock("a", {.lease = 1s}));
    h.break_connection();
    h.advance(10s);
    EXPECT_EQ(h.counters().slots_now, 1u);
    h.connect(2);
    h.sent();
    h.reply(integer(1));
    EXPECT_EQ(h.sent(), lines{});
}

TEST(engine_cancel, a_grant_that_may_last_longer_than_the_next_waiter_wants_is_released) {
    engine_harness h;
    operation& first = h.lock("a");
    operation& second = h.lock("a", {.max_hold = 60s});
    h.connect();
    h.cancel(first);
    h.sent();
    h.reply(granted());
    EXPECT_FALSE(second.done());
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
}

}  // namespace
