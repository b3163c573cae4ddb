// SPDX-License-Identifier: BSL-1.0
// Holds whose part of a cluster goes to another master, which may have taken a third one's place
// since: what the last one did for them may be unknown there.
#include "unit/cluster_engine.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

struct engine_regroup : cluster_engine {
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

}  // namespace
