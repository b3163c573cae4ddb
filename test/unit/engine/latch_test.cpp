// SPDX-License-Identifier: BSL-1.0
// A latch: who waits, who counts down, and what happens if answers are lost.
#include "unit/engine/semaphore_fixture.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

const std::string null = "_\r\n";

struct engine_latch : engine_semaphore {
    operation& wait(conch::duration how_long = conch::forever) { return h.take(l, 1, how_long); }
    /// The first waiter, on a connection that listens: the latch is at 2.
    operation& waits(conch::duration how_long = conch::forever) {
        operation& op = wait(how_long);
        h.reply(bulk("2"));
        h.reply(push("subscribe", latch_channel, integer(1)), bulk("2"));
        h.sent();
        EXPECT_FALSE(op.done());
        return op;
    }

    conch::impl::count_spec_ptr l =
        new conch::impl::count_spec{conch::impl::count_spec::kind::latch, "l", false};
};

TEST_F(engine_latch, it_is_set_and_counted_down_by_scripts_with_request_keys) {
    operation& set = h.change(l, kind::arm, 2);
    operation& down = h.change(l, kind::count_down, 1);
    operation& look = h.change(l, kind::look);
    EXPECT_EQ(h.sent(),
              (lines{latch_change_of(1, "arm", 2), latch_change_of(2, "count_down", 1), "GET l"}));
    h.reply(changed(1, 0), changed(1, 2), bulk("1"));
    EXPECT_TRUE(set.ended({}) && set.did() && down.ended({}) && look.ended({}));
    EXPECT_EQ(look.number, 1);
}

TEST_F(engine_latch, it_is_not_set_again_while_its_count_is_above_zero) {
    operation& set = h.change(l, kind::arm, 2);
    h.reply(changed(0, 1));
    EXPECT_TRUE(set.ended({}));
    EXPECT_FALSE(set.did());
}

TEST_F(engine_latch, one_that_is_not_set_is_open) {
    operation& op = wait();
    EXPECT_EQ(h.sent(), lines{"GET l"});
    h.reply(null);
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_latch, who_waits_listens_and_asks_in_the_same_write) {
    operation& op = wait();
    h.sent();
    const auto writes = h.writes();
    h.reply(bulk("2"));
    EXPECT_EQ(h.sent(), (lines{"SUBSCRIBE " + latch_channel, "GET l"}));
    EXPECT_EQ(h.writes(), writes + 1);
    h.reply(push("subscribe", latch_channel, integer(1)), null);
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(h.sent(), lines{"UNSUBSCRIBE " + latch_channel});
}

TEST_F(engine_latch, one_question_is_for_all_who_wait_when_it_is_written) {
    operation* ops[300] = {};
    h.turn([&] {
        for (operation*& op : ops) {
            op = &wait();
        }
    });
    EXPECT_EQ(h.sent(), lines{"GET l"});
    h.reply(bulk("1"));
    EXPECT_EQ(h.sent(), (lines{"SUBSCRIBE " + latch_channel, "GET l"}));
    h.reply(push("subscribe", latch_channel, integer(1)), null);
    for (const operation* op : ops) {
        EXPECT_TRUE(op->ended({}));
    }
}

TEST_F(engine_latch, a_message_opens_it_for_all_who_were_answered_before_though_it_is_set_again) {
    operation& first = waits();
    operation& second = wait();
    EXPECT_EQ(h.sent(), lines{"GET l"});
    h.reply(bulk("2"));
    h.reply(latch_told(0));
    EXPECT_TRUE(first.ended({}) && second.ended({}));
    EXPECT_EQ(h.sent(), lines{"UNSUBSCRIBE " + latch_channel}) << "and nobody asks";
}

TEST_F(engine_latch, that_it_was_set_says_that_it_was_open_too) {
    operation& op = waits();
    h.reply(latch_told(1));
    EXPECT_TRUE(op.ended({}));
}

TEST_F(engine_latch, a_message_is_not_for_who_has_had_no_answer_yet) {
    operation& first = waits();
    operation& second = wait();
    h.sent();
    h.reply(latch_told(0));
    EXPECT_TRUE(first.ended({}));
    EXPECT_FALSE(second.done()) << "it may be of before it came";
    h.reply(bulk("3"));
    EXPECT_FALSE(second.done());
    h.reply(latch_told(0));
    EXPECT_TRUE(second.ended({}));
}

TEST_F(engine_latch, a_strangers_message_makes_who_waits_ask) {
    operation& op = waits();
    h.reply(latch_told(7));
    EXPECT_EQ(h.sent(), lines{"GET l"});
    h.reply(bulk("2"));
    EXPECT_FALSE(op.done());
}

TEST_F(engine_latch, without_messages_a_waiter_polls) {
    operation& op = waits();
    h.advance(h.settings.max_poll_interval);
    EXPECT_EQ(h.sent(), lines{"GET l"});
    h.reply(null);
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(h.counters().wakes_by_poll, 1u);
}

TEST_F(engine_latch, who_waits_asks_again_after_each_subscription) {
    operation& op = waits();
    h.break_connection();
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", "SUBSCRIBE " + latch_channel}));
    h.reply(integer(1), push("subscribe", latch_channel, integer(1)));
    EXPECT_EQ(h.sent(), lines{"GET l"});
    h.reply(null);
    EXPECT_TRUE(op.ended({}));
}

TEST_F(engine_latch, a_question_whose_answer_was_lost_is_asked_again) {
    operation& op = wait();
    h.sent();
    h.break_connection();
    operation& later = wait();
    h.connect(2);
    EXPECT_EQ(h.sent().back(), "GET l");
    h.reply(integer(1), null);
    EXPECT_TRUE(op.ended({}) && later.ended({}));
}

TEST_F(engine_latch, a_wait_is_a_bound) {
    operation& op = waits(2s);
    operation& now = wait(0s);
    h.sent();
    h.reply(bulk("1"));
    EXPECT_TRUE(now.ended(errc::timed_out));
    for (int i = 0; i < 20; ++i) {
        h.advance(100ms);
        for (std::size_t n = h.sent().size(); n > 0 && !op.done(); --n) {
            h.reply(bulk("1"));
        }
    }
    EXPECT_TRUE(op.ended(errc::timed_out));
    EXPECT_TRUE(wait(-1s).ended(errc::invalid_wait));
}

TEST_F(engine_latch, who_gives_up_leaves_nothing) {
    operation& op = waits();
    operation& asked = wait();
    h.sent();
    h.cancel(op);
    h.cancel(asked);
    EXPECT_EQ(h.sent(), lines{"UNSUBSCRIBE " + latch_channel});
    h.reply(bulk("1"), push("unsubscribe", latch_channel, integer(0)));
    EXPECT_EQ(h.engine.belongings().counters, 0u);
    operation& lost = wait();
    h.sent();
    h.break_connection();
    h.cancel(lost);
    EXPECT_EQ(h.engine.belongings().counters, 0u);
    h.connect(2);
    EXPECT_EQ(h.sent(), lines{"CLIENT KILL ID 1"});
}

TEST_F(engine_latch, the_answer_to_a_question_of_nobody_is_for_nobody) {
    operation& op = wait();
    h.sent();
    h.cancel(op);
    EXPECT_EQ(h.engine.belongings().counters, 1u);
    operation& next = wait();
    EXPECT_TRUE(h.sent().empty()) << "one at a time";
    h.reply(null);
    EXPECT_FALSE(next.done()) << "it came after the question";
    EXPECT_EQ(h.sent().back(), "GET l");
    h.cancel(next);
    h.reply(push("subscribe", latch_channel, integer(1)), null);
    EXPECT_EQ(h.sent(), lines{"UNSUBSCRIBE " + latch_channel});
    EXPECT_EQ(h.engine.belongings().counters, 0u);
}

TEST_F(engine_latch, without_a_server_it_fails_in_time) {
    engine_harness away;
    operation& op = away.take(l, 1);
    operation& down = away.change(l, kind::count_down, 1);
    away.advance(away.settings.operation_timeout);
    EXPECT_TRUE(op.ended(errc::not_connected));
    EXPECT_TRUE(down.ended(errc::not_connected)) << "it was not made";
    EXPECT_EQ(away.engine.belongings().counters, 0u);
}

TEST_F(engine_latch, a_count_down_without_an_answer_goes_on) {
    operation& late = h.change(l, kind::count_down, 1);
    operation& left = h.change(l, kind::count_down, 2);
    operation& set = h.change(l, kind::arm, 2);
    h.sent();
    h.cancel(left);
    h.break_connection();
    h.advance(h.settings.operation_timeout);
    EXPECT_TRUE(late.ended(errc::outcome_unknown));
    EXPECT_TRUE(set.ended(errc::outcome_unknown));
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", latch_change_of(1, "count_down", 1),
                               latch_change_of(2, "count_down", 2)}));
    h.reply(integer(1), changed(1, 3), changed(1, 2));
    EXPECT_EQ(h.engine.belongings().counter_changes, 0u);
}

TEST_F(engine_latch, a_local_count_down_that_opens_it_asks_for_who_waits_though_no_message_comes) {
    operation& op = waits();
    h.change(l, kind::count_down, 1);
    h.sent();
    h.reply(changed(1, 2));
    EXPECT_EQ(h.sent(), lines{}) << "it is not open";
    h.change(l, kind::count_down, 1);
    h.sent();
    h.reply(changed(1, 1));
    EXPECT_EQ(h.sent(), lines{"GET l"});
    h.reply(null);
    EXPECT_TRUE(op.ended({}));
}

TEST_F(engine_latch, a_key_of_another_kind_is_one_clear_error) {
    operation& hash = wait();
    h.reply(error("WRONGTYPE Operation against a key"));
    operation& text = wait();
    h.reply(bulk("text"));
    operation& list = wait();
    h.reply(array(integer(1)));
    operation& down = h.change(l, kind::count_down, 1);
    h.reply(error("WRONGTYPE no number"));
    for (const operation* op : {&hash, &text, &list, &down}) {
        EXPECT_TRUE(op->ended(errc::wrong_type)) << op->ec.message();
    }
    EXPECT_EQ(h.engine.belongings().counters, 0u);
}

TEST_F(engine_latch, a_count_out_of_its_range_is_refused_before_anything_is_sent) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    EXPECT_TRUE(h.change(l, kind::arm, most + 1).ended(errc::invalid_permits));
    EXPECT_TRUE(h.change(l, kind::count_down, most + 1).ended(errc::invalid_permits));
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_latch, a_semaphore_of_the_same_name_is_another_one) {
    conch::impl::count_spec_ptr other =
        new conch::impl::count_spec{conch::impl::count_spec::kind::semaphore, "l", false};
    operation& op = wait();
    operation& permits = h.take(other, 1);
    h.reply(null, integer(1));
    EXPECT_TRUE(op.ended({}) && permits.ended({}));
}

TEST_F(engine_latch, a_shutdown_waits_for_a_count_down_but_for_no_question) {
    operation& op = wait();
    operation& down = h.change(l, kind::count_down, 1);
    h.sent();
    h.shutdown(1s);
    EXPECT_TRUE(op.ended(errc::client_closed) && down.ended(errc::client_closed));
    EXPECT_FALSE(h.engine.drained());
    h.reply(bulk("1"), changed(1, 1));
    EXPECT_TRUE(h.engine.drained());
}

TEST_F(engine_latch, a_refused_login_ends_what_waits) {
    engine_harness away;
    operation& op = away.take(l, 1);
    away.connect_and_refuse("WRONGPASS invalid username-password pair");
    EXPECT_TRUE(op.ended(errc::authentication_failed));
}

}  // namespace
