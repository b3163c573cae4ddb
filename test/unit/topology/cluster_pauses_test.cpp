// SPDX-License-Identifier: BSL-1.0
#include "unit/topology/cluster_harness.hpp"

// Calls that a master of a cluster puts off, while their part goes to another one.
namespace {

using namespace conch::test;

TEST_F(topology_cluster, who_is_busy_there_asks_again_where_the_part_belongs) {
    const std::size_t there = sent_on("m2:7000");
    reply(there, ok() + error("BUSY Redis is busy running a script."));
    advance(10ms);
    EXPECT_EQ(sent(main_link), lines{}) << "after a pause";
    advance(1s);
    EXPECT_EQ(sent(main_link), lines{"a"});
    EXPECT_EQ(sent(there), lines{});
}

TEST_F(topology_cluster, what_a_former_master_puts_off_goes_to_the_present_one_after_its_pause) {
    submit(a, 7);
    learn_three();
    meet(main_link);
    EXPECT_EQ(sent(main_link), lines{"a"});
    advance(2s);
    EXPECT_EQ(sent(asked), next_question);
    tell(array(part_of(0, 6, "m1"), part_of(7, 10922, "m2"), part_of(10923, 16383, "m3")));
    reply(main_link, error("CLUSTERDOWN The cluster is down"));
    const std::size_t there = place_of("m2:7000");
    EXPECT_FALSE(wanted(there));
    advance(100ms);
    EXPECT_EQ(sent(main_link), lines{});
    ASSERT_TRUE(wanted(there));
    meet(there);
    EXPECT_EQ(sent(there), lines{"a"});
}

TEST_F(topology_cluster, what_waits_as_it_was_sent_round_keeps_its_pause) {
    submit(a, 7);
    learn_three();
    meet(main_link);
    submit(b, 6000);
    const std::size_t there = place_of("m2:7000");
    meet(there);
    sent(there);
    reply(there, ok());
    const std::string at_m2 =
        array(part_of(0, 6, "m1"), part_of(7, 10922, "m2"), part_of(10923, 16383, "m3"));
    for (int n = 0; n < 8; ++n) {
        EXPECT_EQ(sent(main_link), lines{"a"}) << n;
        reply(main_link, error("MOVED 7 m2:7000"));
        if (n == 0) {
            EXPECT_EQ(sent(asked), next_question);
            tell(at_m2);
        }
        EXPECT_EQ(sent(there), lines{"a"}) << n;
        reply(there, error("MOVED 7 m1:7000"));
    }
    EXPECT_EQ(sent(asked), next_question);
    tell(thirds("m1", "m2", "m3"));
    EXPECT_EQ(serving(7), "m1:7000");
    EXPECT_EQ(sent(main_link), lines{}) << "whoever is named now";
    advance(100ms);
    EXPECT_EQ(sent(there), lines{});
    EXPECT_EQ(sent(main_link), lines{"a"});
}

}  // namespace
