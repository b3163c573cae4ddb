// SPDX-License-Identifier: BSL-1.0
// A hold of a majority: when it is lost, what mends it, and how it ends.
#include "unit/group/harness.hpp"

namespace {

using namespace conch;
using namespace conch::test;

struct group_holding_test : group_test {
    /// Of the first two, or of all.
    void take(bool all = true, const lock_options& o = {}, duration lease = 30s) {
        lock(owner, o);
        grant(0, lease);
        grant(1, lease);
        if (all) {
            grant(2, lease);
        } else {
            refuse(2);
        }
        ASSERT_TRUE(ended(owner) && owner.hold);
    }
    words ends(std::size_t member, errc why) {
        lose(member, why);
        return answer("watch", member, {.ec = why});
    }
    words release_hold() {
        return turn([&] { under_test->release(*owner.hold); });
    }
    int reason() const { return owner.hold->lost.load(); }

    caller owner{};
};

TEST_F(group_holding_test, it_outlives_the_loss_of_a_minority) {
    take();
    EXPECT_EQ(ends(1, errc::lock_lost), (words{"release 1"}));
    EXPECT_EQ(reason(), 0);
    EXPECT_EQ(until(owner), now + 30s);
}

TEST_F(group_holding_test, it_is_lost_with_its_majority_and_all_is_given_back) {
    take();
    ends(1, errc::renewal_refused);
    EXPECT_EQ(ends(2, errc::lock_lost), (words{"release 2", "release 0"}));
    EXPECT_EQ(reason(), static_cast<int>(errc::lock_lost));
    EXPECT_LE(until(owner), now);
}

TEST_F(group_holding_test, it_is_not_seen_as_owned_once_a_majority_is_lost_though_nobody_told) {
    take(false);
    lose(0, errc::lock_lost);
    EXPECT_EQ(until(owner), time_point{});
}

TEST_F(group_holding_test, members_that_say_nothing_lose_it_at_its_deadline) {
    take(false, {}, 100ms);
    caller watcher;
    watch(watcher, owner.hold);
    pass(100ms);
    EXPECT_FALSE(ended(watcher)) << "its members may know why";
    pass(1ms);
    ASSERT_TRUE(ended(watcher));
    EXPECT_EQ(watcher.ec, errc::lease_expired);
    EXPECT_EQ(reason(), static_cast<int>(errc::lease_expired));
}

TEST_F(group_holding_test, renewals_move_its_deadline_on) {
    take(true, {}, 100ms);
    renew(0, 10s);
    renew(2, 8s);
    EXPECT_EQ(until(owner), now + 8s);
    pass(7s);
    EXPECT_EQ(reason(), 0);
}

TEST_F(group_holding_test, a_server_that_has_no_part_in_it_is_asked_again_each_third_of_the_lease) {
    take(false);
    EXPECT_EQ(pass(10s), (words{"try 2"}));
    EXPECT_EQ(grant(2), (words{"watch 2"}));
    ends(0, errc::lease_expired);
    EXPECT_EQ(reason(), 0) << "1 and 2 are a majority";
}

TEST_F(group_holding_test, one_that_lost_it_is_asked_again_soon_but_not_where_it_was_taken_away) {
    take();
    ends(2, errc::lease_expired);
    EXPECT_EQ(pass(patience), (words{"try 2"}));
    fail(2, errc::not_connected);
    ends(1, errc::lock_lost);
    EXPECT_EQ(reason(), static_cast<int>(errc::lock_lost));
}

TEST_F(group_holding_test, what_was_taken_away_is_asked_for_after_half_of_the_lease) {
    take();
    ends(2, errc::lock_lost);
    renew(0, 60s);
    renew(1, 60s);
    EXPECT_EQ(pass(15s - 1ms), nothing);
    EXPECT_EQ(pass(1ms), (words{"try 2"}));
}

TEST_F(group_holding_test, a_late_grant_does_not_bring_it_back_to_life) {
    take(false, {.lease = 9s}, 3s + 20ms);
    EXPECT_EQ(pass(3s), (words{"try 2"}));
    now += 50ms;
    EXPECT_EQ(grant(2, 30s), (words{"release 2", "release 0", "release 1"}));
    EXPECT_EQ(reason(), static_cast<int>(errc::lease_expired));
}

TEST_F(group_holding_test, progress_is_that_of_all_members_and_of_those_that_join) {
    take(false, {.progress_within = 15s});
    EXPECT_EQ(pass(9s), nothing);
    impl::note_progress(*owner.hold, now);
    impl::note_progress(*owner.hold, now - 1s);  // of a thread that was slower
    EXPECT_EQ(impl::report_of(*owner.hold)->get(), now);
    const time_point last = now;
    EXPECT_EQ(pass(1s), (words{"try 2"}));
    EXPECT_EQ(asked_for("try").progress_within, 15s);
    grant(2);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(impl::report_of(*member(i))->get(), last) << i;
    }
}

TEST_F(group_holding_test, without_progress_nothing_is_acquired_anew) {
    take(false, {.progress_within = 15s});
    EXPECT_EQ(pass(10s), (words{"try 2"}));
    refuse(2);
    EXPECT_EQ(pass(10s), nothing);
    impl::note_progress(*owner.hold, now);
    const words later = pass(9900ms);  // the members' leases last until 30 s
    ASSERT_FALSE(later.empty());
    EXPECT_EQ(later.front(), "try 2");
}

TEST_F(group_holding_test, the_error_of_a_member_without_progress_is_its_own) {
    take(false, {.progress_within = 15s});
    ends(0, errc::no_progress);
    EXPECT_EQ(reason(), static_cast<int>(errc::no_progress));
}

TEST_F(group_holding_test, a_hold_with_a_fixed_lease_asks_for_no_longer_one) {
    take(false, {.lease = 10s, .renew = false}, 10s);
    const words asked = pass(4s);
    ASSERT_FALSE(asked.empty());
    EXPECT_LE(*asked_for("try").lease, 7s);
    EXPECT_EQ(*asked_for("try").wait, duration::zero());
}

TEST_F(group_holding_test, a_fixed_lease_ends_in_time_though_its_members_were_granted_it_later) {
    lock(owner, {.lease = 10s, .renew = false});
    grant(0, 10s);
    grant(1, 10s);
    ASSERT_TRUE(ended(owner) && owner.hold);
    const time_point end = now + 10s;
    now += 20ms;
    grant(2, 10s);
    ends(0, errc::lock_lost);
    EXPECT_EQ(pass(5s), (words{"try 0"}));
    now += 30ms;
    grant(0, 10s);  // its server was not there when it was asked
    EXPECT_EQ(until(owner), end);
    caller told;
    watch(told, owner.hold, 2s);
    EXPECT_FALSE(ended(told));
    pass(end - now - 2s + 1ms);
    EXPECT_TRUE(ended(told));
    EXPECT_EQ(reason(), 0);
    pass(2s);
    EXPECT_EQ(reason(), static_cast<int>(errc::lease_expired));
}

TEST_F(group_holding_test, max_hold_ends_it_in_time_though_its_members_were_granted_it_later) {
    lock(owner, {.lease = 10s, .max_hold = 20s});
    grant(0, 20s);
    grant(1, 20s);
    ASSERT_TRUE(ended(owner) && owner.hold);
    const time_point end = now + 20s;
    now += 20ms;
    grant(2, 20s);
    ends(0, errc::lock_lost);
    EXPECT_EQ(pass(5s), (words{"try 0"}));
    now += 30ms;
    grant(0, 20s);
    EXPECT_EQ(until(owner), end);
    pass(end - now + 10ms);
    EXPECT_EQ(reason(), static_cast<int>(errc::max_hold_reached));
}

TEST_F(group_holding_test, an_extension_of_a_fixed_lease_moves_its_end_on) {
    take(true, {.lease = 10s, .renew = false}, 10s);
    caller c;
    turn([&] { under_test->extend(owner.hold, 60s, &c); });
    renew(0, 60s);
    answer("extend", 0, {});
    renew(1, 60s);
    answer("extend", 1, {});
    ASSERT_TRUE(ended(c));
    EXPECT_EQ(until(owner), now + 60s);
}

TEST_F(group_holding_test, a_release_gives_all_back_and_asks_for_nothing_more) {
    take();
    caller watcher;
    watch(watcher, owner.hold);
    const words done = release_hold();
    EXPECT_EQ(words(done.begin(), done.begin() + 3),
              (words{"release 0", "release 1", "release 2"}));
    ASSERT_TRUE(ended(watcher));
    EXPECT_FALSE(watcher.ec);
    EXPECT_EQ(under_test->next_deadline(), time_point::max());
    EXPECT_EQ(under_test->open_holds(), 0u);
}

TEST_F(group_holding_test, a_release_withdraws_what_it_still_asks_for) {
    lock(owner);
    grant(0);
    grant(1);
    ASSERT_TRUE(ended(owner));
    const words done = release_hold();
    EXPECT_EQ(done.front(), "withdraw try 2");
    EXPECT_EQ(grant(2), (words{"release 2"}));
}

TEST_F(group_holding_test, detached_it_stays_on_the_servers) {
    take();
    EXPECT_EQ(turn([&] { under_test->detach(*owner.hold); }),
              (words{"detach 0", "detach 1", "detach 2"}));
    EXPECT_EQ(under_test->open_holds(), 0u);
}

TEST_F(group_holding_test, an_unlock_is_confirmed_by_a_majority) {
    take();
    caller c;
    EXPECT_EQ(turn([&] { under_test->unlock(owner.hold, &c); }),
              (words{"unlock 0", "unlock 1", "unlock 2"}));
    answer("unlock", 1, {});
    EXPECT_FALSE(ended(c));
    answer("unlock", 2, {});
    ASSERT_TRUE(ended(c));
    EXPECT_FALSE(c.ec);
    answer("unlock", 0, {.ec = errc::not_connected});
    caller again;
    turn([&] { under_test->unlock(owner.hold, &again); });
    ASSERT_TRUE(ended(again));
    EXPECT_EQ(again.ec, errc::already_released);
}

TEST_F(group_holding_test, an_unlock_that_no_majority_confirms_says_why) {
    take();
    caller c;
    turn([&] { under_test->unlock(owner.hold, &c); });
    answer("unlock", 0, {});
    answer("unlock", 1, {.ec = errc::lock_lost});
    EXPECT_FALSE(ended(c));
    answer("unlock", 2, {.ec = errc::lease_expired});
    ASSERT_TRUE(ended(c));
    EXPECT_EQ(c.ec, errc::lock_lost);
}

TEST_F(group_holding_test,
       an_unlock_that_one_refuses_is_told_so_though_the_lease_of_another_ended) {
    take();
    caller c;
    turn([&] { under_test->unlock(owner.hold, &c); });
    answer("unlock", 0, {.ec = errc::lease_expired});
    answer("unlock", 1, {.ec = errc::server_unavailable});
    ASSERT_TRUE(ended(c));
    EXPECT_EQ(c.ec, errc::server_unavailable);
}

TEST_F(group_holding_test, an_unlock_of_what_a_majority_has_lost_is_told_so) {
    take();
    lose(0, errc::lock_lost);
    lose(1, errc::lock_lost);
    caller c;
    EXPECT_EQ(turn([&] { under_test->unlock(owner.hold, &c); }),
              (words{"release 0", "release 1", "release 2"}));
    ASSERT_TRUE(ended(c));
    EXPECT_EQ(c.ec, errc::lock_lost);
}

TEST_F(group_holding_test, an_unlock_that_nobody_answers_ends_with_the_hold) {
    take(true, {}, 100ms);
    caller c;
    turn([&] { under_test->unlock(owner.hold, &c); });
    pass(100ms);
    ASSERT_TRUE(ended(c));
    EXPECT_EQ(c.ec, errc::lease_expired);
}

TEST_F(group_holding_test, an_unlock_that_nobody_answers_does_not_wait_for_a_long_lease_to_end) {
    take();
    caller c;
    turn([&] { under_test->unlock(owner.hold, &c); });
    pass(settings.operation_timeout);
    EXPECT_FALSE(ended(c)) << "its members tell first";
    pass(1ms);
    ASSERT_TRUE(ended(c));
    EXPECT_EQ(c.ec, errc::not_connected);
}

TEST_F(group_holding_test, an_extension_is_confirmed_by_a_majority_and_is_for_those_who_join) {
    take(false);
    caller c;
    EXPECT_EQ(turn([&] { under_test->extend(owner.hold, 60s, &c); }),
              (words{"extend 0", "extend 1"}));
    renew(0, 60s);
    answer("extend", 0, {});
    EXPECT_FALSE(ended(c));
    renew(1, 60s);
    answer("extend", 1, {});
    ASSERT_TRUE(ended(c));
    EXPECT_FALSE(c.ec);
    EXPECT_EQ(pass(10s), (words{"try 2"}));
    EXPECT_EQ(*asked_for("try").lease, 60s);
}

TEST_F(group_holding_test, an_extension_that_nobody_answers_is_not_connected) {
    take();
    caller c;
    turn([&] { under_test->extend(owner.hold, 60s, &c); });
    pass(settings.operation_timeout);
    ASSERT_TRUE(ended(c));
    EXPECT_EQ(c.ec, errc::not_connected);
    EXPECT_EQ(reason(), 0);
}

TEST_F(group_holding_test, who_watches_ahead_of_time_is_told_when_no_majority_is_silent) {
    take();
    caller c;
    EXPECT_EQ(watch(c, owner.hold, 5s), (words{"tell 0", "tell 1", "tell 2"}));
    now += 26s;
    answer("tell", 0, {.ec = errc::lease_expired});
    EXPECT_FALSE(ended(c));
    answer("tell", 1, {.ec = errc::lease_expired});
    ASSERT_TRUE(ended(c));
    EXPECT_EQ(c.ec, errc::lease_expired);
    EXPECT_EQ(reason(), 0) << "it is still held";
}

TEST_F(group_holding_test, one_that_was_renewed_since_it_told_is_watched_anew) {
    take();
    caller c;
    watch(c, owner.hold, 5s);
    now += 26s;
    answer("tell", 0, {.ec = errc::lease_expired});
    renew(0, 30s);
    EXPECT_EQ(answer("tell", 1, {.ec = errc::lease_expired}), (words{"tell 0"}));
    EXPECT_FALSE(ended(c));
}

TEST_F(group_holding_test, a_watch_that_is_canceled_leaves_the_hold_alone) {
    take();
    caller c;
    watch(c, owner.hold);
    EXPECT_EQ(cancel(c), (words{"withdraw tell 0", "withdraw tell 1", "withdraw tell 2"}));
    ASSERT_TRUE(ended(c));
    EXPECT_EQ(c.ec, canceled());
    EXPECT_EQ(under_test->open_holds(), 1u);
}

TEST_F(group_holding_test, there_are_as_many_watches_as_the_first_client_has_room_for) {
    settings.max_pending = 1;
    take();
    caller one;
    watch(one, owner.hold);
    caller two;
    EXPECT_EQ(watch(two, owner.hold), nothing);
    ASSERT_TRUE(ended(two));
    EXPECT_EQ(two.ec, errc::overloaded);
    EXPECT_FALSE(one.done);
}

}  // namespace
