// SPDX-License-Identifier: BSL-1.0
// A TTL that is longer than any lease that its hold asked for, as of a stranger or of a server
// whose clock went back: rule 2.
#include "unit/engine/harness.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

constexpr std::int64_t an_hour_ms = 3'600'000;

TEST(engine_long_ttl, one_that_nobody_asked_for_is_lowered_at_once) {
    engine_harness h;
    const auto hold = h.grant("a");
    h.advance(10s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1)});
    h.reply(array(integer(an_hour_ms)));
    const auto renewed = valid_until(hold);
    EXPECT_EQ(renewed, conch::core::lease_end(h.now(), 30s));
    EXPECT_EQ(h.sent(), lines{lower_of("a", 1)}) << "it would outlive its holder";
    h.advance(1s);
    h.reply(array(integer(1)));
    EXPECT_EQ(valid_until(hold), renewed) << "it promises nothing";
    EXPECT_EQ(h.counters().renewals, 1u);
    EXPECT_EQ(h.sent(), lines{});
    h.advance(9s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1)});
}

TEST(engine_long_ttl, a_server_that_does_not_lower_it_is_not_asked_again_before_the_next_renewal) {
    engine_harness h;
    h.grant("a");
    h.advance(10s);
    h.sent();
    h.reply(array(integer(an_hour_ms)));
    EXPECT_EQ(h.sent(), lines{lower_of("a", 1)});
    h.reply(array(integer(an_hour_ms)));
    EXPECT_EQ(h.sent(), lines{});
    h.advance(10s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1)});
    h.reply(array(error("NOPERM no")));
    h.advance(1s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1)}) << "as any renewal that was refused";
}

TEST(engine_long_ttl, of_a_fixed_lease_is_lowered_too) {
    engine_harness h;
    const auto hold = h.grant("a", {.lease = 3s, .renew = false});
    const auto before = valid_until(hold);
    h.advance(1s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 0)});
    h.reply(array(integer(an_hour_ms)));
    EXPECT_EQ(h.sent(), lines{lower_of("a", 1, 3000)});
    h.reply(array(integer(an_hour_ms)));
    EXPECT_EQ(valid_until(hold), before);
}

TEST(engine_long_ttl, the_longest_that_a_server_can_tell_is_no_shorter_than_was_promised) {
    engine_harness h;
    const auto hold = h.grant("a", {.lease = 3s, .renew = false});
    const auto before = valid_until(hold);
    h.advance(1s);
    h.sent();
    h.reply(array(integer(std::numeric_limits<std::int64_t>::max())));
    EXPECT_EQ(h.sent(), lines{lower_of("a", 1, 3000)}) << "and asks for no more";
    EXPECT_EQ(valid_until(hold), before);
}

TEST(engine_long_ttl, what_the_hold_itself_asked_for_once_is_not_too_long) {
    engine_harness h;
    const auto hold = h.grant("a", {.lease = 3s, .renew = false});
    h.extend(hold, 60s);
    h.reply(array(integer(1)));
    h.sent();
    h.advance(1s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 0)});
    h.reply(array(integer(60'000)));
    EXPECT_EQ(h.sent(), lines{}) << "of the longer one its holder was told";
    h.advance(1s);
    h.sent();
    h.reply(array(integer(60'001)));
    EXPECT_EQ(h.sent(), lines{lower_of("a", 1, 60'000)});
}

TEST(engine_long_ttl, an_extension_that_waits_goes_first) {
    engine_harness h;
    const auto hold = h.grant("a");
    h.advance(10s);
    operation& op = h.extend(hold, 60s);
    h.sent();
    h.reply(array(integer(an_hour_ms)));
    EXPECT_FALSE(op.done());
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 60'000)});
    h.reply(array(integer(an_hour_ms)));
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(h.sent(), lines{lower_of("a", 1, 60'000)});
}

// A copy of it may run later, and would shorten what was promised meanwhile.
TEST(engine_long_ttl, behind_a_lost_lowering_no_longer_lease_is_promised) {
    engine_harness h;
    const auto hold = h.grant("a");
    h.advance(10s);
    h.reply(array(integer(an_hour_ms)));
    operation& waiting = h.extend(hold, 60s);
    EXPECT_EQ(h.sent(), (lines{renew_of("a", 1), lower_of("a", 1)}));
    h.break_connection();
    EXPECT_TRUE(waiting.ended(errc::not_connected));
    operation& later = h.extend(hold, 31s);
    EXPECT_TRUE(later.ended(errc::not_connected));
    operation& shorter = h.extend(hold, 29s);
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", renew_of("a", 1)}));
    h.reply(integer(1), array(integer(1)));
    EXPECT_TRUE(shorter.ended({}));
    EXPECT_EQ(valid_until(hold), conch::core::lease_end(h.now(), 30s));
}

TEST(engine_long_ttl, a_lost_lowering_that_can_not_run_any_more_hinders_no_extension) {
    engine_harness h;
    const auto hold = h.grant("a");
    h.advance(10s);
    h.reply(array(integer(an_hour_ms)));
    h.sent();
    h.break_connection();
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", renew_of("a", 1)}));
    operation& too_soon = h.extend(hold, 60s);
    EXPECT_TRUE(too_soon.ended(errc::not_connected));
    h.reply(integer(1), array(integer(1)));
    operation& op = h.extend(hold, 60s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 60'000)});
    h.reply(array(integer(1)));
    EXPECT_TRUE(op.ended({}));
}

}  // namespace
