// SPDX-License-Identifier: BSL-1.0
#include "unit/engine/harness.hpp"

#include <gtest/gtest.h>

// What a lost connection means to the locks: rules 6 and 7.
namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

TEST(engine_link_loss, an_acquire_in_flight_is_replayed_with_the_same_field) {
    engine_harness h;
    operation& op = h.lock("a");
    h.connect();
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 1)});
    h.break_connection();
    EXPECT_FALSE(op.done());
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", acquire_of("a", 1)}));
    h.reply(integer(1), granted());
    EXPECT_TRUE(op.granted());
}

TEST(engine_link_loss, the_old_connection_of_another_server_process_is_left_alone) {
    engine_harness h;
    h.lock("a");
    h.connect(1, "before");
    h.sent();
    h.break_connection();
    h.connect(1, "after");
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 1)});
}

TEST(engine_link_loss, all_holds_are_checked_first_and_fixed_leases_too) {
    engine_harness h;
    h.grant("a");
    h.grant("b", {.renew = false});
    h.lock("c");
    h.sent();
    h.break_connection();
    h.connect(2);
    EXPECT_EQ(h.sent(),
              (lines{"CLIENT KILL ID 1", "renew a b c:1 30000 c:2 0", acquire_of("c", 3)}));
    h.reply(integer(1), array(integer(1), integer(0)));
    EXPECT_EQ(lost(h.operation_at(0).view), errc{});
    EXPECT_EQ(lost(h.operation_at(1).view), errc::lock_lost);
}

TEST(engine_link_loss, a_check_of_a_fixed_lease_does_not_move_its_deadline) {
    engine_harness h;
    const auto hold = h.grant("a", {.renew = false});
    const auto before = valid_until(hold);
    h.advance(1s);
    h.break_connection();
    h.connect(2);
    h.reply(integer(1), array(integer(1)));
    EXPECT_EQ(valid_until(hold), before);
}

TEST(engine_link_loss, a_renewal_in_flight_is_made_anew_and_not_replayed) {
    engine_harness h;
    const auto hold = h.grant("a");
    h.grant("b");
    h.advance(10s);
    h.break_connection();
    h.release(hold);
    h.sent();
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", release_of("a", 1), renew_of("b", 2)}));
}

TEST(engine_link_loss, a_hold_survives_a_loss_that_is_shorter_than_its_lease) {
    engine_harness h;
    const auto hold = h.grant("a");
    h.advance(9s);
    h.break_connection();
    h.advance(15s);
    EXPECT_EQ(lost(hold), errc{});
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", renew_of("a", 1)}));
    h.reply(integer(1), array(integer(1)));
    EXPECT_EQ(valid_until(hold), conch::core::lease_end(h.now(), 30s));
}

TEST(engine_link_loss, the_order_within_a_slot_is_kept) {
    engine_harness h;
    const auto hold = h.grant("a");
    h.lock("a", {.renew = false});
    h.release(hold);
    EXPECT_EQ(h.sent(), (lines{release_of("a", 1), acquire_of("a", 2)}));
    h.break_connection();
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", release_of("a", 1), acquire_of("a", 2)}));
}

TEST(engine_link_loss, a_hold_from_a_replayed_acquire_is_released_more_than_once_if_need_be) {
    engine_harness h;
    operation& op = h.lock("a");
    h.connect();
    h.break_connection();
    h.connect(2);
    h.sent();
    h.reply(error("NOPERM this user has no permissions to run the 'client|kill' command"),
            granted());
    ASSERT_TRUE(op.granted());
    operation& unlock = h.unlock(op.view);
    h.sent();
    h.reply(integer(0));
    EXPECT_TRUE(unlock.ended({})) << "the caller needn't wait for it";
    h.advance(1s);
    EXPECT_NE(h.sent(), lines{}) << "the first copy may still run, and take the lock for nobody";
}

TEST(engine_link_loss, a_busy_answer_does_not_vouch_for_the_copy_before_it) {
    engine_harness h;
    operation& op = h.try_lock("a");
    h.connect();
    h.break_connection();
    h.connect(2);
    h.sent();
    h.reply(error("NOPERM this user has no permissions to run the 'client|kill' command"),
            busy(5000));
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)}) << "it may still run, and take the lock";
}

TEST(engine_link_loss, those_repetitions_end_one_lease_after_the_loss) {
    engine_harness h;
    operation& op = h.lock("a", {.lease = 2s, .renew = false});
    h.connect();
    h.break_connection();
    h.connect(2);
    h.reply(error("NOPERM no"), granted());
    h.unlock(op.view);
    h.sent();
    h.reply(integer(0));
    for (int i = 0; i < 40; ++i) {
        for (std::size_t n = h.sent().size(); n > 0; --n) {
            h.reply(integer(-1));
        }
        h.advance(100ms);
    }
    h.sent();
    h.advance(10s);
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_EQ(h.counters().slots_now, 0u);
}

TEST(engine_link_loss, of_several_losses_the_last_one_counts) {
    engine_harness h;
    operation& op = h.lock("a", {.lease = 2s, .renew = false});
    h.connect();
    h.break_connection();
    h.advance(1500ms);
    h.connect(2);
    EXPECT_EQ(h.sent().back(), acquire_of("a", 1, 2000));
    h.break_connection();
    h.connect(3);
    h.sent();
    h.reply(error("NOPERM no"), error("NOPERM no"), granted());
    h.unlock(op.view);
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    h.reply(integer(0));
    h.advance(1s);
    h.sent();
    h.reply(integer(-1));
    h.advance(700ms);
    EXPECT_NE(h.sent(), lines{}) << "the lease after the first one is over";
    h.reply(integer(-1));
    h.advance(10s);
    h.sent();
    EXPECT_EQ(h.counters().slots_now, 0u);
}

TEST(engine_link_loss, a_release_is_owed_for_as_long_as_an_unanswered_extension_may_last) {
    engine_harness h;
    const auto hold = h.grant("a", {.lease = 100ms, .renew = false});
    h.extend(hold, 60s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 60'000)});
    h.break_connection();
    h.advance(10s);
    EXPECT_EQ(lost(hold), errc::lease_expired);
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", release_of("a", 1)}));
    h.reply(integer(1), integer(0));
}

TEST(engine_link_loss, noscript_leads_to_the_scripts_text_with_the_same_field) {
    engine_harness h;
    operation& op = h.lock("a");
    h.connect();
    h.sent();
    h.reply(error("NOSCRIPT No matching script. Please use EVAL."));
    EXPECT_EQ(h.sent(), lines{join("EVAL ", acquire_of("a", 1))});
    h.reply(granted());
    EXPECT_TRUE(op.granted());
}

TEST(engine_query, a_status_is_read_from_the_answer) {
    engine_harness h;
    conch::lock_status s;
    operation& op = h.status("a", &s);
    h.connect();
    EXPECT_EQ(h.sent(), lines{"status a"});
    h.reply(array(integer(1500), bulk("17"), bulk("x:9"), bulk("2")));
    EXPECT_TRUE(op.ended({}));
    EXPECT_TRUE(s.locked);
    EXPECT_EQ(s.ttl, 1500ms);
    EXPECT_EQ(s.fence, 17u);
    EXPECT_EQ(s.holder, "x:9");
    EXPECT_EQ(s.depth, 2u);
}

TEST(engine_query, without_the_right_to_the_fence_key_the_rest_is_told) {
    engine_harness h;
    h.use(conch::protocol::mutex_protocol, "a", {.fenced = true});
    conch::lock_status s;
    operation& op = h.status("a", &s);
    h.connect();
    EXPECT_EQ(h.sent(), lines{"status a redisson_lock_token:{a}"});
    h.reply(error("NOPERM No permissions to access a key"));
    EXPECT_FALSE(op.done());
    EXPECT_EQ(h.sent(), lines{"status a"});
    h.reply(array(integer(1500), bulk(""), bulk("x:9"), bulk("2")));
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(s.holder, "x:9");
    EXPECT_EQ(s.fence, 0u);
}

TEST(engine_query, without_the_right_to_the_lock_it_is_refused_the_second_time) {
    engine_harness h;
    h.use(conch::protocol::mutex_protocol, "a", {.fenced = true});
    conch::lock_status s;
    operation& op = h.status("a", &s);
    h.connect();
    h.reply(error("NOPERM No permissions to access a key"));
    h.reply(error("NOPERM No permissions to access a key"));
    EXPECT_TRUE(op.ended(errc::permission_denied));
    h.sent();
    h.turn();
    EXPECT_EQ(h.sent(), lines{});
}

TEST(engine_query, a_cancelled_one_is_not_asked_again) {
    engine_harness h;
    h.use(conch::protocol::mutex_protocol, "a", {.fenced = true});
    conch::lock_status s;
    operation& op = h.status("a", &s);
    h.connect();
    h.sent();
    h.cancel(op);
    h.reply(error("NOPERM No permissions to access a key"));
    EXPECT_EQ(h.sent(), lines{});
}

TEST(engine_query, a_forced_unlock_names_the_holder_that_was_read) {
    engine_harness h;
    operation& op = h.force_unlock("a");
    h.connect();
    EXPECT_EQ(h.sent(), lines{"status a"});
    h.reply(array(integer(1500), bulk(""), bulk("x:9"), bulk("1")));
    EXPECT_EQ(h.sent(), lines{join("release a x:9 ", channel_of("a"))});
    h.reply(integer(0));
    EXPECT_TRUE(op.ended({}));
    EXPECT_TRUE(op.did());
}

TEST(engine_query, a_forced_unlock_of_a_free_lock_sends_no_release) {
    engine_harness h;
    operation& op = h.force_unlock("a");
    h.connect();
    h.sent();
    h.reply(array(integer(-2), bulk("")));
    EXPECT_TRUE(op.ended({}));
    EXPECT_FALSE(op.did());
    EXPECT_EQ(h.sent(), lines{});
}

TEST(engine_query, a_forced_unlock_is_confirmed_by_a_number_only) {
    engine_harness h;
    operation& op = h.force_unlock("a");
    h.connect();
    h.reply(array(integer(1500), bulk(""), bulk("x:9"), bulk("1")));
    h.reply(ok());
    EXPECT_TRUE(op.ended(errc::protocol_error));
    EXPECT_FALSE(op.did());
}

TEST(engine_query, a_forced_unlock_of_ones_own_hold_is_found_out_at_once) {
    engine_harness h;
    const auto hold = h.grant("a");
    h.force_unlock("a");
    h.reply(array(integer(1500), bulk(""), bulk("c:1"), bulk("1")));
    h.sent();
    h.reply(integer(0));
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1)});
    h.reply(array(integer(0)));
    EXPECT_EQ(lost(hold), errc::lock_lost);
}

TEST(engine_query, a_cancelled_one_does_not_touch_its_callers_result) {
    engine_harness h;
    conch::lock_status s;
    operation& op = h.status("a", &s);
    h.connect();
    h.cancel(op);
    h.reply(array(integer(1500), bulk(""), bulk("x:9"), bulk("1")));
    EXPECT_FALSE(s.locked);
}

}  // namespace
