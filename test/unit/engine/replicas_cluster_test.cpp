// SPDX-License-Identifier: BSL-1.0
// Locks that replicas must have, in a cluster: WAIT goes where the acquire went.
#include "unit/engine/cluster_engine.hpp"

#include <gtest/gtest.h>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

struct engine_replicas_cluster : cluster_engine {
    /// Granted by `m1`, beside the hold "a", and not confirmed by its replicas yet.
    operation& take(const std::string& name) {
        hold("a");
        operation& op = lock(name);
        sent("m1");
        reply("m1", granted());
        return op;
    }
};

const std::string wait_one = "WAIT 1 100";

std::string sends(const char* what, std::string_view name) {
    return error(join(what, " ", conch::wire::hash_slot_of(name), " m2:7000"));
}

TEST_F(engine_replicas_cluster, a_wait_decides) {
    operation& op = lock("a");
    learn();
    connect("m1");
    EXPECT_EQ(sent("m1"), lines{acquire_of("a", 1)});
    reply("m1", granted());
    EXPECT_FALSE(op.done());
    EXPECT_EQ(sent("m1"), lines{wait_one});
    reply("m1", integer(1));
    EXPECT_TRUE(op.granted());
    release(op);
    operation& next = lock("a");
    EXPECT_EQ(sent("m1"), (lines{release_of("a", 1), acquire_of("a", 2), wait_one}))
        << "in one write with the acquire";
    reply("m1", integer(0) + granted() + integer(0));
    EXPECT_TRUE(next.ended(errc::not_replicated));
    EXPECT_EQ(sent("m1"), lines{release_of("a", 2)});
    reply("m1", integer(0));
    EXPECT_EQ(engine.unsettled(), 0u);
}

TEST_F(engine_replicas_cluster, closing_leaves_no_connection_that_a_release_would_begin) {
    const operation& op = lock("a");
    learn();
    connect("m1");
    EXPECT_EQ(sent("m1"), lines{acquire_of("a", 1)});
    learn_again("m2", "m1");  // where nothing was waited for yet
    EXPECT_FALSE(op.done());
    const std::size_t links = engine.links();
    turn([&] { engine.close(); });
    EXPECT_EQ(engine.links(), links + 1) << "the release of what was not answered";
    for (std::size_t i = 0; i < engine.links(); ++i) {
        EXPECT_EQ(engine.wanted_connection(i), 0U) << i;
    }
}

TEST_F(engine_replicas_cluster, a_wait_behind_a_moved_acquire_says_nothing) {
    hold("a");
    operation& op = lock("b");
    EXPECT_EQ(sent("m1"), (lines{acquire_of("b", 2), wait_one}));
    reply("m1", sends("MOVED", "b"));
    reply("m1", integer(1));
    EXPECT_FALSE(op.done()) << "nothing was granted there";
    connect("m2");
    EXPECT_EQ(sent("m2"), lines{acquire_of("b", 2)});
    reply("m2", granted());
    EXPECT_FALSE(op.done());
    EXPECT_EQ(sent("m2"), lines{wait_one});
    reply("m2", integer(0));
    EXPECT_TRUE(op.ended(errc::not_replicated));
    EXPECT_EQ(sent("m2"), lines{release_of("b", 2)});
    reply("m2", integer(0));
}

TEST_F(engine_replicas_cluster, nor_does_one_that_is_answered_after_the_grant_elsewhere) {
    hold("a");
    connect_to_m2();
    operation& op = lock("b");
    sent("m1");
    reply("m1", sends("ASK", "b"));
    EXPECT_EQ(sent("m2"), (lines{"ASKING", acquire_of("b", 3)}));
    reply("m2", ok() + granted());
    EXPECT_EQ(sent("m2"), lines{wait_one}) << "on the connection that took it";
    reply("m1", integer(1));
    EXPECT_FALSE(op.done());
    EXPECT_EQ(sent("m1"), lines{});
    reply("m2", integer(1));
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_replicas_cluster, renewals_ask_where_they_were_done) {
    operation& op = hold("a");
    connect_to_m2();
    advance(10s);
    EXPECT_EQ(sent("m1"), (lines{renew_of("a", 1), wait_one}));
    reply("m1", sends("ASK", "a"));
    reply("m1", integer(1));
    EXPECT_EQ(sent("m2"), (lines{"ASKING", renew_of("a", 1)}));
    reply("m2", ok() + array(integer(1)));
    EXPECT_EQ(engine.counters().renewals, 1u);
    EXPECT_EQ(engine.counters().renewals_not_replicated, 0u);
    EXPECT_EQ(sent("m2"), lines{wait_one});
    reply("m2", integer(0));
    EXPECT_EQ(engine.counters().renewals_not_replicated, 1u);
    EXPECT_EQ(lost(op.view), errc{});
}

TEST_F(engine_replicas_cluster, a_part_that_moves_takes_its_holds_along) {
    operation& op = hold("a");
    learn_again("m2", "m1");
    connect("m2");
    EXPECT_EQ(sent("m2"), (lines{renew_of("a", 1), wait_one})) << "it is looked for there";
    reply("m2", array(integer(1)) + integer(1));
    advance(10s);
    EXPECT_EQ(sent("m2"), (lines{renew_of("a", 1), wait_one}));
    EXPECT_EQ(lost(op.view), errc{});
    EXPECT_EQ(sent("m1"), lines{});
}

TEST_F(engine_replicas_cluster, what_was_lost_before_its_wait_is_asked_for_where_the_part_is_now) {
    operation& op = take("b");
    learn_again("m2", "m1");
    EXPECT_FALSE(op.done());
    break_connection("m1");
    EXPECT_FALSE(op.done());
    connect("m2");
    EXPECT_EQ(sent("m2"), (lines{renew_of("a", 1), acquire_of("b", 2), wait_one}));
    reply("m2", array(integer(1)) + granted());
    EXPECT_FALSE(op.done());
    reply("m2", integer(1));
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_replicas_cluster, a_part_that_moves_before_the_wait_asks_its_new_masters_replicas) {
    operation& op = take("b");
    learn_again("m2", "m1");
    reply("m1", integer(1));
    EXPECT_FALSE(op.done()) << "they belong to another master";
    connect("m2");
    EXPECT_EQ(sent("m2"), (lines{renew_of("a", 1), acquire_of("b", 2), wait_one}));
    reply("m2", array(integer(1)) + granted());
    EXPECT_FALSE(op.done());
    reply("m2", integer(0));
    EXPECT_TRUE(op.ended(errc::not_replicated));
    EXPECT_EQ(sent("m2"), lines{release_of("b", 2)});
    reply("m2", integer(0));
    EXPECT_EQ(sent("m1"), lines{});
}

TEST_F(engine_replicas_cluster, nor_do_they_count_if_the_acquire_is_answered_after_its_part_moved) {
    hold("a");
    operation& op = lock("b");
    sent("m1");
    learn_again("m2", "m1");
    reply("m1", granted());
    EXPECT_FALSE(op.done());
    reply("m1", integer(1));
    EXPECT_FALSE(op.done());
    connect("m2");
    EXPECT_EQ(sent("m2"), (lines{renew_of("a", 1), acquire_of("b", 2), wait_one}));
    reply("m2", array(integer(1)) + granted());
    EXPECT_FALSE(op.done());
    reply("m2", integer(1));
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_replicas_cluster, nor_if_another_lock_was_told_that_the_part_moved) {
    hold("a");
    connect_to_m2();
    operation& op = lock("b");
    operation& other = lock("{b}");
    EXPECT_EQ(sent("m1"), (lines{acquire_of("b", 3), acquire_of("{b}", 4), wait_one}));
    reply("m1", granted() + sends("MOVED", "b") + integer(1));
    EXPECT_FALSE(op.done());
    EXPECT_EQ(sent("m2"), (lines{acquire_of("{b}", 4), acquire_of("b", 3)}));
    reply("m2", granted() + granted());
    EXPECT_EQ(sent("m2"), lines{wait_one});
    EXPECT_FALSE(op.done());
    reply("m2", integer(1));
    EXPECT_TRUE(op.granted());
    EXPECT_TRUE(other.granted());
}

/// An acquire that was granted, and whose part moved before its WAIT was answered.
struct engine_replicas_moved : engine_replicas_cluster {
    operation& take_and_move() {
        operation& op = take("b");
        learn_again("m2", "m1");
        connect("m2");
        EXPECT_EQ(sent("m2"), (lines{renew_of("a", 1), acquire_of("b", 2), wait_one}));
        return op;
    }
};

TEST_F(engine_replicas_moved, that_is_refused_is_released_all_the_same) {
    operation& op = take_and_move();
    reply("m2", array(integer(1)) + error("OOM command not allowed"));
    EXPECT_TRUE(op.done());
    EXPECT_EQ(sent("m2"), lines{release_of("b", 2)});
    reply("m2", integer(0) + integer(0));
    EXPECT_EQ(engine.unsettled(), 1u) << "the hold";
}

TEST_F(engine_replicas_moved, that_is_put_off_until_its_caller_gives_up_is_released_all_the_same) {
    operation& op = take_and_move();
    reply("m2", array(integer(1)) + error("NOREPLICAS Not enough good replicas to write."));
    reply("m2", integer(1));
    for (; !op.done(); advance(1ms)) {
        for (std::size_t n = sent("m2").size(); n > 0; --n) {
            reply("m2", error("NOREPLICAS Not enough good replicas to write."));
        }
    }
    EXPECT_EQ(sent("m2"), lines{release_of("b", 2)});
}

TEST_F(engine_replicas_cluster, a_renewal_that_is_lost_goes_where_its_part_is_now) {
    operation& op = hold("a");
    advance(10s);
    EXPECT_EQ(sent("m1"), (lines{renew_of("a", 1), wait_one}));
    learn_again("m2", "m3");
    break_connection("m1");
    ASSERT_TRUE(leads_to("m2"));
    connect("m2");
    EXPECT_EQ(sent("m2"), (lines{renew_of("a", 1), wait_one}));
    reply("m2", array(integer(1)) + integer(1));
    EXPECT_EQ(lost(op.view), errc{});
    EXPECT_EQ(engine.counters().renewals, 1u);
}

TEST_F(engine_replicas_cluster, a_master_without_parts_is_left_when_its_last_answer_came) {
    hold("a");
    lock("b");
    EXPECT_EQ(sent("m1"), (lines{acquire_of("b", 2), wait_one}));
    learn_again("m2", "m3");
    EXPECT_TRUE(leads_to("m1")) << "it owes an answer";
    reply("m1", sends("MOVED", "b") + integer(0));
    learn_again("m2", "m3");
    EXPECT_FALSE(leads_to("m1"));
}

TEST_F(engine_replicas_cluster, a_part_that_moves_to_where_its_wait_is_asks_once) {
    hold("a");
    connect_to_m2();
    operation& op = lock("b");
    sent("m1");
    reply("m1", sends("ASK", "b"));
    reply("m1", integer(1));
    sent("m2");
    reply("m2", ok() + granted());
    EXPECT_EQ(sent("m2"), lines{wait_one});
    learn_again("m2", "m1");
    EXPECT_EQ(sent("m2"), lines{renew_of("a", 1)}) << "and no acquire";
    reply("m2", integer(1));
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_replicas_cluster, a_part_that_moves_to_a_third_master_is_not_asked_for_there) {
    hold("a");
    connect_to_m2();
    const operation& op = lock("b");
    sent("m1");
    reply("m1", sends("ASK", "b"));
    sent("m2");
    reply("m2", ok() + granted());
    learn_again("m3", "m1");
    connect("m3");
    EXPECT_EQ(sent("m3"), (lines{renew_of("a", 1), acquire_of("b", 3), wait_one})) << "no ASKING";
    EXPECT_FALSE(op.done());
}

TEST_F(engine_replicas_cluster, who_refused_a_renewal_is_left_not_who_has_the_lock_now) {
    operation& op = hold("a");
    connect_to_m2();
    advance(10s);
    EXPECT_EQ(sent("m1"), (lines{renew_of("a", 1), wait_one}));
    learn_again("m2", "m1");
    reply("m1", array(error("READONLY You can't write against a read only replica.")));
    EXPECT_EQ(sent("m2"), (lines{renew_of("a", 1), wait_one}));
    reply("m2", array(integer(1)));
    EXPECT_EQ(engine.counters().renewals, 1u);
    EXPECT_EQ(lost(op.view), errc{});
}

TEST_F(engine_replicas_cluster, an_acquire_asked_for_elsewhere_and_lost_goes_back_to_its_master) {
    hold("a");
    connect_to_m2();
    operation& op = lock("b");
    sent("m1");
    reply("m1", sends("ASK", "b"));
    reply("m1", integer(1));
    sent("m2");
    reply("m2", ok() + granted());
    break_connection("m2");
    EXPECT_EQ(sent("m1"), lines{acquire_of("b", 3)});
    reply("m1", granted());
    EXPECT_EQ(sent("m1"), lines{wait_one});
    reply("m1", integer(1));
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_replicas_cluster, a_failover_between_both_answers_repeats_both_at_the_successor) {
    operation& op = take("b");
    break_connection("m1");
    learn_again("r1", "m2");
    connect("r1", "2222");
    EXPECT_EQ(sent("r1"), (lines{renew_of("a", 1), acquire_of("b", 2), wait_one}));
    reply("r1", array(integer(1)) + granted());
    EXPECT_FALSE(op.done());
    reply("r1", integer(1));
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_replicas_cluster, a_wait_that_nothing_is_left_of_does_not_keep_a_master) {
    operation& op = lock("a");
    learn();
    learn_again("m2", "m3");
    connect("m2");
    EXPECT_EQ(sent("m2"), lines{acquire_of("a", 1)});
    EXPECT_FALSE(leads_to("m1"));
    reply("m2", granted());
    reply("m2", integer(1));
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_replicas_cluster, nor_does_it_leave_those_of_other_terms_unasked) {
    hold("a");
    operation& first = lock("b", {}, {.at_least = 2});
    EXPECT_EQ(sent("m1"), (lines{acquire_of("b", 2), "WAIT 2 100"}));
    reply("m1", error("NOSCRIPT No matching script") + integer(2));
    EXPECT_EQ(sent("m1"), lines{"EVAL " + acquire_of("b", 2)});
    operation* second = nullptr;
    turn([&] {
        second = &lock("{b}");
        reply("m1", granted());
    });
    learn_again("m1", "m1");
    EXPECT_EQ(sent("m1"), (lines{acquire_of("{b}", 3), "WAIT 2 100"}));
    reply("m1", granted() + integer(2));
    EXPECT_TRUE(first.granted());
    EXPECT_TRUE(second->granted());
}

TEST_F(engine_replicas_cluster, a_reason_that_lasts_ends_them_before_the_cluster_is_known) {
    operation& op = lock("a");
    refuse_to_tell("NOPERM no CLUSTER for you");
    EXPECT_TRUE(op.ended(errc::permission_denied));
}

}  // namespace
