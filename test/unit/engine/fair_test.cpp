// SPDX-License-Identifier: BSL-1.0
// A fair lock: each waiter has a place at the server, and gets the lock from who releases it.
#include "unit/engine/fair.hpp"

#include <conch/owner.hpp>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;
using conch::lock_options;
using conch::impl::view_ptr;

TEST_F(engine_fair, one_script_takes_a_free_lock_and_one_releases_it) {
    operation& op = lock();
    h.connect();
    EXPECT_EQ(h.sent(), lines{ask_of(1, 1)});
    h.reply(granted());
    ASSERT_TRUE(op.granted());
    operation& unlocked = h.unlock(op.view);
    EXPECT_EQ(h.sent(), lines{fair_end_of(1)});
    h.reply(integer(0));
    EXPECT_TRUE(unlocked.ended({}));
}

TEST_F(engine_fair, a_waiter_keeps_its_field_and_listens_on_a_channel_of_its_own) {
    operation& op = lock();
    h.connect();
    h.sent();
    h.reply(busy(9000));
    EXPECT_EQ(h.sent(), (lines{listen_of(1), ask_of(1, 2)})) << "in one write";
    h.reply(listening(1), busy(9000));
    EXPECT_EQ(h.sent(), lines{});
    h.advance(2 * h.settings.max_poll_interval);
    EXPECT_EQ(h.sent(), lines{ask_of(1, 3)});
    h.reply(granted());
    EXPECT_TRUE(op.granted());
    EXPECT_EQ(h.sent(), lines{unlisten_of(1)});
}

TEST_F(engine_fair, each_waiter_asks_by_itself) {
    first_waiter();
    lock();
    EXPECT_EQ(h.sent(), (lines{listen_of(2), ask_of(2, 1)})) << "it knows that others want it";
    h.reply(listening(2), busy(9000));
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_fair, who_was_alone_for_a_while_does_not_listen_first) {
    operation& op = first_waiter();
    h.cancel(op);
    h.reply(integer(-1), not_listening(1));
    h.sent();
    h.advance(1s);
    operation& later = lock();
    EXPECT_EQ(h.sent(), lines{ask_of(2, 1)});
    h.reply(granted());
    EXPECT_TRUE(later.granted());
}

TEST_F(engine_fair, a_message_that_gives_the_lock_is_a_grant_with_no_script) {
    operation& op = first_waiter();
    h.advance(500ms);
    h.sent();
    h.reply(told(1, "0:30000:2"));
    ASSERT_TRUE(op.granted());
    EXPECT_EQ(h.sent(), lines{unlisten_of(1)});
    // The grant came after the last try.
    EXPECT_EQ(valid_until(op.view), conch::core::lease_end(h.now() - 500ms, 30s));
    EXPECT_EQ(h.counters().wakes_by_message, 1u);
}

TEST_F(engine_fair, it_is_renewed_like_any_other) {
    operation& op = first_waiter();
    h.reply(told(1, "0:30000:2"));
    h.reply(not_listening(1));
    ASSERT_TRUE(op.granted());
    h.sent();
    h.advance(9s);
    EXPECT_EQ(h.sent(), lines{});
    h.advance(2s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1)});
    h.reply(array(integer(1)));
}

TEST_F(engine_fair, who_watches_it_ahead_of_time_is_not_told_too_early) {
    operation& op = first_waiter();
    h.reply(told(1, "0:30000:2"));
    ASSERT_TRUE(op.granted());
    operation& watch = h.wait_lost(op.view, 10s);
    EXPECT_FALSE(watch.done());
}

TEST_F(engine_fair, what_it_may_be_held_counts_from_the_message) {
    operation& op = first_waiter({.max_hold = 2s});
    h.advance(400ms);
    h.sent();
    h.reply(told(1, "0:30000:2"));
    ASSERT_TRUE(op.granted());
    h.advance((valid_until(op.view) - h.now()) / 3 + 1ms);
    h.reply(not_listening(1), array(integer(1)));
    h.advance(1s);
    EXPECT_EQ(lost(op.view), errc{});
    h.reply(array(integer(1)));
    h.advance(1s);
    EXPECT_EQ(lost(op.view), errc::max_hold_reached);
}

TEST_F(engine_fair, one_that_its_releaser_did_not_see_listen_has_it_for_as_long_as_that_says) {
    operation& op = first_waiter();
    h.reply(told(1, "0:2500:2"));
    ASSERT_TRUE(op.granted());
    EXPECT_EQ(valid_until(op.view), conch::core::lease_end(h.now(), 2500ms));
}

TEST_F(engine_fair, a_message_that_looks_whether_it_hears_changes_nothing) {
    operation& op = first_waiter();
    h.reply(told(1, "0:0"));
    EXPECT_FALSE(op.done());
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_fair, a_message_of_redisson_calls_for_a_try) {
    operation& op = first_waiter();
    h.reply(told(1, "0"));
    EXPECT_FALSE(op.done());
    EXPECT_EQ(h.sent(), lines{ask_of(1, 3)});
    h.reply(granted());
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_fair, a_message_while_a_try_is_on_its_way_leaves_it_to_the_try) {
    operation& op = first_waiter();
    h.advance(1200ms);
    EXPECT_EQ(h.sent(), lines{ask_of(1, 3)});
    h.reply(told(1, "0:30000:2"));
    EXPECT_FALSE(op.done());
    h.reply(granted());
    EXPECT_TRUE(op.granted());
    EXPECT_GT(valid_until(op.view), h.now() + 20s) << "all of its lease";
}

TEST_F(engine_fair, a_grant_that_is_nearly_over_is_asked_for_again) {
    operation& op = first_waiter({.lease = 300ms, .renew = false});
    h.advance(250ms);
    h.sent();
    h.reply(told(1, "0:30000:2"));
    EXPECT_FALSE(op.done());
    EXPECT_EQ(h.sent(), lines{ask_of(1, 3, "3000", "300")});
    h.reply(granted());
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_fair, a_lost_message_is_made_up_for_by_the_next_try) {
    operation& op = first_waiter();
    h.advance(1200ms);
    EXPECT_EQ(h.sent(), lines{ask_of(1, 3)});
    h.reply(granted());
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_fair, a_waiter_that_gives_up_leaves_the_line) {
    operation& op = first_waiter();
    h.cancel(op);
    EXPECT_TRUE(op.done());
    EXPECT_EQ(h.sent(), (lines{fair_end_of(1), unlisten_of(1)}));
    h.reply(integer(-1), not_listening(1));
    h.advance(10s);
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_fair, so_does_one_whose_wait_is_over) {
    operation& op = first_waiter({.wait = 300ms});
    h.advance(300ms);
    EXPECT_TRUE(op.ended(errc::timed_out));
    EXPECT_EQ(h.sent().front(), fair_end_of(1));
    h.reply(integer(-1));
}

TEST_F(engine_fair, and_one_that_gives_up_while_its_try_is_on_its_way) {
    operation& op = first_waiter();
    h.advance(1200ms);
    h.sent();
    h.cancel(op);
    h.reply(busy(5000));
    EXPECT_EQ(h.sent(), (lines{unlisten_of(1), fair_end_of(1)}));
    h.reply(not_listening(1), integer(-1));
}

TEST_F(engine_fair, one_that_never_reached_the_server_leaves_nothing) {
    operation& op = lock({.wait = 10ms});
    h.advance(1s);
    EXPECT_TRUE(op.done());
    h.connect();
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_fair, a_message_for_one_that_gave_up_is_answered_by_its_release) {
    operation& op = first_waiter();
    h.turn([&] {
        h.cancel(op);
        h.reply(told(1, "0:30000:2"));
    });
    EXPECT_EQ(h.sent(), (lines{fair_end_of(1), unlisten_of(1)}));
    h.reply(integer(1), not_listening(1));
}

TEST_F(engine_fair, a_try_without_wait_gets_no_place) {
    h.use(conch::protocol::fair_protocol, "a");
    operation& op = h.try_lock("a");
    h.connect();
    EXPECT_EQ(h.sent(), lines{ask_of(1, 1, "0")});
    h.reply(busy(5000));
    EXPECT_TRUE(op.ended({}));
    EXPECT_FALSE(op.view);
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_fair, a_hold_does_not_pass_to_a_waiter_of_this_client_by_itself) {
    const view_ptr view = holder();
    operation& op = lock();
    EXPECT_EQ(h.sent(), lines{ask_of(2, 1)});
    h.reply(busy(30'000));
    h.reply(listening(2), busy(30'000));
    h.sent();
    h.release(view);
    EXPECT_EQ(h.sent(), lines{fair_end_of(1)});
    EXPECT_FALSE(op.done());
    h.reply(told(2, "0:30000:2"), integer(1));
    EXPECT_TRUE(op.granted());
    EXPECT_EQ(h.sent(), lines{unlisten_of(2)});
}

TEST_F(engine_fair, a_holder_that_waits_anew_listens_at_once_if_others_wait) {
    const view_ptr view = holder();
    h.release(view);
    h.reply(integer(1));
    h.sent();
    lock();
    EXPECT_EQ(h.sent(), (lines{listen_of(2), ask_of(2, 1)}));
    h.reply(listening(2), busy(30'000));
    EXPECT_EQ(h.sent(), lines{}) << "no second try";
}

TEST_F(engine_fair, a_fence_comes_with_the_message) {
    h.use(conch::protocol::fair_protocol, "a", {.fenced = true});
    operation& op = h.lock("a");
    h.connect();
    EXPECT_EQ(h.sent(),
              lines{"fair_acquire " + fair_line + fair_fence + " c:1 30000 604800000 3000 1"});
    h.reply(busy(9000));
    h.reply(listening(1), busy(9000));
    h.sent();
    h.reply(told(1, "1700000000000000:30000:2"));
    ASSERT_TRUE(op.granted());
    EXPECT_EQ(op.view->fence, 1'700'000'000'000'000u);
}

TEST_F(engine_fair, a_message_without_a_fence_is_none_for_who_wants_one) {
    h.use(conch::protocol::fair_protocol, "a", {.fenced = true});
    operation& op = h.lock("a");
    h.connect();
    h.reply(busy(9000));
    h.reply(listening(1), busy(9000));
    h.sent();
    h.reply(told(1, "0:30000:2"));
    EXPECT_FALSE(op.done());
    EXPECT_EQ(h.sent().size(), 1u) << "a try";
    h.reply(granted("1700000000000001"));
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_fair, an_owner_nests_past_the_line) {
    const conch::owner me;
    const view_ptr view = holder({.owner = &me});
    operation& inner = lock({.owner = &me});
    EXPECT_EQ(h.sent(), lines{nest_of("a", 1, 2)});
    h.reply(integer(1));
    ASSERT_TRUE(inner.granted());
    h.release(inner.view);
    h.reply(integer(1));
}

TEST_F(engine_fair, two_waiters_of_one_owner_do_not_wait_for_each_other) {
    const conch::owner me;
    operation& one = first_waiter({.owner = &me});
    operation& two = next_waiter(2, {.owner = &me});
    h.reply(told(1, "0:30000:2"));
    ASSERT_TRUE(one.granted());
    EXPECT_EQ(h.sent(), (lines{nest_of("a", 1, 2), fair_end_of(2), unlisten_of(2), unlisten_of(1)}))
        << "its place is given back";
    h.reply(integer(1), integer(-1), not_listening(2), not_listening(1));
    EXPECT_TRUE(two.granted());
    h.release(one.view);
    h.reply(integer(1));
}

TEST_F(engine_fair, a_lost_hold_is_told_whichever_waiter_it_was) {
    const view_ptr view = holder();
    operation& forced = h.force_unlock("a");
    h.sent();
    h.reply(array(integer(20'000), bulk(""), bulk("c:1"), bulk("1")));
    EXPECT_EQ(h.sent(), lines{fair_end_of(1)});
    h.reply(integer(0));
    EXPECT_TRUE(forced.ended({}));
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1)});
    h.reply(array(integer(0)));
    EXPECT_EQ(lost(view), errc::lock_lost);
}

TEST_F(engine_fair, while_the_line_is_at_another_server_the_lock_alone_is_released) {
    const view_ptr view = holder();
    operation& unlocked = h.unlock(view);
    h.sent();
    h.reply(error("TRYAGAIN Multiple keys request during rehashing of slot"));
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    h.reply(integer(0));
    EXPECT_TRUE(unlocked.ended({}));
}

TEST_F(engine_fair, a_client_that_closes_leaves_the_line) {
    operation& op = first_waiter();
    h.shutdown();
    EXPECT_TRUE(op.ended(errc::client_closed));
    EXPECT_EQ(h.sent().front(), fair_end_of(1));
    h.reply(integer(-1));
}

TEST_F(engine_fair, a_grant_that_comes_too_late_is_asked_for_again_by_the_same_field) {
    operation& op = lock({.lease = 100ms, .renew = false});
    h.connect();
    h.sent();
    h.skip(200ms);
    h.reply(granted());
    EXPECT_FALSE(op.done());
    EXPECT_EQ(h.sent(), (lines{listen_of(1), ask_of(1, 2, "3000", "100")}));
    h.reply(listening(1), granted());
    EXPECT_TRUE(op.granted());
}

}  // namespace
