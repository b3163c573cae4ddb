// SPDX-License-Identifier: BSL-1.0
#include "unit/engine/harness.hpp"

#include <gtest/gtest.h>

#include <set>

// What a grant is worth, and when a hold is lost: rules 1, 3, 4.
namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

constexpr conch::lock_options fixed{.lease = 30s, .renew = false};
constexpr conch::duration worth = 30s - 750ms - 2ms;

TEST(engine_deadline, each_acquisition_has_a_field_of_its_own) {
    engine_harness h;
    std::set<std::string> fields;
    h.lock("a");
    h.connect();
    for (int i = 0; i < 100; ++i) {
        const auto commands = h.sent_commands();
        ASSERT_EQ(commands.size(), 1u);
        fields.insert(commands[0].args.at(0));
        h.reply(i % 2 == 0 ? error("OOM command not allowed") : busy(0));
        if (i % 2 == 0) {
            h.try_lock("a");
        } else {
            h.lock("a");
        }
    }
    EXPECT_EQ(fields.size(), 100u);
}

TEST(engine_deadline, it_counts_from_the_write_and_not_from_the_answer) {
    engine_harness h;
    h.grant("other", fixed);
    const auto sent = h.now();
    operation& op = h.lock("a", fixed);
    h.advance(2s);
    h.reply(granted());
    EXPECT_EQ(valid_until(op.view), sent + worth);
}

TEST(engine_deadline, it_counts_from_the_write_and_not_from_the_request) {
    engine_harness h;
    h.grant("other", fixed);
    h.block_writes();
    operation& op = h.lock("a", fixed);
    h.skip(2s);
    h.unblock_writes();
    h.reply(granted());
    EXPECT_EQ(valid_until(op.view), h.now() + worth);
}

TEST(engine_deadline, it_counts_from_the_copy_that_was_answered) {
    engine_harness h;
    h.grant("other", fixed);
    operation& op = h.lock("a", fixed);
    h.break_connection();
    h.connect(2);
    const auto sent = h.now();
    h.advance(1s);
    h.reply(integer(1), array(integer(1)), granted());
    EXPECT_EQ(valid_until(op.view), sent + worth);
}

TEST(engine_deadline, a_grant_that_came_after_its_lease_is_released_and_tried_again) {
    engine_harness h;
    h.grant("other", fixed);
    operation& op = h.lock("a", {.lease = 1s});
    h.sent();
    h.advance(1s);
    h.reply(granted());
    EXPECT_FALSE(op.done());
    EXPECT_EQ(h.sent(), (lines{release_of("a", 2), subscribe_of("a"), acquire_of("a", 3, 1000)}));
    h.reply(integer(0), subscribed("a"), granted());
    EXPECT_TRUE(op.granted());
    EXPECT_EQ(h.counters().acquisitions, 2u);
}

TEST(engine_deadline, a_try_that_was_granted_after_its_lease_comes_back_empty) {
    engine_harness h;
    h.grant("other", fixed);
    operation& op = h.try_lock("a", {.lease = 1s});
    h.sent();
    h.advance(1s);
    h.reply(granted());
    EXPECT_TRUE(op.ended({}));
    EXPECT_FALSE(op.view);
    EXPECT_EQ(h.sent(), lines{release_of("a", 2)});
}

TEST(engine_deadline, a_grant_with_less_than_two_thirds_left_is_renewed_at_once) {
    engine_harness h;
    h.grant("other", fixed);
    operation& op = h.lock("a", {.lease = 3s});
    h.advance(950ms);  // a third will have passed in 50 ms
    h.reply(granted());
    h.sent();
    h.advance(0s);
    EXPECT_TRUE(op.granted());
    EXPECT_EQ(h.sent(), lines{renew_of("a", 2, 3000)});
}

TEST(engine_deadline, a_grant_with_more_left_is_not_renewed_at_once) {
    engine_harness h;
    h.grant("other", fixed);
    h.lock("a", {.lease = 3s});
    h.advance(800ms);
    h.reply(granted());
    h.sent();
    h.advance(100ms);
    EXPECT_EQ(h.sent(), lines{});
}

TEST(engine_deadline, loss_is_told_in_the_first_turn_at_the_deadline_without_any_answer) {
    engine_harness h;
    const auto hold = h.grant("a", fixed);
    operation& watch = h.wait_lost(hold);
    h.skip(worth - 1ns);
    h.turn();
    EXPECT_FALSE(watch.done());
    h.skip(1ns);
    h.turn();
    EXPECT_TRUE(watch.ended(errc::lease_expired));
    EXPECT_EQ(lost(hold), errc::lease_expired);
    EXPECT_EQ(h.counters().lost_expired, 1u);
}

TEST(engine_deadline, the_engine_asks_for_a_turn_at_the_deadline) {
    engine_harness h;
    const auto hold = h.grant("a", fixed);
    operation& watch = h.wait_lost(hold);
    h.break_connection();
    h.advance(40s);
    EXPECT_EQ(watch.at, valid_until(hold));
}

TEST(engine_deadline, after_a_long_sleep_loss_is_told_before_a_late_answer_is_read) {
    engine_harness h;
    const auto hold = h.grant("a");
    h.advance(10s);
    operation& watch = h.wait_lost(hold);
    h.skip(100s);
    h.turn();
    EXPECT_TRUE(watch.ended(errc::lease_expired));
}

TEST(engine_deadline, a_hold_lost_by_its_deadline_is_released_in_the_background) {
    engine_harness h;
    h.grant("a", fixed);
    h.skip(worth);
    h.turn();
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
}

TEST(engine_deadline, a_release_message_for_a_held_name_brings_a_check_at_once) {
    engine_harness h;
    h.lock("a", fixed);
    h.lock("a", {.lease = 20s});
    h.connect();
    h.reply(busy(5000));
    h.reply(subscribed("a"), granted());
    h.sent();
    h.reply(released("a"));
    EXPECT_EQ(h.sent(), lines{"renew a c:2 0"});
}

TEST(engine_deadline, a_check_that_finds_another_holder_tells_at_once) {
    engine_harness h;
    operation& op = h.lock("a", fixed);
    h.lock("a", {.lease = 20s});
    h.connect();
    h.reply(busy(5000));
    h.reply(subscribed("a"), granted());
    h.reply(released("a"));
    h.sent();
    h.reply(array(integer(0)));
    EXPECT_EQ(lost(op.view), errc::lock_lost);
    EXPECT_EQ(h.counters().lost_taken, 1u);
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 3, 20'000)}) << "the next waiter's turn";
}

}  // namespace
