// SPDX-License-Identifier: BSL-1.0
// A waiter of a fair lock whose connection breaks: its place, and what copies of its tries may do.
#include "unit/engine/fair.hpp"

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

TEST_F(engine_fair, a_place_outlives_the_connection) {
    operation& op = first_waiter();
    h.break_connection();
    h.connect(2, "2222");
    EXPECT_EQ(h.sent(), (lines{listen_of(1)}));
    h.reply(listening(1));
    EXPECT_EQ(h.sent(), lines{ask_of(1, 3)}) << "with the same field";
    h.reply(granted());
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_fair, a_lost_try_is_made_again_and_what_it_may_leave_behind_is_released) {
    operation& op = first_waiter();
    h.advance(1200ms);
    h.sent();
    h.break_connection();
    h.connect(2, "2222");
    h.sent();
    h.reply(listening(1), busy(5000));
    h.sent();
    h.reply(told(1, "0:30000:4"));
    ASSERT_TRUE(op.granted());
    h.reply(not_listening(1));
    h.sent();
    h.release(op.view);
    EXPECT_EQ(h.sent(), lines{fair_end_of(1)});
    h.reply(integer(0));
}

TEST_F(engine_fair, a_lost_copy_of_a_try_is_remembered_over_the_tries_that_follow) {
    operation& op = first_waiter();
    h.advance(1200ms);
    h.sent();
    h.break_connection();
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", listen_of(1), ask_of(1, 4)}));
    h.reply(error("NOPERM this user has no permissions"), listening(1), busy(5000));
    h.advance(1200ms);
    EXPECT_EQ(h.sent(), lines{ask_of(1, 5)});
    h.reply(busy(4000));
    h.reply(told(1, "0:30000:5"));
    ASSERT_TRUE(op.granted());
    h.reply(not_listening(1));
    h.release(op.view);
    h.sent();
    h.reply(integer(0));
    h.advance(100ms);
    EXPECT_EQ(h.sent(), lines{fair_end_of(1)}) << "the old connection may still bring it";
    h.reply(integer(-1));
}

TEST_F(engine_fair, a_lost_copy_of_a_try_may_have_a_place_when_the_lock_is_lost) {
    operation& op = first_waiter();
    h.advance(1200ms);
    h.sent();
    h.break_connection();
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", listen_of(1), ask_of(1, 4)}));
    h.reply(integer(1), listening(1), granted());
    ASSERT_TRUE(op.granted());
    h.reply(not_listening(1));
    h.sent();
    h.advance(10s);
    h.sent();
    h.reply(array(integer(0)));
    EXPECT_EQ(lost(op.view), errc::lock_lost);
    EXPECT_EQ(h.sent(), lines{fair_end_of(1)});
    h.reply(integer(-1));
    h.advance(1min);
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_fair, a_hold_that_was_taken_away_is_told_when_its_client_is_given_the_lock) {
    const view_ptr older = holder({.renew = false});
    operation& next = lock();
    h.reply(busy(9000));
    h.reply(listening(2), busy(9000));
    h.sent();
    h.reply(told(2, "0:30000:2"));
    ASSERT_TRUE(next.granted());
    EXPECT_EQ(h.sent(), (lines{"renew a a c:1 0 c:2 30000", unlisten_of(2)}));
    EXPECT_EQ(lost(older), errc{});
    h.reply(array(integer(0), integer(1)), not_listening(2));
    EXPECT_EQ(lost(older), errc::lock_lost);
    EXPECT_EQ(lost(next.view), errc{});
}

TEST_F(engine_fair, the_renewal_of_an_older_hold_may_have_run_before_it_was_taken_away) {
    const view_ptr older = holder({.lease = 1500ms});
    operation& next = lock();
    h.reply(busy(3000));
    h.reply(listening(2), busy(3000));
    h.advance(500ms);
    h.sent();
    h.reply(told(2, "0:30000:2"));
    ASSERT_TRUE(next.granted());
    EXPECT_EQ(h.sent(), (lines{renew_of("a", 2), unlisten_of(2)}));
    h.reply(array(integer(1)));
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 1500)}) << "once more";
    h.reply(array(integer(1)), not_listening(2), array(integer(0)));
    EXPECT_EQ(lost(older), errc::lock_lost);
    EXPECT_EQ(lost(next.view), errc{});
}

TEST_F(engine_fair, a_place_that_is_at_another_server_just_now_is_given_back_later) {
    operation& op = first_waiter();
    h.cancel(op);
    EXPECT_EQ(h.sent(), (lines{fair_end_of(1), unlisten_of(1)}));
    h.reply(error("TRYAGAIN Multiple keys request during rehashing of slot"), not_listening(1));
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)}) << "it may have been given the lock";
    h.reply(integer(-1));
    EXPECT_EQ(h.sent(), lines{});
    h.advance(50ms);
    EXPECT_EQ(h.sent(), lines{fair_end_of(1)});
    h.reply(integer(-1));
    h.advance(1min);
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_fair, so_is_one_that_a_lost_try_may_have_got) {
    operation& op = lock();
    h.connect();
    h.sent();
    h.break_connection();
    h.cancel(op);
    h.connect(2, "2222");
    EXPECT_EQ(h.sent(), lines{fair_end_of(1)});
    h.reply(error("TRYAGAIN Multiple keys request during rehashing of slot"));
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    h.reply(integer(-1));
    h.advance(50ms);
    EXPECT_EQ(h.sent(), lines{fair_end_of(1)});
    h.reply(integer(-1));
}

TEST_F(engine_fair, a_release_that_may_have_run_is_confirmed_by_one_of_the_lock_key_alone) {
    const view_ptr held = holder();
    operation& unlocked = h.unlock(held);
    EXPECT_EQ(h.sent(), lines{fair_end_of(1)});
    h.break_connection();
    h.connect(2, "2222");
    EXPECT_EQ(h.sent(), lines{fair_end_of(1)});
    h.reply(error("TRYAGAIN Multiple keys request during rehashing of slot"));
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    h.reply(integer(-1));
    EXPECT_TRUE(unlocked.ended({})) << "by the one that was lost";
}

TEST_F(engine_fair, a_lock_whose_line_is_at_another_server_just_now_is_taken_away_too) {
    const view_ptr held = holder();
    operation& forced = h.force_unlock("a");
    h.sent();
    h.reply(array(integer(20'000), bulk(""), bulk("x:7"), bulk("1")));
    EXPECT_EQ(h.sent(), lines{"fair_release " + fair_line + fair_fence +
                              " x:7 redisson_lock__channel:{a}: publish"});
    h.reply(error("TRYAGAIN Multiple keys request during rehashing of slot"));
    EXPECT_EQ(h.sent(), lines{"release a x:7 redisson_lock__channel:{a}"});
    h.reply(integer(0));
    EXPECT_TRUE(forced.ended({}));
    EXPECT_TRUE(forced.did());
}

}  // namespace
