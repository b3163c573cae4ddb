// SPDX-License-Identifier: BSL-1.0
// Permits of a semaphore, where every answer comes.
#include "unit/engine/semaphore_fixture.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

TEST_F(engine_semaphore, permits_are_taken_by_one_script_with_a_request_key) {
    operation& op = h.take(s, 3);
    EXPECT_EQ(h.sent(), lines{take_of(1, "3")});
    h.reply(integer(1));
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(h.counters().permits_granted, 1u);
}

TEST_F(engine_semaphore, callers_of_one_turn_share_a_call_in_their_order) {
    operation* ops[3] = {};
    h.turn([&] {
        ops[0] = &h.take(s, 2);
        ops[1] = &h.try_take(s, 5);
        ops[2] = &h.try_take(s, 1);
    });
    EXPECT_EQ(h.sent(), lines{take_of(1, "2 5 1")});
    h.reply(integer(1));
    EXPECT_TRUE(ops[0]->ended({}));
    EXPECT_TRUE(ops[1]->ended({}));
    EXPECT_FALSE(ops[1]->did());
    EXPECT_FALSE(ops[2]->done()) << "it may fit now";
    EXPECT_EQ(h.sent(), lines{take_of(2, "1")});
    h.reply(integer(1));
    EXPECT_TRUE(ops[2]->did());
}

TEST_F(engine_semaphore, tries_that_want_as_much_as_a_refused_one_are_refused_with_it) {
    operation* ops[3] = {};
    h.turn([&] {
        for (operation*& op : ops) {
            op = &h.try_take(s);
        }
    });
    h.sent();
    h.reply(integer(0));
    for (operation* op : ops) {
        EXPECT_TRUE(op->ended({}) && !op->did());
    }
    EXPECT_EQ(h.sent(), lines{}) << "and nobody listens";
    EXPECT_EQ(h.counters().permits_refused, 3u);
}

TEST_F(engine_semaphore, who_is_refused_listens_and_asks_in_the_same_write) {
    operation& op = h.take(s, 1);
    h.sent();
    const auto writes = h.writes();
    h.reply(integer(0));
    EXPECT_EQ(h.sent(), (lines{"SUBSCRIBE " + permits_channel, take_of(2, "1")}));
    EXPECT_EQ(h.writes(), writes + 1);
    h.reply(push("subscribe", permits_channel, integer(1)), integer(1));
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(h.sent(), lines{"UNSUBSCRIBE " + permits_channel});
}

TEST_F(engine_semaphore, a_try_behind_more_waiters_than_a_call_has_room_for_is_refused_too) {
    operation* last = nullptr;
    h.turn([&] {
        for (int i = 0; i < 300; ++i) {
            h.take(s, 1);
        }
        last = &h.try_take(s);
    });
    h.sent();
    h.reply(integer(0));
    EXPECT_TRUE(last->ended({}));
    EXPECT_FALSE(last->did());
}

TEST_F(engine_semaphore, a_message_makes_a_waiter_ask_again) {
    operation& op = refused(2);
    h.reply(permits_told(2));
    EXPECT_EQ(h.sent(), lines{take_of(3, "2")});
    h.reply(integer(1));
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(h.counters().wakes_by_message, 1u);
}

TEST_F(engine_semaphore, a_message_before_the_answer_is_answered_by_it) {
    refused(2);
    h.reply(permits_told(1));
    h.sent();
    h.reply(permits_told(0), integer(0));
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_semaphore, without_messages_a_waiter_polls) {
    refused(1);
    h.advance(h.settings.max_poll_interval);
    EXPECT_EQ(h.sent(), lines{take_of(3, "1")});
    EXPECT_EQ(h.counters().wakes_by_poll, 1u);
}

TEST_F(engine_semaphore, a_refused_subscription_makes_waiters_poll_more_often) {
    h.take(s, 1);
    h.reply(integer(0));
    h.reply(error("NOPERM no channel"), integer(0));
    h.sent();
    h.advance(100ms);
    EXPECT_EQ(h.sent(), lines{take_of(3, "1")});
}

TEST_F(engine_semaphore, a_large_request_is_not_overtaken) {
    operation& large = refused(5);
    operation& small = h.take(s, 1);
    operation& once = h.try_take(s, 1);
    EXPECT_TRUE(once.ended({}) && !once.did()) << "with no word to the server";
    EXPECT_EQ(h.sent(), lines{});
    h.reply(permits_told(3));
    EXPECT_EQ(h.sent(), lines{take_of(3, "5 1")});
    h.reply(integer(0));
    EXPECT_FALSE(large.done() || small.done());
    h.cancel(large);
    EXPECT_EQ(h.sent(), lines{take_of(4, "1")}) << "its place is free";
    h.reply(integer(1));
    EXPECT_TRUE(small.ended({}));
}

TEST_F(engine_semaphore, a_wait_is_a_bound) {
    operation& op = refused(1, 2s);
    operation& behind = h.take(s, 1, 0s);
    EXPECT_TRUE(behind.ended(errc::timed_out));
    for (int i = 0; i < 20 && !op.done(); ++i) {
        h.advance(100ms);
        for (std::size_t n = h.sent().size(); n > 0; --n) {
            h.reply(integer(0));
        }
    }
    EXPECT_TRUE(op.ended(errc::timed_out));
    EXPECT_EQ(op.at - engine_harness::start, 2s);
}

TEST_F(engine_semaphore, one_try_is_made_and_awaited_without_a_wait) {
    operation& op = h.take(s, 1, 0s);
    h.advance(1s);
    EXPECT_FALSE(op.done());
    h.reply(integer(0));
    EXPECT_TRUE(op.ended(errc::timed_out));
}

TEST_F(engine_semaphore, changes_are_scripts_with_request_keys) {
    operation& add = h.change(s, kind::add, 4);
    operation& set = h.change(s, kind::set, 3);
    operation& first = h.change(s, kind::try_set, 2);
    operation& drain = h.change(s, kind::drain);
    operation& look = h.change(s, kind::look);
    EXPECT_EQ(h.sent(), (lines{change_of(1, "add", 4), change_of(2, "set", 3),
                               change_of(3, "try_set", 2), change_of(4, "drain", 0), "GET s"}));
    h.reply(changed(1, 0), changed(1, 4), changed(0, 3), changed(1, 3), bulk("-7"));
    for (operation* op : {&add, &set, &first, &drain, &look}) {
        EXPECT_TRUE(op->ended({}));
    }
    EXPECT_FALSE(first.did());
    EXPECT_EQ(drain.number, 3);
    EXPECT_EQ(look.number, -7);
}

TEST_F(engine_semaphore, more_permits_than_can_be_counted_are_one_error) {
    operation& op = h.change(s, kind::add, 1);
    h.reply(changed(-1, 2'147'483'647));
    EXPECT_TRUE(op.ended(errc::invalid_permits));
}

TEST_F(engine_semaphore, a_number_out_of_its_range_is_refused_before_anything_is_sent) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    for (const std::int64_t n : {std::int64_t{0}, std::int64_t{-1}, most + 1}) {
        EXPECT_TRUE(h.take(s, n).ended(errc::invalid_permits)) << n;
        EXPECT_TRUE(h.try_take(s, n).ended(errc::invalid_permits)) << n;
    }
    EXPECT_TRUE(h.change(s, kind::add, most + 1).ended(errc::invalid_permits));
    EXPECT_TRUE(h.change(s, kind::add, -most - 1).ended(errc::invalid_permits));
    EXPECT_TRUE(h.take(s, 1, -1s).ended(errc::invalid_wait));
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_semaphore, a_key_of_another_kind_is_one_clear_error) {
    operation& taken = h.take(s, 1);
    operation& added = h.change(s, kind::add, 1);
    operation& looked = h.change(s, kind::look);
    operation& text = h.change(s, kind::look);
    h.reply(error("WRONGTYPE no number"), error("WRONGTYPE no number"),
            error("WRONGTYPE Operation"), bulk("text"));
    for (operation* op : {&taken, &added, &looked, &text}) {
        EXPECT_TRUE(op->ended(errc::wrong_type));
    }
}

TEST_F(engine_semaphore, a_local_release_asks_for_who_waits_though_no_message_comes) {
    operation& op = refused(1);
    h.change(s, kind::add, 1);
    h.sent();
    h.reply(changed(1, 0));
    EXPECT_EQ(h.sent(), lines{take_of(4, "1")});
    h.reply(integer(1));
    EXPECT_TRUE(op.ended({}));
}

}  // namespace
