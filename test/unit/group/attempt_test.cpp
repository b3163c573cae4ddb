// SPDX-License-Identifier: BSL-1.0
// How a majority is asked for the lock, and what is given back.
#include "unit/group/harness.hpp"

namespace {

using namespace conch;
using namespace conch::test;

struct group_attempt_test : group_test {};
struct group_of_five_test : group_test {
    group_of_five_test() : group_test{5} {}
};

TEST_F(group_attempt_test, all_are_asked_at_once_and_a_majority_is_a_grant) {
    caller a;
    EXPECT_EQ(lock(a), (words{"try 0", "try 1", "try 2"}));
    EXPECT_EQ(grant(1), nothing);
    EXPECT_FALSE(ended(a));
    EXPECT_EQ(grant(0), (words{"watch 0", "watch 1"}));
    ASSERT_TRUE(ended(a));
    EXPECT_FALSE(a.ec);
    ASSERT_TRUE(a.hold);
}

TEST_F(group_attempt_test, it_lasts_until_the_first_of_the_majority_that_lasts_longest_ends) {
    caller a;
    lock(a);
    grant(0, 5s);
    grant(1, 9s);
    ASSERT_TRUE(ended(a));
    EXPECT_EQ(until(a), now + 5s);
    grant(2, 7s);
    EXPECT_EQ(until(a), now + 7s) << "of 9 s, 7 s and 5 s two last so long";
}

TEST_F(group_attempt_test, one_that_answers_late_joins_the_hold) {
    caller a;
    lock(a);
    grant(0);
    grant(2);
    ASSERT_TRUE(ended(a));
    EXPECT_EQ(grant(1), (words{"watch 1"}));
}

TEST_F(group_attempt_test, one_that_answers_after_it_was_given_up_gets_it_back) {
    caller a;
    lock(a);
    grant(0);
    grant(2);
    EXPECT_EQ(pass(patience + 2ms), (words{"withdraw try 1"}));
    EXPECT_EQ(grant(1), (words{"release 1"}));
}

TEST_F(group_attempt_test, what_comes_when_its_limit_has_passed_unseen_still_counts) {
    caller a;
    lock(a);
    grant(0);
    now += 10 * patience;  // the loop was busy
    grant(1);
    EXPECT_TRUE(ended(a));
    EXPECT_TRUE(a.hold);
}

TEST_F(group_attempt_test, a_try_that_a_majority_refuses_gives_back_what_it_got) {
    caller a;
    try_lock(a);
    EXPECT_EQ(refuse(0), nothing);
    EXPECT_EQ(grant(1), nothing);
    EXPECT_EQ(refuse(2), (words{"release 1"}));
    ASSERT_TRUE(ended(a));
    EXPECT_FALSE(a.ec);
    EXPECT_FALSE(a.hold);
}

TEST_F(group_of_five_test, what_is_granted_behind_the_refusal_is_given_back_too) {
    caller a;
    try_lock(a);
    refuse(0);
    refuse(1);
    EXPECT_EQ(refuse(2), (words{"withdraw try 3", "withdraw try 4"}));
    EXPECT_TRUE(ended(a));
    EXPECT_EQ(grant(4), (words{"release 4"}));
    EXPECT_EQ(answer("try", 3, {.ec = canceled()}), nothing);
    EXPECT_EQ(under_test->open_questions(), 0u);
}

TEST_F(group_attempt_test, who_has_the_first_is_given_a_little_more_the_other_is_not) {
    caller first;
    try_lock(first);
    grant(0);
    refuse(1);
    EXPECT_EQ(refuse(2), (words{"try 1", "try 2"}));
    EXPECT_EQ(asked_for("try").wait, patience) << "the other gives way meanwhile";
    EXPECT_EQ(grant(2), (words{"watch 0", "watch 2"}));
    EXPECT_TRUE(ended(first));
    EXPECT_TRUE(first.hold);
}

TEST_F(group_attempt_test, a_refused_one_waits_at_the_first_that_answered_and_then_asks_the_rest) {
    caller a;
    lock(a);
    refuse(0);
    EXPECT_EQ(refuse(1), (words{"withdraw try 2", "try 0"}));
    EXPECT_GE(*asked_for("try").wait, 250ms) << "in line, woken by push";
    EXPECT_EQ(grant(0), (words{"try 1", "try 2"}));
    EXPECT_EQ(grant(1), (words{"watch 0", "watch 1"}));
    EXPECT_TRUE(ended(a));
}

TEST_F(group_attempt_test, it_gives_all_back_before_it_waits) {
    caller a;
    lock(a);
    refuse(0);
    grant(1);
    EXPECT_EQ(refuse(2), (words{"release 1", "try 0"}));
}

TEST_F(group_attempt_test, whose_line_is_over_asks_all_again) {
    caller a;
    lock(a);
    refuse(0);
    refuse(1);
    EXPECT_EQ(answer("try", 0, {.ec = errc::timed_out}), (words{"try 0", "try 1", "try 2"}));
}

TEST_F(group_attempt_test, an_unreachable_majority_is_asked_again_after_a_pause) {
    caller a;
    lock(a);
    grant(0);
    EXPECT_EQ(fail(1, errc::not_connected), nothing);
    EXPECT_EQ(fail(2, errc::not_connected), (words{"release 0"}));
    const words later = pass(2 * patience);
    EXPECT_EQ(words(later.begin(), later.begin() + 3), (words{"try 0", "try 1", "try 2"}));
    EXPECT_FALSE(ended(a));
}

TEST_F(group_attempt_test, a_majority_that_is_away_ends_the_call_after_operation_timeout) {
    caller a;
    lock(a);
    pass(settings.operation_timeout + 20 * patience);
    ASSERT_TRUE(ended(a));
    EXPECT_EQ(a.ec, errc::not_connected);
}

TEST_F(group_attempt_test, errors_that_leave_no_majority_end_it) {
    caller a;
    lock(a);
    fail(0, errc::wrong_type);
    grant(1);
    EXPECT_EQ(fail(2, errc::wrong_type), (words{"release 1"}));
    ASSERT_TRUE(ended(a));
    EXPECT_EQ(a.ec, errc::wrong_type);
}

TEST_F(group_attempt_test, what_is_over_before_the_majority_is_there_is_no_grant) {
    caller a;
    lock(a, {.lease = 100ms});
    grant(0, 20ms);
    now += 30ms;
    grant(1, 20ms);
    EXPECT_FALSE(ended(a));
}

TEST_F(group_attempt_test, a_wait_that_is_over_is_timed_out) {
    caller a;
    lock(a, {.wait = 30ms});
    refuse(0);
    refuse(1);
    pass(30ms);
    answer("try", 0, {.ec = errc::timed_out});
    ASSERT_TRUE(ended(a));
    EXPECT_EQ(a.ec, errc::timed_out);
}

TEST_F(group_attempt_test, bad_options_are_refused_before_anything_is_asked) {
    caller a;
    EXPECT_EQ(lock(a, {.lease = 1ms}), nothing);
    ASSERT_TRUE(ended(a));
    EXPECT_EQ(a.ec, errc::invalid_lease);
    caller b;
    EXPECT_EQ(turn([&] { under_test->acquire({}, false, &b, 7); }), nothing);
    ASSERT_TRUE(ended(b));
    EXPECT_EQ(b.ec, errc::invalid_owner);
}

TEST_F(group_attempt_test, nobody_there_to_be_asked_is_no_refusal) {
    caller a;
    try_lock(a);
    EXPECT_EQ(answer("try", 0, {.said = impl::remark::unasked}), nothing);
    EXPECT_EQ(pass(patience / 10), (words{"try 0"}));
    grant(0);
    grant(1);
    EXPECT_TRUE(ended(a));
    EXPECT_TRUE(a.hold);
}

// What it has is released, what it asked for is withdrawn, at whatever point.
TEST_F(group_attempt_test, canceled_at_each_point_it_leaves_nothing) {
    const std::vector<std::vector<const char*>> ways{
        {},
        {"grant 0"},
        {"refuse 0"},
        {"refuse 0", "refuse 1"},                         // in line
        {"refuse 0", "refuse 1", "grant 0"},              // settling
        {"grant 0", "refuse 1", "refuse 2"},              // settling at once
        {"grant 0", "refuse 1", "refuse 2", "refuse 1"},  // still
        {"silent 1", "silent 2"},                         // pausing
        {"grant 0", "silent 1", "silent 2"},
    };
    for (const auto& way : ways) {
        caller a;
        words all = lock(a);
        for (const std::string step : way) {
            const std::size_t member = static_cast<std::size_t>(step.back() - '0');
            const words more = step.starts_with("grant")    ? grant(member)
                               : step.starts_with("refuse") ? refuse(member)
                                                            : fail(member, errc::not_connected);
            all.insert(all.end(), more.begin(), more.end());
        }
        const words last = cancel(a);
        all.insert(all.end(), last.begin(), last.end());
        ASSERT_TRUE(ended(a));
        EXPECT_EQ(a.ec, canceled());
        const auto granted = std::count_if(
            way.begin(), way.end(), [](const std::string s) { return s.starts_with("grant"); });
        EXPECT_EQ(std::count_if(all.begin(), all.end(),
                                [](const std::string& s) { return s.starts_with("release"); }),
                  granted)
            << testing::PrintToString(way);
        EXPECT_EQ(under_test->next_deadline(), time_point::max());
        for (const std::string& q : open_questions("try")) {
            EXPECT_NE(std::find(all.begin(), all.end(), "withdraw " + q), all.end()) << q;
        }
        EXPECT_EQ(answer_all("try", {.ec = canceled()}), nothing);
        EXPECT_EQ(under_test->open_questions(), 0u);
        EXPECT_EQ(under_test->open_tasks(), 0u);
    }
}

TEST_F(group_attempt_test, what_is_on_its_way_ends_when_the_group_does) {
    caller a;
    lock(a);
    under_test->close();
    ASSERT_TRUE(ended(a));
    EXPECT_EQ(a.ec, errc::client_closed);
}

}  // namespace
