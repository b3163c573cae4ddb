// SPDX-License-Identifier: BSL-1.0
#include "wait/turns.hpp"

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using conch::time_point;
using conch::lock::turns;

constexpr turns::bounds three{.passes = 3, .time = 100ms};
constexpr time_point start{10s};

struct wait_turns : testing::Test {
    turns t{};

    /// A hold, after which it passes. Returns whether it did.
    bool hold_and_pass(time_point now = start) {
        t.granted(now);
        return t.pass(now, three);
    }
    void owe_a_turn() {
        t.others_wait(true);
        while (hold_and_pass()) {
        }
        ASSERT_TRUE(t.owed());
    }
    /// In which so many releases are heard.
    void turn_of_others(int messages, bool hears_own = false) {
        owe_a_turn();
        t.begin_turn(hears_own);
        for (int i = 0; i < messages; ++i) {
            t.heard_message();
        }
        t.end_turn();
    }
};

TEST_F(wait_turns, a_lock_that_nobody_else_wants_passes_without_end) {
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(hold_and_pass());
    }
    EXPECT_FALSE(t.owed());
}

TEST_F(wait_turns, others_are_owed_a_turn_when_the_passes_are_used_up) {
    t.others_wait(true);
    EXPECT_TRUE(hold_and_pass());
    EXPECT_TRUE(hold_and_pass());
    EXPECT_FALSE(hold_and_pass());
    EXPECT_TRUE(t.owed());
}

TEST_F(wait_turns, others_are_owed_a_turn_when_the_time_is_over) {
    t.others_wait(true);
    t.granted(start);
    EXPECT_FALSE(t.streak_ends(start + 99ms, three));
    EXPECT_TRUE(t.streak_ends(start + 100ms, three));
    EXPECT_FALSE(t.pass(start + 100ms, three));
    EXPECT_TRUE(t.owed());
}

TEST_F(wait_turns, the_time_of_a_streak_counts_from_its_first_grant) {
    t.others_wait(true);
    t.granted(start);
    EXPECT_TRUE(t.pass(start + 60ms, three));
    t.granted(start + 60ms);
    EXPECT_FALSE(t.pass(start + 100ms, three));
}

TEST_F(wait_turns, a_new_streak_has_all_its_passes) {
    t.others_wait(true);
    EXPECT_TRUE(hold_and_pass());
    EXPECT_TRUE(hold_and_pass());
    t.begin_streak();
    EXPECT_TRUE(hold_and_pass());
    EXPECT_TRUE(hold_and_pass());
    EXPECT_FALSE(hold_and_pass());
}

TEST_F(wait_turns, a_turn_that_was_cut_short_is_still_owed) {
    owe_a_turn();
    t.begin_turn(false);
    EXPECT_TRUE(t.owed());
}

TEST_F(wait_turns, a_turn_that_is_owed_early_begins_a_new_streak) {
    t.others_wait(true);
    EXPECT_TRUE(hold_and_pass());
    EXPECT_TRUE(hold_and_pass());
    t.owe();
    EXPECT_TRUE(t.owed());
    t.begin_turn(false);
    t.end_turn();
    EXPECT_TRUE(hold_and_pass());
    EXPECT_TRUE(hold_and_pass());
    EXPECT_FALSE(hold_and_pass());
}

TEST_F(wait_turns, a_turn_is_over_once) {
    turn_of_others(0);
    EXPECT_FALSE(t.owed());
}

TEST_F(wait_turns, a_turn_without_a_release_by_others_is_unused_if_we_get_the_lock) {
    turn_of_others(0);
    EXPECT_EQ(t.unused(), 0U) << "others may have it";
    t.granted(start);
    EXPECT_EQ(t.unused(), 1U);
    t.granted(start);
    EXPECT_EQ(t.unused(), 1U) << "counted once";
}

TEST_F(wait_turns, our_own_release_is_none_by_others) {
    turn_of_others(1, true);
    t.granted(start);
    EXPECT_EQ(t.unused(), 1U);
    turn_of_others(2, true);
    t.granted(start);
    EXPECT_EQ(t.unused(), 0U);
}

TEST_F(wait_turns, a_turn_in_which_others_took_the_lock_is_used) {
    turn_of_others(0);
    t.granted(start);
    turn_of_others(1);
    EXPECT_EQ(t.unused(), 0U);
}

TEST_F(wait_turns, a_lock_that_others_have_was_no_unused_turn) {
    turn_of_others(0);
    t.granted(start);
    turn_of_others(0);
    t.busy();
    EXPECT_EQ(t.unused(), 0U);
    t.granted(start);
    EXPECT_EQ(t.unused(), 0U);
}

TEST_F(wait_turns, a_turn_after_which_nobody_else_waits_is_not_counted) {
    turn_of_others(0);
    t.others_wait(false);
    t.granted(start);
    EXPECT_EQ(t.unused(), 0U);
}

TEST_F(wait_turns, unused_turns_are_counted_to_seven) {
    for (int i = 0; i < 9; ++i) {
        turn_of_others(0);
    }
    t.granted(start);
    EXPECT_EQ(t.unused(), 7U);
}

}  // namespace
