// SPDX-License-Identifier: BSL-1.0
// Permits with leases: several holders, waiters in their order, of whom the first asks.
#include "unit/engine/permits_fixture.hpp"

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;
using conch::lock_options;
using conch::impl::view_ptr;

TEST_F(engine_permits, are_taken_under_ids_of_their_own_and_given_back) {
    operation& op = take(3);
    h.connect();
    EXPECT_EQ(h.sent(), lines{take_of(1, 3)});
    h.reply(granted);
    ASSERT_TRUE(op.granted());
    operation& done = h.unlock(op.view);
    EXPECT_EQ(h.sent(), lines{give_of(1, 3)});
    h.reply(integer(0));
    EXPECT_TRUE(done.ended({}));
}

TEST_F(engine_permits, are_asked_for_beside_a_hold_of_the_same_client) {
    held(1);
    operation& second = take(1);
    EXPECT_EQ(h.sent(), lines{take_of(2, 1)}) << "no ride on another's";
    h.reply(granted);
    EXPECT_TRUE(second.granted());
}

TEST_F(engine_permits, do_not_pass_from_one_holder_to_the_next) {
    const view_ptr first = held(1);
    operation& next = waiting(1, 2);
    h.release(first);
    EXPECT_EQ(h.sent(), lines{give_of(1, 1)}) << "the message tells all clients";
    h.reply(message, integer(1));
    EXPECT_EQ(h.sent(), lines{take_of(4, 1)});
    h.reply(granted);
    EXPECT_TRUE(next.granted());
}

TEST_F(engine_permits, only_the_first_waiter_asks) {
    held(1);
    operation& large = waiting(3, 2);
    operation& small = take(1);
    EXPECT_EQ(h.sent(), lines{});
    h.reply(message);
    EXPECT_EQ(h.sent(), lines{take_of(4, 3)});
    h.reply(granted);
    EXPECT_TRUE(large.granted());
    EXPECT_EQ(h.sent(), lines{take_of(5, 1)});
    h.reply(granted);
    EXPECT_TRUE(small.granted());
}

TEST_F(engine_permits, a_try_does_not_overtake_who_waits) {
    held(1);
    waiting(3, 2);
    EXPECT_TRUE(try_take(1).ended({}));
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_permits, tries_that_come_together_each_get_an_answer) {
    operation& first = try_take(2);
    operation& second = try_take(1);
    operation& third = try_take(3);
    h.connect();
    h.sent();
    h.reply(busy, another_first, another_first);
    EXPECT_TRUE(first.ended({}));
    EXPECT_TRUE(third.ended({})) << "it wants no less";
    EXPECT_EQ(h.sent(), lines{take_of(4, 1)});
    h.reply(granted);
    EXPECT_TRUE(second.granted());
}

TEST_F(engine_permits, who_comes_first_since_another_gave_up_asks_at_once) {
    held(1);
    operation& large = waiting(3, 2);
    operation& small = take(1);
    h.cancel(large);
    EXPECT_EQ(h.sent(), lines{take_of(4, 1)});
    h.reply(granted);
    EXPECT_TRUE(small.granted());
}

TEST_F(engine_permits, a_try_for_another_number_is_not_inherited) {
    held(1);
    operation& three = waiting(3, 2);
    operation& one = take(1);
    h.reply(message);
    EXPECT_EQ(h.sent(), lines{take_of(4, 3)});
    h.cancel(three);
    EXPECT_EQ(h.sent(), lines{take_of(5, 1)});
    h.reply(granted);
    EXPECT_EQ(h.sent(), lines{give_of(4, 3)});
    h.reply(granted, integer(0));
    EXPECT_TRUE(one.granted());
}

TEST_F(engine_permits, are_asked_for_when_the_next_lease_ends) {
    operation& op = take(2);
    h.connect();
    h.sent();
    h.reply(integer(40));
    h.sent();
    h.reply(subscribed, integer(40));
    h.advance(39ms);
    EXPECT_EQ(h.sent(), lines{});
    h.advance(3ms);
    EXPECT_EQ(h.sent(), lines{take_of(3, 2)});
    h.reply(granted);
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_permits, several_holds_are_renewed_by_one_script) {
    held(1);
    operation& second = take(2);
    h.sent();
    h.reply(granted);
    EXPECT_TRUE(second.granted());
    h.advance(10s);
    EXPECT_EQ(h.sent(), lines{"permits_renew {a}:timeout {a}:timeout " + renew_of_permits(1, 1) +
                              " " + renew_of_permits(2, 2)});
    h.reply(array(integer(0), integer(1)));
    EXPECT_EQ(h.operation_at(0).view->lost.load(), static_cast<int>(errc::lock_lost));
    EXPECT_EQ(second.view->lost.load(), 0);
}

TEST_F(engine_permits, of_several_the_others_are_given_back_when_one_is_lost) {
    const view_ptr view = held(3);
    h.advance(10s);
    EXPECT_EQ(h.sent(), lines{"permits_renew {a}:timeout " + renew_of_permits(1, 3)});
    h.reply(array(integer(0)));
    EXPECT_EQ(view->lost.load(), static_cast<int>(errc::lock_lost));
    EXPECT_EQ(h.sent(), lines{give_of(1, 3)});
    h.reply(integer(-1));
    h.advance(1min);
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_permits, one_script_renews_no_more_than_a_thousand) {
    held(600);
    for (int n = 2; n <= 3; ++n) {
        operation& more = take(n == 2 ? 500 : 400);
        h.sent();
        h.reply(granted);
        EXPECT_TRUE(more.granted());
    }
    h.advance(10s);
    EXPECT_EQ(h.sent(), (lines{"permits_renew {a}:timeout {a}:timeout " + renew_of_permits(1, 600) +
                                   " " + renew_of_permits(3, 400),
                               "permits_renew {a}:timeout " + renew_of_permits(2, 500)}));
    h.reply(array(integer(1), integer(1)), array(integer(1)));
}

TEST_F(engine_permits, who_has_no_answer_in_time_waits_a_little_more) {
    const lock_options soon{.wait = 20ms};
    operation& first = take(1, soon);
    operation& second = take(1, soon);
    operation& third = take(1, soon);
    h.connect();
    h.advance(25ms);
    EXPECT_FALSE(first.done() || second.done() || third.done());
    h.reply(granted);
    EXPECT_TRUE(first.granted());
    h.reply(granted);
    EXPECT_TRUE(second.granted());
    h.advance(100ms);
    EXPECT_TRUE(third.ended(errc::not_connected)) << "it asked, and had no answer";
}

TEST_F(engine_permits, behind_one_who_waits_nobody_has_more_time_than_it_asked_for) {
    held(1);
    waiting(1, 2);
    operation& second = take(1, {.wait = 20ms});
    h.advance(20ms);
    EXPECT_TRUE(second.ended(errc::timed_out));
}

TEST_F(engine_permits, a_message_calls_for_no_look_at_the_holds) {
    held(1);
    waiting(1, 2);
    h.reply(message);
    EXPECT_EQ(h.sent(), lines{take_of(4, 1)});
    h.reply(busy);
}

TEST_F(engine_permits, more_than_there_are_is_an_error) {
    operation& many = take(9);
    operation& one = take(1);
    h.connect();
    h.sent();
    h.reply(error("TOOFEW the semaphore has not so many permits"), another_first);
    EXPECT_TRUE(many.ended(errc::invalid_permits));
    EXPECT_EQ(h.sent(), lines{take_of(3, 1)}) << "the next has its turn";
    h.reply(granted);
    EXPECT_TRUE(one.granted());
    EXPECT_TRUE(take(0).ended(errc::invalid_permits));
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_permits, a_lost_acquire_is_repeated_with_the_same_ids) {
    operation& op = take(2);
    h.connect();
    EXPECT_EQ(h.sent(), lines{take_of(1, 2)});
    h.break_connection();
    h.connect(2, "2222");
    EXPECT_EQ(h.sent().back(), take_of(1, 2));
    h.reply(granted);
    EXPECT_TRUE(op.granted());
}

}  // namespace
