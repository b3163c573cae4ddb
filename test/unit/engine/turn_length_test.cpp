// SPDX-License-Identifier: BSL-1.0
// How long others have their turn: as long as their way to the server may be.
#include "unit/engine/harness.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;

/// Three wait here, and others too, who have their turn after each hold.
class engine_turn_length : public testing::Test {
protected:
    /// The first two have had the lock, whose grants took so long: the turn of others begins.
    static void begin_turn(engine_harness& h, conch::duration first, conch::duration second) {
        operation& a = h.lock("a");
        operation& b = h.lock("a");
        h.lock("a");
        h.connect();
        h.advance(first);
        h.reply(granted());
        h.release(a.view);
        h.sent();
        h.advance(second);
        h.reply(integer(2), granted());
        ASSERT_TRUE(b.granted());
        h.release(b.view);
        h.sent();
    }
    static conch::config one_pass() {
        conch::config c = quiet();
        c.max_passes = 1;
        return c;
    }
};

TEST_F(engine_turn_length, is_some_round_trips_on_a_slow_network) {
    for (const conch::duration round_trip : {8ms, 150ms}) {
        engine_harness h{one_pass()};
        begin_turn(h, round_trip, round_trip);
        h.advance(round_trip * 23 / 8);
        EXPECT_EQ(h.sent(), lines{}) << "another client's try takes one round trip";
        h.advance(round_trip * 9 / 8);
        EXPECT_EQ(h.sent(), lines{acquire_of("a", 3)}) << "four at most";
    }
}

TEST_F(engine_turn_length, is_not_that_of_one_slow_answer) {
    engine_harness h{one_pass()};
    begin_turn(h, 1ms, 800ms);
    h.advance(8ms);
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 3)}) << "four times twice what was usual";
}

}  // namespace
