// SPDX-License-Identifier: BSL-1.0
#include "unit/engine/harness.hpp"

#include <gtest/gtest.h>

// What may be done with a hold: a longest time, a longer lease, a farewell without release.
namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

TEST(engine_max_hold, the_hold_ends_with_its_own_error_and_is_released) {
    engine_harness h;
    const auto began = h.now();
    const auto hold = h.grant("a", {.lease = 3s, .max_hold = 5s});
    operation& watch = h.wait_lost(hold);
    while (!watch.done()) {
        ASSERT_LT(h.elapsed(), 20s);
        for (const std::string& line : h.sent()) {
            EXPECT_TRUE(line.starts_with("renew")) << line;
            h.reply(array(integer(1)));
        }
        h.advance(100ms);
    }
    EXPECT_TRUE(watch.ended(errc::max_hold_reached));
    EXPECT_LE(watch.at, began + 5s);
    EXPECT_GE(watch.at, began + 5s - 200ms);
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    EXPECT_EQ(h.counters().lost_max_hold, 1u);
}

TEST(engine_max_hold, the_last_lease_is_no_longer_than_it_needs_to_be) {
    engine_harness h;
    const auto hold = h.grant("a", {.lease = 3s, .max_hold = 5s});
    const auto end = h.now() + 5s;
    for (int i = 0; i < 480; ++i) {
        h.advance(10ms);
        for (const command& c : h.sent_commands()) {
            const auto until = h.now() + std::chrono::milliseconds{std::stol(c.args.at(1))};
            EXPECT_LE(until, end + 20ms);
            h.reply(array(integer(1)));
        }
    }
    EXPECT_LE(valid_until(hold), end);
    EXPECT_GE(valid_until(hold), end - 200ms);
}

TEST(engine_max_hold, a_lease_longer_than_the_hold_may_last_is_clamped_at_once) {
    engine_harness h;
    h.lock("a", {.lease = 30s, .max_hold = 1s});
    h.connect();
    const auto commands = h.sent_commands();
    ASSERT_EQ(commands.size(), 1u);
    EXPECT_LE(std::stol(commands[0].args.at(1)), 1100);
    h.reply(granted());
    EXPECT_LE(valid_until(h.operation_at(0).view), h.now() + 1s);
    EXPECT_GE(valid_until(h.operation_at(0).view), h.now() + 900ms);
}

TEST(engine_max_hold, an_extension_is_sent_even_if_a_look_at_the_last_lease_is_on_its_way) {
    engine_harness h;
    const auto hold = h.grant("a", {.lease = 30s, .max_hold = 3s});
    h.advance(1s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 0)});
    operation& op = h.extend(hold, 1900ms);
    h.reply(array(integer(1)));
    EXPECT_FALSE(op.done()) << "the look extended nothing";
    EXPECT_EQ(h.sent().size(), 1u);
    h.reply(array(integer(1)));
    EXPECT_TRUE(op.ended({}));
    EXPECT_GE(valid_until(hold), h.now() + 1900ms - conch::core::drift_margin(1900ms));
}

TEST(engine_max_hold, an_extension_beyond_it_is_refused) {
    engine_harness h;
    const auto hold = h.grant("a", {.lease = 3s, .max_hold = 5s});
    EXPECT_TRUE(h.extend(hold, 10s).ended(errc::max_hold_reached));
    EXPECT_EQ(h.sent(), lines{});
}

TEST(engine_fixed_lease, is_checked_every_third_of_it_and_its_loss_told) {
    engine_harness h;
    const auto hold = h.grant("a", {.lease = 3s, .renew = false});
    operation& watch = h.wait_lost(hold);
    const auto until = valid_until(hold);
    h.advance(999ms);
    EXPECT_EQ(h.sent(), lines{});
    h.advance(1ms);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 0)});
    h.reply(array(integer(1)));
    EXPECT_EQ(valid_until(hold), until) << "only looked at";
    h.advance(999ms);
    EXPECT_EQ(h.sent(), lines{});
    h.advance(1ms);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 0)});
    h.reply(array(integer(0)));
    EXPECT_TRUE(watch.ended(errc::lock_lost));
    EXPECT_EQ(h.counters().renewals, 0U);
}

TEST(engine_fixed_lease, however_short_does_not_make_others_renew_more_often) {
    engine_harness h;
    h.grant("long", {.lease = 6s});
    h.grant("short", {.lease = 30s, .max_hold = 200ms});
    h.sent();
    for (int i = 0; i < 18; ++i) {
        h.advance(10ms);
        for (const command& c : h.sent_commands()) {
            EXPECT_EQ(c.keys, lines{"short"});
            h.reply(array(integer(1)));
        }
    }
    EXPECT_EQ(h.counters().renewals, 0U);
}

TEST(engine_fixed_lease, ends_with_its_time_whatever_the_checks_are_answered) {
    engine_harness h;
    const auto hold = h.grant("a", {.lease = 3s, .renew = false});
    operation& watch = h.wait_lost(hold);
    for (int i = 0; i < 300 && !watch.done(); ++i) {
        h.advance(10ms);
        if (!watch.done() && !h.sent().empty()) {
            h.reply(array(error("NOPERM this user has no permissions")));
        }
    }
    EXPECT_TRUE(watch.ended(errc::lease_expired));
}

TEST(engine_fixed_lease, of_a_last_lease_the_loss_is_told_too) {
    engine_harness h;
    const auto hold = h.grant("a", {.lease = 30s, .max_hold = 3s});
    operation& watch = h.wait_lost(hold);
    h.advance(1100ms);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 0)});
    h.reply(array(integer(0)));
    EXPECT_TRUE(watch.ended(errc::lock_lost));
}

TEST(engine_extend, it_raises_the_lease_at_once_and_for_the_renewals) {
    engine_harness h;
    const auto hold = h.grant("a");
    h.advance(1s);
    operation& op = h.extend(hold, 60s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 60'000)});
    EXPECT_FALSE(op.done());
    h.reply(array(integer(1)));
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(valid_until(hold), conch::core::lease_end(h.now(), 60s));
    h.advance(20s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 60'000)});
}

TEST(engine_extend, it_never_shortens) {
    engine_harness h;
    const auto hold = h.grant("a");
    const auto before = valid_until(hold);
    operation& op = h.extend(hold, 1s);
    h.reply(array(integer(1)));
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(valid_until(hold), before);
    h.sent();
    h.advance(9999ms);
    EXPECT_EQ(h.sent(), lines{}) << "nor the time between renewals";
    h.advance(1ms);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 30'000)}) << "nor what they ask for";
}

TEST(engine_extend, what_is_left_is_sent_with_a_shorter_lease_for_a_key_that_lost_its_ttl) {
    engine_harness h;
    const auto hold = h.grant("a", {.lease = 39s, .renew = false});
    const auto before = valid_until(hold);
    h.advance(10s);
    h.extend(hold, 1s);
    const auto commands = h.sent_commands();
    ASSERT_EQ(commands.size(), 1u);
    const std::chrono::milliseconds lease{std::stol(commands[0].args.at(1))};
    EXPECT_GE(h.now() + lease, before) << "a stranger's PERSIST doesn't end the hold early";
    EXPECT_LE(h.now() + lease, before + 1s);
    h.reply(array(integer(1)));
    EXPECT_GE(valid_until(hold), before);
    EXPECT_LE(valid_until(hold), before + 1ms);
}

TEST(engine_extend, it_works_on_a_fixed_lease_which_stays_fixed) {
    engine_harness h;
    const auto hold = h.grant("a", {.lease = 3s, .renew = false});
    operation& op = h.extend(hold, 9s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 9000)});
    h.reply(array(integer(1)));
    EXPECT_TRUE(op.ended({}));
    for (int i = 0; i < 8; ++i) {
        h.advance(1s);
        EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 0)}) << "it is only looked at";
        h.reply(array(integer(1)));
    }
    EXPECT_EQ(lost(hold), errc{});
}

TEST(engine_extend, a_refusal_is_told_and_the_hold_stays_as_it_was) {
    engine_harness h;
    const auto hold = h.grant("a", {.lease = 3s, .renew = false});
    const auto before = valid_until(hold);
    operation& op = h.extend(hold, 9s);
    h.reply(error("NOPERM this user has no permissions to run the 'evalsha' command"));
    EXPECT_TRUE(op.ended(errc::permission_denied));
    EXPECT_EQ(valid_until(hold), before);
    EXPECT_EQ(lost(hold), errc{});
}

TEST(engine_extend, a_loss_is_told) {
    engine_harness h;
    const auto hold = h.grant("a", {.lease = 3s, .renew = false});
    operation& op = h.extend(hold, 9s);
    h.reply(array(integer(0)));
    EXPECT_TRUE(op.ended(errc::lock_lost));
}

TEST(engine_extend, the_lease_ends_no_earlier_than_asked_from_the_moment_of_asking) {
    engine_harness h;
    const auto hold = h.grant("a");
    h.advance(10s);  // a renewal is in flight
    h.advance(2s);
    const auto asked = h.now();
    operation& op = h.extend(hold, 30s);
    h.reply(array(integer(1)));
    if (!op.done()) {
        h.reply(array(integer(1)));
    }
    EXPECT_TRUE(op.ended({}));
    EXPECT_GE(valid_until(hold), conch::core::lease_end(asked, 30s));
}

TEST(engine_extend, a_bad_lease_is_refused_without_output) {
    engine_harness h;
    const auto hold = h.grant("a");
    EXPECT_TRUE(h.extend(hold, 0s).ended(errc::invalid_lease));
    EXPECT_TRUE(h.extend(hold, std::chrono::hours{24 * 366}).ended(errc::invalid_lease));
    EXPECT_EQ(h.sent(), lines{});
}

TEST(engine_extend, a_released_hold_can_not_be_extended) {
    engine_harness h;
    const auto hold = h.grant("a");
    operation& op = h.extend(hold, 60s);
    h.release(hold);
    EXPECT_TRUE(op.ended(errc::already_released));
    EXPECT_TRUE(h.extend(hold, 60s).ended(errc::already_released));
}

TEST(engine_detach, it_stops_the_renewals_and_sends_nothing) {
    engine_harness h;
    const auto hold = h.grant("a");
    operation& watch = h.wait_lost(hold);
    h.detach(hold);
    EXPECT_TRUE(watch.ended({}));
    h.advance(60s);
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_EQ(h.counters().slots_now, 0u);
    EXPECT_TRUE(h.unlock(hold).ended(errc::already_released));
}

TEST(engine_detach, the_next_waiter_asks_the_server) {
    engine_harness h;
    const auto hold = h.grant("a");
    h.lock("a");
    h.detach(hold);
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 2)});
}

TEST(engine_detach, a_renewal_in_flight_concerns_nobody_any_more) {
    engine_harness h;
    const auto hold = h.grant("a");
    h.advance(10s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1)});
    h.detach(hold);
    h.reply(array(integer(1)));
    h.advance(60s);
    EXPECT_EQ(h.sent(), lines{});
}

}  // namespace
