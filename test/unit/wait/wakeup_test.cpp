// SPDX-License-Identifier: BSL-1.0
#include "wait/wakeup.hpp"

#include <gtest/gtest.h>

namespace {

using conch::lock::wake;
using conch::lock::wakeup;

struct wait_wakeup : testing::Test {
    wakeup w{};

    void busy_try(bool elsewhere = false) {
        w.try_began();
        w.try_was_busy(elsewhere);
    }
};

TEST_F(wait_wakeup, nothing_is_a_reason_at_first) { EXPECT_FALSE(w.pending()); }

TEST_F(wait_wakeup, a_message_is_a_reason_until_a_try_is_answered) {
    w.add(wake::message);
    EXPECT_TRUE(w.pending());
    EXPECT_EQ(w.first(), wake::message);
    w.try_began();
    EXPECT_TRUE(w.pending()) << "it is not answered";
    w.try_was_busy(false);
    EXPECT_FALSE(w.pending());
}

TEST_F(wait_wakeup, a_message_before_the_answer_is_answered_by_it) {
    w.try_began();
    w.add(wake::message);
    w.try_was_busy(false);
    EXPECT_FALSE(w.pending());
}

TEST_F(wait_wakeup, a_message_of_another_server_than_the_one_that_answered_stays) {
    w.try_began();
    w.add(wake::message);
    w.try_was_busy(true);
    EXPECT_TRUE(w.pending());
}

TEST_F(wait_wakeup, a_message_before_a_try_at_another_server_is_answered) {
    w.add(wake::message);
    busy_try(true);
    EXPECT_FALSE(w.pending());
}

TEST_F(wait_wakeup, the_last_reason_is_told) {
    w.add(wake::message);
    w.add(wake::news);
    EXPECT_EQ(w.first(), wake::news);
}

TEST_F(wait_wakeup, a_head_without_a_try_is_a_reason_until_one_begins) {
    for (const wake why : {wake::head, wake::overdue}) {
        w.add(why);
        EXPECT_TRUE(w.pending());
        EXPECT_EQ(w.first(), wake::head);
        w.try_began();
        EXPECT_FALSE(w.pending());
    }
}

TEST_F(wait_wakeup, a_head_that_comes_during_a_try_stays_a_reason) {
    w.try_began();
    w.add(wake::head);
    w.try_was_busy(false);
    EXPECT_TRUE(w.pending());
}

}  // namespace
