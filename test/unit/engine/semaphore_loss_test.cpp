// SPDX-License-Identifier: BSL-1.0
// Permits of a semaphore where answers are lost or late, and callers give up.
#include "unit/engine/semaphore_fixture.hpp"

#include <gtest/gtest.h>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

TEST_F(engine_semaphore, a_lost_answer_is_asked_for_with_the_same_request) {
    operation& op = h.take(s, 2);
    operation& freed = h.change(s, kind::add, 5);
    const lines before = h.sent();
    h.break_connection();
    EXPECT_FALSE(op.done() || freed.done());
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", take_of(1, "2", "again"), before[1]}));
    h.reply(integer(1), integer(1), changed(1, 0));
    EXPECT_TRUE(op.ended({}));
    EXPECT_TRUE(freed.ended({}));
}

TEST_F(engine_semaphore, a_repeated_call_is_that_of_its_first_copy) {
    operation& first = h.take(s, 2);
    h.sent();
    h.break_connection();
    operation& second = h.take(s, 1);
    h.connect(2);
    EXPECT_EQ(h.sent().back(), take_of(1, "2", "again"));
    h.reply(integer(1), integer(1));
    EXPECT_TRUE(first.ended({}));
    EXPECT_EQ(h.sent(), lines{take_of(2, "1")});
    h.reply(integer(1));
    EXPECT_TRUE(second.ended({}));
}

TEST_F(engine_semaphore, who_gave_up_has_its_permits_given_back_once) {
    operation* ops[2] = {};
    h.turn([&] {
        ops[0] = &h.take(s, 2);
        ops[1] = &h.take(s, 3);
    });
    h.sent();
    h.cancel(*ops[0]);
    EXPECT_TRUE(ops[0]->done());
    h.reply(integer(2));
    EXPECT_TRUE(ops[1]->ended({}));
    EXPECT_EQ(h.sent(), lines{change_of(2, "add", 2)});
    h.break_connection();
    h.connect(2);
    EXPECT_EQ(h.sent().back(), change_of(2, "add", 2));
    h.reply(integer(1), changed(1, 0));
    EXPECT_EQ(h.counters().compensations, 1u);
}

TEST_F(engine_semaphore, a_written_call_of_nobody_keeps_its_counter_until_the_answer) {
    operation& op = h.take(s, 2);
    h.sent();
    h.cancel(op);
    EXPECT_EQ(h.engine.belongings().counters, 1u);
    operation& next = h.take(s, 2);
    EXPECT_TRUE(h.sent().empty()) << "one at a time";
    h.reply(integer(0));
    EXPECT_FALSE(next.done()) << "it was not asked for";
    EXPECT_EQ(h.sent(), lines{take_of(2, "2")});
    h.cancel(next);
    h.reply(integer(0));
    EXPECT_EQ(h.engine.belongings().counters, 0u);
}

TEST_F(engine_semaphore, what_nobody_wants_any_more_is_marked_so_that_it_takes_nothing_later) {
    operation& op = h.take(s, 2);
    h.sent();
    h.cancel(op);
    h.break_connection();
    h.connect(2);
    EXPECT_EQ(h.sent().back(), take_of(1, "2", "mark"));
    h.reply(integer(1), integer(1));
    EXPECT_EQ(h.sent(), lines{change_of(2, "add", 2)}) << "the first copy had taken them";
    h.reply(changed(1, 0));
}

TEST_F(engine_semaphore, what_was_not_written_is_taken_back) {
    h.block_writes();
    operation& op = h.take(s, 2);
    operation& set = h.change(s, kind::set, 2);
    operation& add = h.change(s, kind::add, 2);
    h.cancel(op);
    h.cancel(set);
    h.cancel(add);
    EXPECT_TRUE(op.done() && set.done() && add.done());
    h.unblock_writes();
    EXPECT_EQ(h.sent(), lines{change_of(3, "add", 2)}) << "a release is carried out";
    h.reply(changed(1, 0));
}

TEST_F(engine_semaphore, a_drain_whose_caller_left_is_given_back) {
    operation& op = h.change(s, kind::drain);
    h.sent();
    h.cancel(op);
    h.reply(changed(1, 7));
    EXPECT_EQ(h.sent(), lines{change_of(2, "add", 7)});
    h.reply(changed(1, 0));
}

TEST_F(engine_semaphore, without_a_server_it_fails_in_time_and_nothing_goes_on) {
    engine_harness away;
    operation& op = away.take(s, 1);
    operation& add = away.change(s, kind::add, 1);
    operation& look = away.change(s, kind::look);
    away.advance(away.settings.operation_timeout);
    EXPECT_TRUE(op.ended(errc::not_connected));
    EXPECT_TRUE(add.ended(errc::not_connected));
    EXPECT_TRUE(look.ended(errc::not_connected));
    EXPECT_EQ(away.engine.belongings().counter_changes, 0u);
    EXPECT_EQ(away.engine.belongings().counters, 0u);
}

TEST_F(engine_semaphore, a_change_without_an_answer_may_have_been_made) {
    operation& op = h.take(s, 1);
    operation& add = h.change(s, kind::add, 1);
    operation& drain = h.change(s, kind::drain);
    h.sent();
    h.break_connection();
    h.advance(h.settings.operation_timeout);
    EXPECT_TRUE(op.ended(errc::not_connected)) << "it is given back";
    EXPECT_TRUE(drain.ended(errc::not_connected)) << "it is given back";
    EXPECT_TRUE(add.ended(errc::outcome_unknown));
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", take_of(1, "1", "mark"), change_of(2, "add", 1),
                               change_of(3, "mark", 0)}))
        << "a release goes on";
    h.reply(integer(1), integer(0), changed(1, 0), changed(0, 0));
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_EQ(h.engine.belongings().counter_changes, 0u);
    EXPECT_EQ(h.counters().permits_in_doubt, 0u);
}

TEST_F(engine_semaphore, a_number_that_is_set_is_not_set_later_when_its_caller_was_told_otherwise) {
    operation& set = h.change(s, kind::set, 1);
    h.sent();
    h.break_connection();
    h.advance(h.settings.operation_timeout);
    EXPECT_TRUE(set.ended(errc::outcome_unknown));
    h.connect(2);
    EXPECT_EQ(h.sent(), lines{"CLIENT KILL ID 1"});
}

TEST_F(engine_semaphore, a_release_whose_answer_was_lost_and_that_is_refused_then_goes_on) {
    operation& add = h.change(s, kind::add, 1);
    h.sent();
    h.break_connection();
    h.connect(2);
    h.sent();
    h.reply(integer(1), error("OOM command not allowed"));
    EXPECT_TRUE(add.ended(errc::outcome_unknown));
    h.advance(1s);
    EXPECT_EQ(h.sent(), lines{change_of(1, "add", 1)});
    h.reply(changed(1, 0));
    h.advance(2s);
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_semaphore, a_release_is_not_repeated_for_longer_because_its_caller_left_late) {
    operation& add = h.change(s, kind::add, 1);
    h.sent();
    h.break_connection();
    h.advance(2s);
    h.cancel(add);
    h.advance(28s);
    EXPECT_EQ(h.engine.belongings().counter_changes, 0u);
    EXPECT_EQ(h.counters().permits_in_doubt, 1u);
    h.connect(2);
    EXPECT_EQ(h.sent(), lines{"CLIENT KILL ID 1"}) << "its request key might be gone";
}

TEST_F(engine_semaphore, a_call_is_not_repeated_when_its_key_may_be_gone) {
    operation& op = h.take(s, 1);
    h.sent();
    h.cancel(op);
    h.break_connection();
    h.advance(29s);
    EXPECT_EQ(h.engine.belongings().counters, 1u);
    h.advance(1s);
    EXPECT_EQ(h.engine.belongings().counters, 0u);
    h.connect(2);
    EXPECT_EQ(h.sent(), lines{"CLIENT KILL ID 1"});
}

TEST_F(engine_semaphore, an_addition_that_goes_on_is_not_repeated_when_its_key_may_be_gone) {
    operation& op = h.change(s, kind::add, 1);
    h.sent();
    h.cancel(op);
    h.break_connection();
    h.advance(31s);
    EXPECT_EQ(h.engine.belongings().counter_changes, 0u);
}

TEST_F(engine_semaphore, a_release_that_is_refused_again_and_again_ends_too) {
    operation& op = h.change(s, kind::add, 1);
    h.sent();
    h.cancel(op);
    int refused = 0;
    while (h.engine.belongings().counter_changes > 0 && refused < 100) {
        h.reply(error("OOM command not allowed"));
        h.advance(1s);
        ++refused;
        EXPECT_LE(h.sent().size(), 1u);
    }
    EXPECT_GT(refused, 25);
    EXPECT_LT(refused, 35);
    EXPECT_EQ(h.counters().permits_in_doubt, 1u);
}

TEST_F(engine_semaphore, a_release_that_was_never_sent_is_not_made_much_later) {
    engine_harness away;
    operation& op = away.change(s, kind::add, 1);
    away.cancel(op);
    away.advance(29s);
    EXPECT_EQ(away.engine.belongings().counter_changes, 1u);
    away.advance(2s);
    EXPECT_EQ(away.engine.belongings().counter_changes, 0u);
    EXPECT_EQ(away.counters().permits_in_doubt, 1u);
}

TEST_F(engine_semaphore, a_call_that_a_loading_server_refused_did_not_run) {
    operation& op = h.take(s, 1);
    h.sent();
    h.reply(error("LOADING Redis is loading the dataset in memory"));
    EXPECT_FALSE(op.done());
    h.cancel(op);
    EXPECT_EQ(h.engine.belongings().counters, 0u);
}

TEST_F(engine_semaphore, a_script_that_the_server_lacks_is_sent) {
    operation& op = h.take(s, 1);
    h.sent();
    h.reply(error("NOSCRIPT No matching script."));
    EXPECT_EQ(h.sent(), lines{"EVAL " + take_of(1, "1")});
    h.reply(integer(1));
    EXPECT_TRUE(op.ended({}));
}

TEST_F(engine_semaphore, a_repeated_call_that_is_refused_leaves_the_outcome_unknown) {
    operation& op = h.take(s, 1);
    operation& add = h.change(s, kind::add, 1);
    h.sent();
    h.break_connection();
    h.connect(2);
    h.reply(integer(1), error("OOM command not allowed"), error("OOM command not allowed"));
    EXPECT_TRUE(op.ended(errc::outcome_unknown));
    EXPECT_TRUE(add.ended(errc::outcome_unknown));
}

TEST_F(engine_semaphore, a_repeated_answer_may_be_old_so_that_who_did_not_fit_asks_again) {
    refused(1);
    operation* ops[2] = {};
    ops[0] = &h.take(s, 2);
    h.reply(permits_told(1));
    h.sent();
    h.break_connection();
    h.connect(2);
    h.sent();
    // The first copy granted one of two; the permits for the other came with its connection down.
    h.reply(integer(1), push("subscribe", permits_channel, integer(1)), permits_told(2),
            integer(1));
    EXPECT_EQ(h.sent(), lines{take_of(4, "2")});
    h.reply(integer(1));
    EXPECT_TRUE(ops[0]->ended({}));
}

TEST_F(engine_semaphore, a_waiter_asks_again_after_each_subscription) {
    refused(1);
    h.break_connection();
    h.connect(2);
    EXPECT_EQ(h.sent().back(), "SUBSCRIBE " + permits_channel);
    h.reply(integer(1), push("subscribe", permits_channel, integer(1)));
    EXPECT_EQ(h.sent(), lines{take_of(3, "1")});
}

TEST_F(engine_semaphore, a_subscription_that_the_server_ends_is_asked_for_anew) {
    refused(1);
    h.reply(push("unsubscribe", permits_channel, integer(0)));
    EXPECT_EQ(h.sent(), (lines{take_of(3, "1"), "SUBSCRIBE " + permits_channel}));
    h.reply(integer(0), push("subscribe", permits_channel, integer(1)));
    EXPECT_EQ(h.sent(), lines{take_of(4, "1")}) << "what came before it is not missed";
}

TEST_F(engine_semaphore, an_answer_of_another_shape_is_an_error) {
    for (const std::string& wrong :
         {integer(2), integer(-1), bulk("1"), array(integer(1)), array(integer(2), integer(0))}) {
        operation& op = h.take(s, 1);
        operation& add = h.change(s, kind::add, 1);
        operation& drain = h.change(s, kind::drain);
        operation& look = h.change(s, kind::look);
        h.reply(wrong, wrong, wrong, array(integer(1)));
        for (const operation* o : {&op, &add, &drain, &look}) {
            EXPECT_TRUE(o->done() && o->ec) << wrong << o->ec.message();
        }
    }
    EXPECT_EQ(h.engine.belongings().counters, 0u);
}

TEST_F(engine_semaphore, a_shutdown_gives_back_what_was_granted_to_nobody) {
    operation& op = h.take(s, 2);
    operation& add = h.change(s, kind::add, 1);
    h.sent();
    h.shutdown(1s);
    EXPECT_TRUE(op.ended(errc::client_closed));
    EXPECT_TRUE(add.ended(errc::client_closed));
    EXPECT_FALSE(h.engine.drained());
    h.reply(integer(1), changed(1, 0));
    EXPECT_EQ(h.sent(), lines{change_of(3, "add", 2)});
    EXPECT_FALSE(h.engine.drained());
    h.reply(changed(1, 0));
    EXPECT_TRUE(h.engine.drained());
}

TEST_F(engine_semaphore, a_refused_login_ends_what_waits) {
    engine_harness away;
    operation& op = away.take(s, 1);
    operation& add = away.change(s, kind::add, 1);
    away.connect_and_refuse("WRONGPASS invalid username-password pair");
    EXPECT_TRUE(op.ended(errc::authentication_failed));
    EXPECT_TRUE(add.ended(errc::authentication_failed));
    EXPECT_EQ(away.engine.belongings().counter_changes, 0u);
}

}  // namespace
