// SPDX-License-Identifier: BSL-1.0
#include "unit/engine/harness.hpp"

#include "hold/verdict.hpp"

#include <gtest/gtest.h>

// How a hold is given back: rule 8.
namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;
using conch::lock::release_verdict;

constexpr conch::time_point deadline{10s};

TEST(release_verdict, a_release_by_the_holder_is_done_even_if_it_is_late) {
    EXPECT_EQ(release_verdict({.was_holder = true,
                               .may_have_run = false,
                               .first_sent = deadline + 1s,
                               .valid_until = deadline}),
              errc{});
}

TEST(release_verdict, not_the_holder_on_a_replay_that_began_in_time_is_done) {
    EXPECT_EQ(release_verdict({.was_holder = false,
                               .may_have_run = true,
                               .first_sent = deadline - 1ns,
                               .valid_until = deadline}),
              errc{});
}

TEST(release_verdict, not_the_holder_on_a_replay_that_began_late_is_expired) {
    EXPECT_EQ(release_verdict({.was_holder = false,
                               .may_have_run = true,
                               .first_sent = deadline,
                               .valid_until = deadline}),
              errc::lease_expired);
}

TEST(release_verdict, not_the_holder_on_a_late_first_copy_is_expired) {
    EXPECT_EQ(release_verdict({.was_holder = false,
                               .may_have_run = false,
                               .first_sent = deadline,
                               .valid_until = deadline}),
              errc::lease_expired);
}

TEST(release_verdict, not_the_holder_on_a_first_copy_in_time_is_lost) {
    EXPECT_EQ(release_verdict({.was_holder = false,
                               .may_have_run = false,
                               .first_sent = deadline - 1ns,
                               .valid_until = deadline}),
              errc::lock_lost);
}

TEST(engine_unlock, a_confirmed_release_is_done_and_leaves_nothing) {
    engine_harness h;
    const auto hold = h.grant("a");
    operation& op = h.unlock(hold);
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    EXPECT_FALSE(op.done());
    h.reply(integer(0));
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(h.counters().slots_now, 0u);
    EXPECT_EQ(h.counters().releases, 1u);
}

TEST(engine_unlock, a_release_that_finds_no_field_says_that_the_lock_was_lost) {
    engine_harness h;
    operation& op = h.unlock(h.grant("a"));
    h.reply(integer(-1));
    EXPECT_TRUE(op.ended(errc::lock_lost));
}

TEST(engine_unlock, a_replayed_release_that_finds_no_field_is_done) {
    engine_harness h;
    operation& op = h.unlock(h.grant("a"));
    h.break_connection();
    h.sent();
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", release_of("a", 1)}));
    h.reply(integer(1), integer(-1));
    EXPECT_TRUE(op.ended({}));
}

TEST(engine_unlock, a_copy_that_did_not_run_is_no_reason_to_believe_in_a_release) {
    engine_harness h;
    operation& op = h.unlock(h.grant("a"));
    h.sent();
    h.reply(error("NOSCRIPT No matching script. Please use EVAL."));
    EXPECT_EQ(h.sent(), lines{join("EVAL ", release_of("a", 1))});
    h.reply(integer(-1));
    EXPECT_TRUE(op.ended(errc::lock_lost)) << "somebody took it away: the first copy never ran";
}

TEST(engine_unlock, it_completes_at_the_deadline_at_the_latest) {
    engine_harness h;
    const auto hold = h.grant("a", {.lease = 2s, .renew = false});
    operation& op = h.unlock(hold);
    h.skip(valid_until(hold) - h.now() - 1ns);
    h.turn();
    EXPECT_FALSE(op.done());
    h.skip(1ns);
    h.turn();
    EXPECT_TRUE(op.ended(errc::lease_expired));
}

TEST(engine_unlock, it_waits_for_a_server_that_is_away_for_operation_timeout) {
    engine_harness h;
    const auto hold = h.grant("a");
    h.break_connection();
    operation& op = h.unlock(hold);
    h.advance(h.settings.operation_timeout - 1ms);
    EXPECT_FALSE(op.done());
    h.advance(1ms);
    EXPECT_TRUE(op.ended(errc::not_connected));
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", release_of("a", 1)})) << "it goes on";
    h.reply(integer(1), integer(0));
    EXPECT_EQ(h.counters().releases, 1u);
}

TEST(engine_unlock, so_it_does_where_the_next_acquire_is_the_release) {
    engine_harness h;
    h.use(conch::protocol::mutex_protocol, "a", {.fenced = true});
    operation& first = h.lock("a");
    h.connect();
    h.reply(granted("17"));
    operation& next = h.lock("a");
    h.sent();
    operation& op = h.unlock(first.view);
    const lines hand_over = h.sent();
    ASSERT_EQ(hand_over.size(), 1u);
    EXPECT_TRUE(hand_over[0].starts_with("acquire a ")) << hand_over[0];
    h.break_connection();
    h.advance(h.settings.operation_timeout);
    EXPECT_TRUE(op.ended(errc::not_connected));
    EXPECT_TRUE(next.ended(errc::not_connected));
    h.connect(2);
    h.sent();
    h.reply(integer(1), integer(-1), integer(-1));
}

TEST(engine_unlock, it_goes_on_in_the_background_after_its_caller_was_told) {
    engine_harness h;
    const auto hold = h.grant("a", {.lease = 2s, .renew = false});
    h.break_connection();
    operation& op = h.unlock(hold);
    h.advance(2s);
    EXPECT_TRUE(op.ended(errc::lease_expired));
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", release_of("a", 1)}));
}

TEST(engine_unlock, a_second_unlock_of_one_hold_says_so) {
    engine_harness h;
    const auto hold = h.grant("a");
    h.unlock(hold);
    EXPECT_TRUE(h.unlock(hold).ended(errc::already_released));
    h.reply(integer(0));
    EXPECT_TRUE(h.unlock(hold).ended(errc::already_released));
}

TEST(engine_unlock, a_hold_that_is_none_says_so) {
    engine_harness h;
    EXPECT_TRUE(h.unlock({}).ended(errc::not_owner));
    EXPECT_TRUE(h.extend({}, 1s).ended(errc::not_owner));
    EXPECT_TRUE(h.wait_lost({}).ended(errc::not_owner));
}

TEST(engine_unlock, an_unlock_after_the_loss_tells_its_reason) {
    engine_harness h;
    const auto hold = h.grant("a", {.lease = 1s, .renew = false});
    h.advance(2s);
    EXPECT_TRUE(h.unlock(hold).ended(errc::lease_expired));
}

TEST(engine_unlock, a_refused_release_tells_the_caller_and_is_repeated) {
    engine_harness h;
    operation& op = h.unlock(h.grant("a"));
    h.sent();
    h.reply(error("READONLY You can't write against a read only replica."));
    EXPECT_TRUE(op.ended(errc::read_only));
    h.advance(60ms);
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
}

TEST(engine_unlock, an_answer_that_is_no_number_confirms_nothing_and_the_release_is_repeated) {
    engine_harness h;
    operation& op = h.unlock(h.grant("a"));
    h.sent();
    h.reply(bulk("1"));
    EXPECT_TRUE(op.ended(errc::protocol_error));
    EXPECT_EQ(h.counters().releases, 0u);
    h.advance(60ms);
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
}

TEST(engine_unlock, release_needs_no_caller_and_a_second_one_does_nothing) {
    engine_harness h;
    const auto hold = h.grant("a");
    h.release(hold);
    h.release(hold);
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    EXPECT_EQ(h.counters().holds_now, 0u);
}

TEST(engine_unlock, a_cancelled_unlock_still_releases) {
    engine_harness h;
    operation& op = h.unlock(h.grant("a"));
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    h.cancel(op);
    EXPECT_TRUE(op.done());
    h.reply(integer(0));
    EXPECT_EQ(h.counters().releases, 1u);
    EXPECT_EQ(h.counters().slots_now, 0u);
}

TEST(engine_unlock, watchers_hear_of_a_release_without_an_error) {
    engine_harness h;
    const auto hold = h.grant("a");
    operation& watch = h.wait_lost(hold);
    EXPECT_FALSE(watch.done());
    h.release(hold);
    EXPECT_TRUE(watch.ended({}));
}

TEST(engine_unlock, a_release_leaves_before_acquires_that_were_queued_earlier) {
    engine_harness h;
    const auto hold = h.grant("a");
    h.block_writes();
    h.lock("b");
    h.unlock(hold);
    h.unblock_writes();
    EXPECT_EQ(h.sent(), (lines{release_of("a", 1), acquire_of("b", 2)}));
}

}  // namespace
