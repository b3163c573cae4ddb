// SPDX-License-Identifier: BSL-1.0
// Locks that are granted only when replicas have them: WAIT, on a connection of their own.
#include "unit/engine/replicas_fixture.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

using engine_replicas = replicas_fixture;

TEST_F(engine_replicas, a_wait_leaves_in_the_same_write_and_decides) {
    operation& op = h.lock("a");
    h.connect();
    const std::size_t before = h.writes();
    EXPECT_EQ(h.sent(), (lines{acquire_of("a", 1), wait_one}));
    EXPECT_EQ(h.writes(), before);
    h.reply(granted());
    EXPECT_FALSE(op.done()) << "not before the replicas have it";
    h.reply(integer(1));
    EXPECT_TRUE(op.granted());
    EXPECT_EQ(h.counters().acquisitions, 1u);
}

TEST_F(engine_replicas, more_replicas_than_asked_for_will_do) {
    operation& op = h.lock("a");
    h.connect();
    h.reply(granted(), integer(3));
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_replicas, one_with_a_token_is_released_before_the_next_is_acquired) {
    use("a", {.fenced = true, .replicas = {.at_least = 1}});
    const auto holder = hold("a");
    h.lock("a");
    h.release(holder);
    const lines sent = h.sent();
    ASSERT_EQ(sent.size(), 3u);
    EXPECT_EQ(sent.front(), release_of("a", 1));
    EXPECT_EQ(sent.back(), wait_one);
}

TEST_F(engine_replicas, travel_on_a_connection_of_their_own) {
    h.lock("a");
    EXPECT_EQ(h.engine.wanted_connection(lone_main_link), 0u);
    EXPECT_NE(h.engine.wanted_connection(lone_durable_link), 0u);
}

TEST(engine_replicas_off, other_locks_make_no_second_connection) {
    engine_harness h;
    h.grant("a");
    EXPECT_EQ(h.engine.links(), 1u);
}

TEST_F(engine_replicas, the_deadline_counts_from_the_sending_of_the_acquire) {
    operation& op = h.lock("a");
    h.connect();
    const auto sent = h.now();
    h.advance(20ms);
    h.reply(granted());
    h.advance(30ms);
    h.reply(integer(1));
    EXPECT_EQ(valid_until(op.view), conch::core::lease_end(sent, 30s));
}

TEST_F(engine_replicas, too_few_acknowledgements_give_the_lock_back) {
    operation& op = h.lock("a");
    h.connect();
    h.sent();
    h.reply(granted(), integer(0));
    EXPECT_TRUE(op.ended(errc::not_replicated));
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    EXPECT_EQ(h.counters().compensations, 1u);
    EXPECT_EQ(h.counters().not_replicated, 1u);
    h.reply(integer(0));
}

TEST_F(engine_replicas, a_try_is_told_too) {
    operation& op = h.try_lock("a");
    h.connect();
    h.reply(granted(), integer(0));
    EXPECT_TRUE(op.ended(errc::not_replicated));
}

TEST_F(engine_replicas, the_next_waiter_tries_behind_the_release) {
    h.lock("a");
    h.connect();
    h.sent();
    operation& next = h.lock("a");
    h.reply(granted(), integer(0));
    EXPECT_EQ(h.sent(), (lines{release_of("a", 1), acquire_of("a", 2), wait_one}));
    h.reply(integer(0), granted(), integer(1));
    EXPECT_TRUE(next.granted());
}

TEST_F(engine_replicas, of_a_busy_lock_the_acknowledgements_say_nothing) {
    operation& op = h.lock("a");
    h.connect();
    h.sent();
    h.reply(busy(500));
    EXPECT_EQ(h.sent(), (lines{subscribe_of("a"), acquire_of("a", 2)})) << "WAIT is on its way";
    h.reply(integer(0));
    EXPECT_FALSE(op.done());
    EXPECT_EQ(h.sent(), lines{wait_one}) << "for the second try";
    h.reply(subscribed("a"), granted(), integer(1));
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_replicas, what_was_answered_behind_a_wait_is_judged_by_the_next) {
    h.lock("a");
    h.connect();
    operation& second = h.lock("b");
    EXPECT_EQ(h.sent(), (lines{acquire_of("a", 1), wait_one, acquire_of("b", 2)}))
        << "one WAIT at a time: the server does nothing else meanwhile";
    h.reply(granted(), integer(1));
    EXPECT_EQ(h.sent(), lines{wait_one});
    h.reply(granted());
    EXPECT_FALSE(second.done());
    h.reply(integer(1));
    EXPECT_TRUE(second.granted());
}

TEST_F(engine_replicas, acquires_of_one_write_share_a_wait) {
    use("c", one_replica);
    hold("c");
    operation* first = nullptr;
    operation* second = nullptr;
    h.turn([&] {
        first = &h.lock("a");
        second = &h.lock("b");
    });
    EXPECT_EQ(h.sent(), (lines{acquire_of("a", 2), acquire_of("b", 3), wait_one}));
    h.reply(granted(), granted());
    EXPECT_FALSE(first->done());
    h.reply(integer(1));
    EXPECT_TRUE(first->granted());
    EXPECT_TRUE(second->granted());
}

TEST_F(engine_replicas, so_do_those_of_one_script) {
    h.engine.join_from(2);
    h.turn([&] {
        h.lock("a");
        h.lock("b");
    });
    h.connect();
    EXPECT_EQ(h.sent(), (lines{"acquire_many a b 2 c:1 30000 0 c:2 30000 0", wait_one}));
    h.reply(array(granted(), granted()), integer(0));
    EXPECT_TRUE(h.operation_at(0).ended(errc::not_replicated));
    EXPECT_TRUE(h.operation_at(1).ended(errc::not_replicated));
}

TEST_F(engine_replicas, an_acquire_that_runs_after_its_wait_has_another) {
    operation& op = h.lock("a");
    h.connect();
    h.sent();
    h.reply(error("NOSCRIPT No matching script"), integer(1));
    EXPECT_EQ(h.sent(), lines{"EVAL " + acquire_of("a", 1)});
    h.reply(granted());
    EXPECT_FALSE(op.done()) << "that WAIT left before it";
    EXPECT_EQ(h.sent(), lines{wait_one});
    h.reply(integer(1));
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_replicas, a_waiter_that_gives_up_meanwhile_leaves_nothing_behind) {
    operation& op = h.lock("a");
    h.connect();
    h.sent();
    h.reply(granted());
    h.cancel(op);
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    h.reply(integer(1), integer(0));
    EXPECT_EQ(h.engine.unsettled(), 0u);
}

TEST_F(engine_replicas, the_next_waiter_inherits_what_is_not_acknowledged_yet) {
    operation& op = h.lock("a");
    h.connect();
    operation& next = h.lock("a");
    h.reply(granted());
    h.sent();
    h.cancel(op);
    EXPECT_EQ(h.sent(), lines{});
    h.reply(integer(1));
    EXPECT_TRUE(next.granted());
}

TEST_F(engine_replicas, who_wants_more_replicas_inherits_nothing) {
    operation& op = h.lock("a");
    h.connect();
    use("a", two_replicas);
    h.lock("a");
    h.reply(granted());
    h.sent();
    h.cancel(op);
    EXPECT_EQ(h.sent(), (lines{release_of("a", 1), acquire_of("a", 2)}));
    h.reply(integer(1));
    EXPECT_EQ(h.sent(), lines{wait_two});
}

TEST_F(engine_replicas, renewals_ask_too) {
    hold("a");
    h.advance(10s);
    EXPECT_EQ(h.sent(), (lines{renew_of("a", 1), wait_one}));
    h.reply(array(integer(1)), integer(1));
    EXPECT_EQ(h.counters().renewals, 1u);
    EXPECT_EQ(h.counters().renewals_not_replicated, 0u);
}

TEST_F(engine_replicas, a_renewal_that_too_few_have_is_reported_and_the_hold_goes_on) {
    const auto view = hold("a");
    h.advance(10s);
    const auto sent = h.now();
    h.reply(array(integer(1)));
    h.advance(100ms);
    h.reply(integer(0));
    EXPECT_EQ(h.counters().renewals_not_replicated, 1u);
    EXPECT_EQ(lost(view), errc{});
    EXPECT_EQ(valid_until(view), conch::core::lease_end(sent, 30s));
}

TEST_F(engine_replicas, what_is_not_renewed_asks_nobody) {
    hold("a", {.renew = false});
    h.advance(10s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 0)});
}

TEST_F(engine_replicas, a_release_asks_nobody) {
    const auto view = hold("a");
    operation& op = h.unlock(view);
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    h.reply(integer(0));
    EXPECT_TRUE(op.ended({}));
}

TEST_F(engine_replicas, a_lock_passes_on_to_who_wants_the_same) {
    const auto view = hold("a");
    operation& next = h.lock("a");
    h.release(view);
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_TRUE(next.granted());
}

TEST_F(engine_replicas, but_not_to_who_wants_more) {
    const auto view = hold("a");
    use("a", two_replicas);
    operation& next = h.lock("a");
    h.release(view);
    EXPECT_EQ(h.sent(), (lines{release_of("a", 1), acquire_of("a", 2), wait_two}));
    EXPECT_FALSE(next.done());
}

TEST_F(engine_replicas, nor_if_too_few_have_its_last_renewal) {
    const auto view = hold("a");
    h.advance(10s);
    h.reply(array(integer(1)), integer(0));
    operation& next = h.lock("a");
    h.sent();
    h.release(view);
    EXPECT_EQ(h.sent(), (lines{release_of("a", 1), acquire_of("a", 2), wait_one}));
    EXPECT_FALSE(next.done());
}

TEST_F(engine_replicas, an_owner_nests_whatever_the_mutex_says_of_replicas) {
    const conch::owner self;
    hold("a", {.owner = &self});
    use("a", {});
    operation& inner = h.lock("a", {.owner = &self});
    EXPECT_EQ(h.sent(), lines{nest_of("a", 1, 2)});
    h.reply(integer(1));
    EXPECT_TRUE(inner.granted());
}

TEST_F(engine_replicas, a_lease_that_a_wait_could_use_up_is_refused) {
    operation& op = h.lock("a", {.lease = 399ms});
    EXPECT_TRUE(op.ended(errc::invalid_lease));
}

TEST_F(engine_replicas, a_hold_that_ends_before_a_wait_may_have_is_refused) {
    operation& op = h.lock("a", {.max_hold = 399ms});
    EXPECT_TRUE(op.ended(errc::invalid_max_hold));
    h.lock("a", {.max_hold = 400ms});
    h.connect();
    EXPECT_EQ(h.sent().size(), 2u) << "sent, with the question to the replicas";
}

TEST(engine_replicas_options, are_checked_when_a_mutex_is_made) {
    const auto make = [](const conch::replica_options& o) {
        conch::impl::lock_spec::make(conch::protocol::value_lock_protocol, "a", {.replicas = o});
    };
    EXPECT_NO_THROW(make({.at_least = 1, .within = 1ms}));
    EXPECT_NO_THROW(make({.at_least = 1000, .within = 1min}));
    EXPECT_THROW(make({.at_least = 1001}), std::invalid_argument);
    EXPECT_THROW(make({.at_least = 1, .within = 999us}), std::invalid_argument);
    EXPECT_THROW(make({.at_least = 1, .within = 60'001ms}), std::invalid_argument);
    EXPECT_THROW(make({.at_least = 1, .within = conch::forever}), std::invalid_argument);
}

TEST(engine_replicas_options, reach_the_server_as_they_are) {
    const auto spec = conch::impl::lock_spec::make(
        conch::protocol::mutex_protocol, std::string(conch::impl::lock_spec::longest_name, 'x'),
        {.fenced = true, .fence_ttl = conch::forever, .replicas = {1000, 1min}});
    EXPECT_EQ(spec->replicas(), (conch::impl::replication{1000, 60'000}));
    EXPECT_EQ(spec->fence_key_ttl_ms(), 0) << "never expires";
    EXPECT_EQ(spec->name().size(), conch::impl::lock_spec::longest_name);
    EXPECT_EQ(sizeof(conch::impl::lock_spec), 32u);
}

}  // namespace
