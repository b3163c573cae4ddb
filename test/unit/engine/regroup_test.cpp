// SPDX-License-Identifier: BSL-1.0
// Holds whose part of a cluster goes to another master, which may have taken a third one's place
// since: what the last one did for them may be unknown there.
#include "unit/engine/cluster_engine.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

struct engine_regroup : cluster_engine {
    /// In any order.
    static bool renews_both(const std::string& batch, const std::string& a, const std::string& b) {
        return batch.starts_with("renew " + a + ' ' + b + " c:") ||
               batch.starts_with("renew " + b + ' ' + a + " c:");
    }

    /// Who waits for "a" listens at `m1` and asks again, as others have it. `m2` is there, too.
    void wait_at_m1() {
        lock("a");
        learn();
        connect("m1");
        sent("m1");
        connect_to_m2();
        reply("m1", busy(60'000));
        EXPECT_EQ(sent("m1"), (lines{subscribe_of("a"), acquire_of("a", 3), wait_one}));
    }

    const std::string wait_one = "WAIT 1 100";
};

TEST_F(engine_regroup, a_hold_that_the_other_master_lacks_was_taken_as_far_as_anybody_knows) {
    const operation& op = hold("a");
    connect_to_m2();
    learn_again("m2", "m1");
    EXPECT_EQ(sent("m2"), (lines{renew_of("a", 1), wait_one}));
    reply("m2", array(integer(0)));
    EXPECT_EQ(lost(op.view), errc::lock_lost);
}

TEST_F(engine_regroup, one_that_it_has_lives_there_as_long_as_its_holder_was_promised) {
    hold("a", {.lease = 60s, .renew = false});
    connect_to_m2();
    learn_again("m2", "m1");
    const lines checks = sent("m2");
    ASSERT_EQ(checks.size(), 2u);
    EXPECT_EQ(checks[0].find("renew a c:1 5"), 0u) << "not 0, which would only look: " << checks[0];
    reply("m2", array(integer(1)) + integer(1));
    advance(20s);
    EXPECT_EQ(sent("m2"), lines{"renew a c:1 0"}) << "it has it, and stays";
    reply("m2", array(integer(1)));
}

TEST_F(engine_regroup,
       one_whose_renewal_is_answered_by_the_old_master_is_looked_at_in_the_new_one) {
    const operation& op = hold("a");
    connect_to_m2();
    advance(10s);
    EXPECT_EQ(sent("m1"), (lines{renew_of("a", 1), wait_one}));
    learn_again("m2", "m1");
    reply("m1", array(integer(1)) + integer(1));
    EXPECT_EQ(sent("m2"), (lines{renew_of("a", 1), wait_one}));
    reply("m2", array(integer(1)) + integer(1));
    EXPECT_EQ(sent("m2"), lines{}) << "once";
    EXPECT_EQ(lost(op.view), errc{});
}

TEST_F(engine_regroup, whose_renewal_the_old_master_does_not_answer_is_looked_at_in_the_new_one) {
    const operation& op = hold("a");
    advance(10s);
    EXPECT_EQ(sent("m1"), (lines{renew_of("a", 1), wait_one}));
    learn_again("m2", "m1");
    connect("m2");
    EXPECT_EQ(sent("m2"), (lines{renew_of("a", 1), wait_one}));
    reply("m2", array(integer(1)) + integer(1));
    EXPECT_EQ(sent("m2"), lines{}) << "once";
    reply("m1", array(integer(0)) + integer(1));
    EXPECT_EQ(lost(op.view), errc{}) << "it is not asked any more";
    EXPECT_EQ(engine.counters().renewals, 1u);
}

// Two connections: what one has told says nothing of what the other has.
TEST_F(engine_regroup, who_is_released_there_is_not_busy_because_the_old_master_said_so) {
    wait_at_m1();
    learn_again("m2", "m1");
    EXPECT_EQ(sent("m2"), lines{subscribe_of("a")});
    reply("m2", subscribed("a") + released("a"));
    EXPECT_EQ(sent("m2"), lines{}) << "one try at a time";
    reply("m1", subscribed("a") + busy(60'000) + integer(0));
    EXPECT_EQ(sent("m2"), (lines{acquire_of("a", 4), wait_one}));
}

// Half way, its key is there already: each try goes there and back, and one for each message will
// do.
TEST_F(engine_regroup, who_is_busy_half_way_does_not_ask_again_and_again) {
    wait_at_m1();
    reply("m1", subscribed("a") + busy(60'000) + integer(0) + released("a"));
    EXPECT_EQ(sent("m1"), (lines{acquire_of("a", 4), wait_one}));
    reply("m1", error(join("ASK ", conch::wire::hash_slot_of("a"), " m2:7000")) + integer(0));
    EXPECT_EQ(sent("m2"), (lines{"ASKING", acquire_of("a", 4)}));
    reply("m2", ok() + busy(60'000));
    EXPECT_EQ(sent("m1"), lines{});
    EXPECT_EQ(sent("m2"), lines{});
}

// Redis refuses a script whose keys are of several parts, even where one master has them all.
TEST_F(engine_regroup, renewals_go_in_one_script_for_each_part_all_of_them_at_once) {
    hold("a");
    for (const char* const name : {"b", "{a}", "{b}"}) {
        const operation& op = lock(name);
        reply("m1", granted() + integer(1));
        if (!op.granted()) {
            sent("m1");
            reply("m1", integer(1));
        }
        EXPECT_TRUE(op.granted()) << name;
    }
    sent("m1");
    advance(10s);
    const lines batches = sent("m1");
    ASSERT_EQ(batches.size(), 3u);
    EXPECT_TRUE(renews_both(batches[0], "b", "{b}")) << batches[0];
    EXPECT_TRUE(renews_both(batches[1], "a", "{a}")) << batches[1];
    EXPECT_EQ(batches[2], wait_one);
    const auto renewed = array(integer(1), integer(1));
    reply("m1", renewed + renewed + integer(1));
    EXPECT_EQ(engine.counters().renewals, 4u);
    EXPECT_EQ(engine.counters().renewal_batches, 2u);
}

}  // namespace
