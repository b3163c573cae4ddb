// SPDX-License-Identifier: BSL-1.0
// When the waiters of a read-write lock have to ask for it: what the checker of that goes by.
#include "sim/check/opening.hpp"

#include <gtest/gtest.h>

namespace {

using namespace conch::sim;

constexpr instant poll = 100;

TEST(opening_test, who_is_told_knows_at_once_and_others_a_poll_later) {
    opening o;
    EXPECT_TRUE(o.open()) << "nobody has had it yet";
    EXPECT_EQ(o.known_at(), 0);
    o.look(false, false, 10, poll);
    EXPECT_FALSE(o.open());
    o.look(true, true, 20, poll);
    EXPECT_EQ(o.since(), 20);
    EXPECT_EQ(o.known_at(), 20);
    o.look(false, false, 30, poll);
    o.look(true, false, 40, poll);
    EXPECT_EQ(o.since(), 40);
    EXPECT_EQ(o.known_at(), 140);
}

TEST(opening_test, it_opens_once) {
    opening o;
    o.look(false, false, 10, poll);
    o.look(true, false, 20, poll);
    o.look(true, false, 30, poll);
    o.look(true, true, 40, poll);
    EXPECT_EQ(o.since(), 20);
    EXPECT_EQ(o.known_at(), 120);
}

TEST(opening_test, a_waiter_is_due_when_it_knows_and_has_asked_and_nothing_blocks_it_here) {
    opening o;
    o.look(false, false, 10, poll);
    o.look(true, true, 500, poll);
    front f{.since = 450};
    EXPECT_EQ(f.due(o, poll), 550) << "it has yet to ask";
    f.answered_at = 460;
    EXPECT_EQ(f.due(o, poll), 500);
    f.answered_at = 510;
    EXPECT_EQ(f.due(o, poll), 510);
    f.blocked_at = 700;
    EXPECT_EQ(f.due(o, poll), 700);
}

}  // namespace
