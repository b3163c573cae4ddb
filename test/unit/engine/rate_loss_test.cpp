// SPDX-License-Identifier: BSL-1.0
// Permits of a rate limit where answers are lost, late or refused.
#include "unit/engine/rate_fixture.hpp"

#include <gtest/gtest.h>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

TEST_F(engine_rate, a_try_whose_answer_was_lost_is_not_made_again) {
    operation& op = h.try_permits(five);
    h.sent();
    h.break_connection();
    EXPECT_TRUE(op.ended(errc::outcome_unknown));
    h.connect(2);
    EXPECT_EQ(h.sent().back(), "CLIENT KILL ID 1") << "and nothing after it";
}

TEST_F(engine_rate, a_try_that_was_not_written_yet_is_made_on_the_next_connection) {
    h.block_writes();
    operation& op = h.try_permits(five);
    h.break_connection();
    EXPECT_FALSE(op.done());
    h.unblock_writes();
    h.connect(2);
    h.reply(integer(1), counted(1, 1, 0, 60'000));
    EXPECT_TRUE(op.verdict.allowed);
}

TEST_F(engine_rate, who_waits_asks_again_after_a_lost_answer) {
    operation& op = h.permits(five, 1);
    h.sent();
    h.break_connection();
    EXPECT_FALSE(op.done());
    h.connect(2);
    EXPECT_EQ(h.sent().back(), "rate_log r 5 60000 1");
}

TEST_F(engine_rate, a_wait_that_ends_after_a_lost_answer_leaves_the_outcome_unknown) {
    operation& patient = h.permits(five, 1);
    operation& hasty = h.permits(five, 1, 2s);
    h.reply(counted(0, 5, 1000, 60'000));
    h.advance(1s);
    h.sent();
    h.break_connection();
    h.advance(2s);
    EXPECT_TRUE(hasty.ended(errc::outcome_unknown));
    h.advance(h.settings.operation_timeout);
    EXPECT_TRUE(patient.ended(errc::outcome_unknown));
}

TEST_F(engine_rate, an_answer_ends_the_doubt_of_a_lost_one) {
    operation* ops[2] = {};
    h.turn([&] {
        ops[0] = &h.permits(five, 2);
        ops[1] = &h.permits(five, 1, 4s);
    });
    h.sent();
    h.break_connection();
    h.connect(2);
    h.reply(integer(1), counted(0, 4, 60'000, 60'000));
    EXPECT_FALSE(ops[1]->done()) << "it may fit if the first gives up";
    h.advance(4s);
    EXPECT_TRUE(ops[1]->ended(errc::timed_out));
}

TEST_F(engine_rate, a_script_that_the_server_lacks_did_not_count) {
    operation& op = h.try_permits(five);
    h.sent();
    h.reply(error("NOSCRIPT No matching script."));
    EXPECT_EQ(h.sent(), lines{"EVAL rate_log r 5 60000 1"});
    h.reply(counted(1, 1, 0, 60'000));
    EXPECT_TRUE(op.verdict.allowed);
}

TEST_F(engine_rate, a_silent_server_leaves_the_outcome_unknown) {
    conch::config c = quiet();
    c.response_timeout = 1h;
    engine_harness silent{c};
    open(silent);
    operation& once = silent.try_permits(five);
    silent.sent();
    operation& behind = silent.permits(five, 1);
    silent.advance(silent.settings.operation_timeout);
    EXPECT_TRUE(once.ended(errc::outcome_unknown));
    EXPECT_TRUE(behind.ended(errc::not_connected)) << "it was not asked for";
}

TEST_F(engine_rate, without_a_server_it_fails_in_time) {
    engine_harness alone;
    operation& op = alone.permits(five, 1);
    alone.advance(alone.settings.operation_timeout);
    EXPECT_TRUE(op.ended(errc::not_connected));
}

TEST_F(engine_rate, a_wait_is_a_bound) {
    engine_harness away;
    operation& op = away.permits(five, 1, 2s);
    away.advance(2100ms);
    EXPECT_TRUE(op.ended(errc::not_connected));
    engine_harness silent;
    silent.grant("other", {.renew = false});
    operation& asked = silent.permits(five, 1, 2s);
    silent.advance(2100ms);
    EXPECT_TRUE(asked.ended(errc::outcome_unknown)) << "it may have been counted";
}

TEST_F(engine_rate, whose_wait_is_over_when_the_call_is_lost_is_told_at_once) {
    operation& op = refused(1, 700, 1s);
    h.advance(700ms);
    EXPECT_EQ(h.sent().size(), 1u) << "asked again";
    h.advance(350ms);
    EXPECT_FALSE(op.done()) << "its answer is awaited";
    h.break_connection();
    EXPECT_TRUE(op.ended(errc::outcome_unknown));
}

TEST_F(engine_rate, a_try_that_a_loading_server_refused_did_not_count) {
    operation& op = h.try_permits(five);
    h.sent();
    h.reply(error("LOADING Redis is loading the dataset in memory"));
    EXPECT_FALSE(op.done());
    h.break_connection();
    EXPECT_FALSE(op.done()) << "nothing that may have counted it is on its way";
    h.connect(2);
    EXPECT_EQ(h.sent().back(), "rate_log r 5 60000 1");
    h.reply(integer(1), counted(1, 1, 0, 60'000));
    EXPECT_TRUE(op.verdict.allowed);
}

}  // namespace
