// SPDX-License-Identifier: BSL-1.0
#include "unit/engine/harness.hpp"

#include <gtest/gtest.h>

// Limits and the end: rules 13 and 14. That each caller is completed exactly once, and that nothing
// is left, is checked by the harness at the end of every test.
namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

/// One of everything on its way.
void busy_client(engine_harness& h, const conch::owner& me) {
    h.grant("held");
    h.grant("nested", {.owner = &me});
    const auto unlocked = h.grant("unlocked");
    h.lock("nested", {.owner = &me});
    h.unlock(unlocked);
    h.extend(h.operation_at(0).view, 60s);
    h.wait_lost(h.operation_at(0).view);
    h.lock("held");
    h.lock("tried");
    h.force_unlock("forced");
    h.cancel(h.lock("cancelled"));
}

TEST(engine_shutdown, all_callers_are_told_and_all_holds_released) {
    engine_harness h;
    const auto hold = h.grant("a");
    operation& watch = h.wait_lost(hold);
    operation& waiter = h.lock("a");
    operation& tried = h.lock("b");
    operation& query = h.force_unlock("c");
    h.sent();
    h.shutdown();
    EXPECT_TRUE(watch.ended(errc::client_closed));
    EXPECT_TRUE(waiter.ended(errc::client_closed));
    EXPECT_TRUE(tried.ended(errc::client_closed));
    EXPECT_TRUE(query.ended(errc::client_closed));
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    EXPECT_FALSE(h.engine.drained());
    h.reply(granted(), array(integer(-2), bulk("")), integer(0));
    EXPECT_EQ(h.sent(), lines{release_of("b", 2)}) << "the try was granted after all";
    h.reply(integer(0));
    EXPECT_TRUE(h.engine.drained());
}

TEST(engine_shutdown, an_unlock_on_its_way_is_still_answered) {
    engine_harness h;
    operation& op = h.unlock(h.grant("a"));
    h.shutdown();
    EXPECT_FALSE(op.done());
    h.reply(integer(0));
    EXPECT_TRUE(op.ended({}));
    EXPECT_TRUE(h.engine.drained());
}

TEST(engine_shutdown, who_comes_later_is_refused) {
    engine_harness h;
    h.shutdown();
    EXPECT_TRUE(h.lock("a").ended(errc::client_closed));
    EXPECT_TRUE(h.force_unlock("a").ended(errc::client_closed));
    EXPECT_TRUE(h.engine.drained());
    EXPECT_EQ(h.engine.wanted_connection(), 0u);
}

TEST(engine_close, an_unlock_in_flight_is_told) {
    engine_harness h;
    operation& op = h.unlock(h.grant("a"));
    h.close();
    EXPECT_TRUE(op.ended(errc::client_closed));
}

TEST(engine_close, nothing_is_left_whenever_it_comes) {
    const conch::owner me;
    {
        engine_harness h;
        busy_client(h, me);
    }
    {
        engine_harness h;
        busy_client(h, me);
        h.break_connection();
    }
    {
        engine_harness h;
        busy_client(h, me);
        h.break_connection();
        h.connect(2);
    }
    {
        engine_harness h;
        busy_client(h, me);
        h.shutdown();
        h.break_connection();
        h.advance(1s);
    }
    {
        engine_harness h;
        busy_client(h, me);
        h.break_connection();
        h.advance(100s);
    }
}

TEST(engine_close, nothing_is_left_amid_refusals_that_pass) {
    engine_harness h;
    h.lock("a");
    h.force_unlock("b");
    h.connect();
    h.reply(error("LOADING Redis is loading"), error("LOADING Redis is loading"));
    h.close();
    EXPECT_TRUE(h.operation_at(0).ended(errc::client_closed));
}

TEST(engine_limits, too_many_pending_operations_are_refused_but_never_a_release) {
    conch::config c = quiet();
    c.max_pending = 2;
    engine_harness h{c};
    const auto hold = h.grant("a");
    h.lock("a");
    h.lock("a");
    EXPECT_TRUE(h.lock("a").ended(errc::overloaded));
    EXPECT_TRUE(h.lock("b").ended(errc::overloaded));
    EXPECT_TRUE(h.force_unlock("b").ended(errc::overloaded));
    operation& op = h.unlock(hold);
    h.reply(integer(0));
    EXPECT_TRUE(op.ended({}));
}

TEST(engine_limits, the_first_watch_of_a_hold_is_always_admitted_further_ones_count) {
    conch::config c = quiet();
    c.max_pending = 1;
    engine_harness h{c};
    const auto hold = h.grant("a");
    h.lock("a");
    operation& first = h.wait_lost(hold);
    EXPECT_TRUE(h.wait_lost(hold).ended(errc::overloaded));
    EXPECT_FALSE(first.done());
    h.cancel(first);
    EXPECT_FALSE(h.wait_lost(hold).done());
}

TEST(engine_limits, requests_for_permits_are_counted_too) {
    conch::config c = quiet();
    c.max_pending = 2;
    engine_harness h{c};
    const conch::impl::rate_spec_ptr calls{
        new conch::impl::rate_spec{"r", {5, 1s}, conch::rate_algorithm::fixed_window}};
    h.permits(calls, 1);
    operation& second = h.try_permits(calls);
    EXPECT_TRUE(h.try_permits(calls).ended(errc::overloaded));
    EXPECT_TRUE(h.permits(calls, 1).ended(errc::overloaded));
    EXPECT_TRUE(h.lock("a").ended(errc::overloaded));
    h.cancel(second);
    EXPECT_FALSE(h.try_permits(calls).done());
}

TEST(engine_limits, room_comes_back_when_operations_end) {
    conch::config c = quiet();
    c.max_pending = 1;
    engine_harness h{c};
    for (int i = 0; i < 3; ++i) {
        h.release(h.grant("a"));
        h.reply(integer(0));
    }
    EXPECT_FALSE(h.lock("a").done());
}

TEST(engine_limits, acquires_that_were_given_up_count_until_the_server_is_known_not_to_have_them) {
    conch::config c = quiet();
    c.max_pending = 3;
    engine_harness h{c};
    h.grant("held");
    for (const char* name : {"a", "b", "c"}) {
        operation& op = h.lock(name);
        h.sent();
        h.cancel(op);
        EXPECT_EQ(op.completions, 1);
    }
    EXPECT_TRUE(h.lock("d").ended(errc::overloaded));
    h.reply(busy(1000), busy(1000), busy(1000));
    EXPECT_FALSE(h.lock("d").done());
}

TEST(engine_limits, bad_options_are_refused_without_output) {
    engine_harness h;
    EXPECT_TRUE(h.lock("a", {.wait = -1ns}).ended(errc::invalid_wait));
    EXPECT_TRUE(h.lock("a", {.lease = 0s}).ended(errc::invalid_lease));
    EXPECT_TRUE(h.lock("a", {.lease = 99ms}).ended(errc::invalid_lease));
    EXPECT_TRUE(h.lock("a", {.lease = 9ms, .renew = false}).ended(errc::invalid_lease));
    constexpr auto year = std::chrono::hours{24 * 365};
    EXPECT_TRUE(h.lock("a", {.lease = year + 1ns}).ended(errc::invalid_lease));
    EXPECT_TRUE(h.lock("a", {.max_hold = 0s}).ended(errc::invalid_max_hold));
    EXPECT_EQ(h.engine.wanted_connection(), 0u);
    EXPECT_EQ(h.counters().slots_now, 0u);
}

TEST(engine_limits, the_longest_and_shortest_times_are_taken) {
    engine_harness h;
    h.grant("a", {.wait = conch::forever, .lease = std::chrono::hours{24 * 365}});
    h.grant("b", {.lease = 10ms, .renew = false});
    h.grant("c", {.wait = conch::forever - 1ns, .max_hold = conch::forever - 1ns});
}

TEST(engine_limits, ten_thousand_names_leave_nothing_behind) {
    engine_harness h;
    h.lock("first");
    h.connect();
    h.reply(granted());
    h.release(h.operation_at(0).view);
    h.reply(integer(0));
    for (int i = 0; i < 10'000; ++i) {
        const std::string name = join("lock", i);
        operation& op = h.lock(name);
        if (i % 2 == 0) {
            h.reply(busy(1000));
            h.reply(subscribed(name), granted());
        } else {
            h.reply(granted());
        }
        h.release(op.view);
        h.reply(i % 2 == 0 ? unsubscribed(name) : "", integer(0));
        h.sent();
    }
    const conch::stats s = h.counters();
    EXPECT_EQ(s.acquisitions, 10'001u);
    EXPECT_EQ(s.slots_now, 0u);
    EXPECT_EQ(s.subscriptions_now, 0u);
    EXPECT_GE(h.engine.next_deadline(), h.now() + 1s) << "only the link's own timer";
}

}  // namespace
