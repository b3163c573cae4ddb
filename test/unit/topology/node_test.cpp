// SPDX-License-Identifier: BSL-1.0
// The nodes of a cluster that are asked who has what, and what they say.
#include "unit/topology/cluster_harness.hpp"

#include <string>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;

// It may load for minutes; the other one may be well.
TEST_F(topology_cluster, a_node_that_is_busy_makes_way_for_the_next_one) {
    submit(a, 7);
    EXPECT_EQ(meet_node(), first_questions);
    tell(integer(0) + error("LOADING Redis is loading the dataset in memory"));
    EXPECT_EQ(target(asked), "n2:7000");
    EXPECT_EQ(meet_node(), next_question);
    tell(error("BUSY Redis is busy running a script."));
    EXPECT_EQ(target(asked), "n1:7000");
    EXPECT_EQ(news, lines{}) << "they will pass";
    EXPECT_FALSE(wanted(asked)) << "none was of use: a pause";
    advance(1s);
    meet_node();
    tell(thirds("m1", "m2", "m3"));
    EXPECT_EQ(serving(7), "m1:7000");
    advance(2s);
    EXPECT_EQ(sent(asked), next_question);
    tell(error("BUSY Redis is busy running a script."));
    EXPECT_NE(target(asked), "n1:7000") << "when all is known, too";
}

TEST_F(topology_cluster, one_that_is_busy_does_not_tell_how_messages_go) {
    submit(a, 7);
    EXPECT_EQ(meet_node(), first_questions);
    tell(error("BUSY Redis is busy running a script."));
    EXPECT_EQ(target(asked), "n2:7000");
    EXPECT_EQ(meet_node(), (lines{"CLUSTER SLOTS", "PUBSUB SHARDNUMSUB 0"}));
    tell(thirds("m1", "m2", "m3"));
    EXPECT_EQ(news, lines{}) << "who listens must know how";
    EXPECT_EQ(sent(asked), next_question);
    tell(array() + thirds("m1", "m2", "m3"));
    EXPECT_TRUE(servers.sharded());
}

TEST_F(topology_cluster, each_part_may_be_told_for_itself) {
    std::string parts = "*" + std::to_string(conch::wire::hash_slots) + "\r\n";
    for (int i = 0; i < static_cast<int>(conch::wire::hash_slots); ++i) {
        const auto node = array(bulk("r"), integer(7000), bulk("id"), array());
        parts += array(integer(i), integer(i),
                       array(bulk("m" + std::to_string(i % 3)), integer(7000), bulk("id"), array()),
                       node, node);
    }
    submit(a, 7);
    meet_node();
    tell(integer(0) + parts);
    EXPECT_EQ(serving(7), "m1:7000");
    EXPECT_EQ(serving(16383), "m0:7000");
}

TEST_F(topology_cluster, more_masters_than_any_cluster_has_are_left_out) {
    std::string parts = "*5000\r\n";
    for (int i = 0; i < 5000; ++i) {
        parts += part_of(i, i, "m" + std::to_string(i));
    }
    submit(a, 7);
    meet_node();
    tell(integer(0) + parts);
    EXPECT_EQ(serving(7), "m7:7000");
    EXPECT_EQ(servers.count(), 1001u);
}

}  // namespace
