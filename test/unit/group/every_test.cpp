// SPDX-License-Identifier: BSL-1.0
// Several locks as one: all are held, or none.
#include "unit/group/harness.hpp"

namespace {

using namespace conch;
using namespace conch::test;

struct every_member_test : group_test {
    every_member_test() : group_test{3, group::terms::every(3, 5s)} {}

    void hold_all(caller& c) {
        lock(c);
        grant(0);
        grant(1);
        grant(2);
        ASSERT_TRUE(ended(c));
        ASSERT_TRUE(c.hold);
    }
};

TEST_F(every_member_test, all_are_asked_at_once_and_all_grants_are_a_grant) {
    caller a;
    EXPECT_EQ(lock(a), (words{"try 0", "try 1", "try 2"}));
    EXPECT_EQ(grant(2), nothing);
    EXPECT_EQ(grant(0), nothing);
    EXPECT_FALSE(ended(a));
    EXPECT_EQ(grant(1), (words{"watch 0", "watch 1", "watch 2"}));
    ASSERT_TRUE(ended(a));
    EXPECT_TRUE(a.hold);
}

TEST_F(every_member_test, it_lasts_as_long_as_the_first_to_end) {
    caller a;
    lock(a);
    grant(0, 9s);
    grant(1, 5s);
    grant(2, 7s);
    ASSERT_TRUE(ended(a));
    EXPECT_EQ(until(a), now + 5s);
}

TEST_F(every_member_test, a_try_that_one_refuses_keeps_none_and_asks_no_more) {
    caller a;
    try_lock(a);
    grant(2);
    EXPECT_EQ(refuse(1), (words{"withdraw try 0", "release 2"})) << "whatever the first will say";
    ASSERT_TRUE(ended(a));
    EXPECT_FALSE(a.ec);
    EXPECT_FALSE(a.hold);
    EXPECT_EQ(grant(0), (words{"release 0"}));
    EXPECT_EQ(pass(1h), nothing);
}

TEST_F(every_member_test, who_waits_has_nothing_while_it_stands_at_the_one_that_was_busy) {
    caller a;
    lock(a);
    grant(0);
    grant(2);
    EXPECT_EQ(refuse(1), (words{"release 0", "release 2", "try 1"}));
    EXPECT_GE(*asked_for("try").wait, 5s) << "in line, woken by push";
    EXPECT_EQ(grant(1), (words{"try 0", "try 2"}));
    EXPECT_GE(*asked_for("try").wait, 25ms) << "others may pass the rest on just now";
    EXPECT_LE(*asked_for("try").wait, 50ms) << "it has one, and others wait for that";
    grant(2);
    grant(0);
    EXPECT_TRUE(ended(a));
    EXPECT_TRUE(a.hold);
}

TEST_F(every_member_test, two_that_take_them_from_each_other_pause_for_different_times) {
    caller a;
    lock(a);
    grant(1);
    grant(2);
    refuse(0);
    grant(0);  // in line
    duration before{};
    for (int round = 0; round < 3; ++round) {
        grant(2);
        EXPECT_EQ(refuse(1), (words{"release 0", "release 2"}));
        const duration pause = under_test->next_deadline() - now;
        EXPECT_GE(pause, 5ms * (1 << round));
        EXPECT_LE(pause, 10ms * (1 << round));
        EXPECT_NE(pause, before);
        before = pause;
        EXPECT_EQ(pass(pause), (words{"try 0", "try 1", "try 2"}));
        grant(1);
        grant(2);
        EXPECT_EQ(refuse(0), (words{"release 1", "release 2", "try 0"}));
        grant(0);
    }
}

TEST_F(every_member_test, whose_wait_is_over_has_none) {
    caller a;
    lock(a, {.wait = 2s});
    grant(1);
    grant(2);
    refuse(0);
    EXPECT_LE(*asked_for("try").wait, 2s);
    now += 2s;
    EXPECT_EQ(refuse(0), nothing);
    ASSERT_TRUE(ended(a));
    EXPECT_EQ(a.ec, errc::timed_out);
}

TEST_F(every_member_test, one_that_does_not_answer_is_no_timeout) {
    caller a;
    try_lock(a);
    grant(0);
    grant(1);
    EXPECT_EQ(pass(1s + 2ms), (words{"withdraw try 2", "release 0", "release 1"}));
    ASSERT_TRUE(ended(a));
    EXPECT_EQ(a.ec, errc::not_connected);
    EXPECT_EQ(grant(2), (words{"release 2"}));
}

TEST_F(every_member_test, grants_of_which_one_is_over_by_then_are_tried_again) {
    caller a;
    lock(a);
    grant(0, 5ms);
    now += 10ms;
    grant(1);
    EXPECT_EQ(grant(2), (words{"release 0", "release 1", "release 2"}));
    EXPECT_FALSE(ended(a));
    EXPECT_EQ(pass(10ms), (words{"try 0", "try 1", "try 2"}));
}

TEST_F(every_member_test, an_error_of_one_is_that_of_all) {
    caller a;
    lock(a);
    grant(0);
    EXPECT_EQ(fail(1, errc::wrong_type), (words{"withdraw try 2", "release 0"}));
    ASSERT_TRUE(ended(a));
    EXPECT_EQ(a.ec, errc::wrong_type);
}

TEST_F(every_member_test, who_gives_up_leaves_nothing) {
    caller a;
    lock(a);
    grant(1);
    EXPECT_EQ(cancel(a), (words{"withdraw try 0", "withdraw try 2", "release 1"}));
    EXPECT_TRUE(ended(a));
    EXPECT_EQ(grant(0), (words{"release 0"}));
    answer("try", 2, {.ec = canceled()});
    EXPECT_EQ(under_test->open_questions(), 0u);
    EXPECT_EQ(under_test->open_tasks(), 0u);
}

TEST_F(every_member_test, one_lost_is_all_lost_and_the_rest_is_released) {
    caller a;
    hold_all(a);
    caller loss;
    watch(loss, a.hold);
    EXPECT_EQ(answer("watch", 1, {.ec = errc::lock_lost}),
              (words{"release 1", "release 0", "release 2", "withdraw tell 0", "withdraw tell 1",
                     "withdraw tell 2"}));
    ASSERT_TRUE(ended(loss));
    EXPECT_EQ(loss.ec, errc::lock_lost);
    EXPECT_EQ(pass(1h), nothing) << "nothing is asked for anew";
}

TEST_F(every_member_test, an_unlock_is_confirmed_by_all) {
    caller a;
    hold_all(a);
    caller unlock;
    EXPECT_EQ(turn([&] { under_test->unlock(a.hold, &unlock); }),
              (words{"unlock 0", "unlock 1", "unlock 2"}));
    answer("unlock", 2, {});
    answer("unlock", 0, {});
    EXPECT_FALSE(ended(unlock));
    answer("unlock", 1, {});
    ASSERT_TRUE(ended(unlock));
    EXPECT_FALSE(unlock.ec);
}

TEST_F(every_member_test, an_unlock_that_one_refuses_tells_why) {
    caller a;
    hold_all(a);
    caller unlock;
    turn([&] { under_test->unlock(a.hold, &unlock); });
    answer("unlock", 0, {});
    answer("unlock", 1, {.ec = errc::lock_lost});
    ASSERT_TRUE(ended(unlock));
    EXPECT_EQ(unlock.ec, errc::lock_lost);
}

TEST_F(every_member_test, it_is_free_if_all_are) {
    caller c;
    lock_status told;
    turn([&] { under_test->status({}, &c, &told); });
    answer("status", 0, {});
    answer("status", 1, {});
    EXPECT_FALSE(ended(c));
    lock_status locked;
    locked.locked = true;
    locked.holder = "somebody";
    answer("status", 2, {.status = locked});
    ASSERT_TRUE(ended(c));
    EXPECT_TRUE(told.locked);
    EXPECT_EQ(told.holder, "somebody");
}

}  // namespace
