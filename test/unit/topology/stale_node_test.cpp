// SPDX-License-Identifier: BSL-1.0
// Nodes of a cluster that answer, but do not know what has changed.
#include "unit/topology/cluster_harness.hpp"

namespace {

using namespace conch::test;
using conch::duration;

const lines next_question{"CLUSTER SLOTS"};
const std::string down = error("CLUSTERDOWN The cluster is down");

struct topology_stale_node : topology_cluster {
    /// The first call was sent to its master.
    void send_first() {
        submit(a, 7);
        learn_three();
        meet(main_link);
        EXPECT_EQ(sent(main_link), lines{"a"});
    }
    /// For so long, or until another node is asked: that one tells the same as before, and the
    /// first master refuses.
    void answer_all(duration d, const std::string& refusal) {
        for (const auto end = now + d; now < end && servers.connection(asked).ready();
             advance(10ms)) {
            if (!sent(main_link).empty()) {
                reply(main_link, refusal);
            }
            if (!sent(asked).empty()) {
                tell(thirds("m1", "m2", "m3"));
            }
        }
    }
};

TEST_F(topology_stale_node, makes_way_where_its_master_refuses_for_long) {
    send_first();
    reply(main_link, down);
    answer_all(900ms, down);
    EXPECT_EQ(target(asked), "n1:7000") << "it may pass";
    answer_all(3s, down);
    EXPECT_EQ(target(asked), "n2:7000");
    EXPECT_EQ(meet_node(), next_question);
    tell(thirds("r1", "m2", "m3"));
    EXPECT_EQ(target(main_link), "r1:7000");
    meet(main_link, "master", "2222");
    EXPECT_EQ(sent(main_link), lines{"a"});
}

TEST_F(topology_stale_node, stays_where_nothing_is_refused) {
    send_first();
    reply(main_link, down);
    advance(1s);
    EXPECT_EQ(sent(main_link), lines{"a"});
    reply(main_link, integer(1));
    answer_all(20s, {});
    EXPECT_EQ(target(asked), "n1:7000");
}

TEST_F(topology_stale_node, stays_where_the_master_that_was_missed_is_back) {
    send_first();
    servers.connection(main_link).broken("reset");
    if (!sent(asked).empty()) {
        tell(thirds("m1", "m2", "m3"));
    }
    advance(1s);
    servers.connection(main_link).broken("refused");
    if (!sent(asked).empty()) {
        tell(thirds("m1", "m2", "m3"));
    }
    advance(1s);
    meet(main_link);
    EXPECT_EQ(sent(main_link), (lines{"CLIENT KILL ID 7", "a"}));
    reply(main_link, integer(1) + integer(1));
    answer_all(20s, {});
    EXPECT_EQ(target(asked), "n1:7000") << testing::PrintToString(logged);
    for (const std::string& line : logged) {
        EXPECT_EQ(line.find("no master at"), std::string::npos) << line;
    }
}

TEST_F(topology_stale_node, makes_way_where_two_of_its_masters_are_missed) {
    send_first();
    submit(b, 6000);
    const std::size_t second = place_of("m2:7000");
    meet(second);
    const auto end = now + 10s;
    for (; now < end && target(asked) == "n1:7000"; advance(10ms)) {
        for (const std::size_t i : {main_link, second}) {
            if (wanted(i)) {
                servers.connection(i).broken("refused");
            }
        }
        if (wanted(asked) && !sent(asked).empty()) {
            tell(thirds("m1", "m2", "m3"));
        }
    }
    EXPECT_LT(now, end);
}

TEST_F(topology_stale_node, makes_way_at_once_where_its_master_is_a_replica) {
    submit(a, 7);
    learn_three();
    meet(main_link, "slave");
    EXPECT_EQ(sent(asked), next_question) << "it may have heard meanwhile";
    tell(thirds("m1", "m2", "m3"));
    EXPECT_EQ(target(asked), "n2:7000");
    EXPECT_EQ(meet_node(), next_question);
    tell(thirds("r1", "m2", "m3"));
    meet(main_link, "master", "2222");
    EXPECT_EQ(sent(main_link), lines{"a"});
}

TEST_F(topology_stale_node, stays_where_a_call_only_waits_for_its_answer) {
    settings.response_timeout = 1h;
    send_first();
    answer_all(20s, {});
    EXPECT_EQ(target(asked), "n1:7000");
}

TEST_F(topology_stale_node, makes_way_for_the_master_that_it_does_not_know) {
    send_first();
    reply(main_link, error("MOVED 7 r1:7000"));
    EXPECT_EQ(sent(asked), next_question);
    tell(thirds("m1", "m2", "m3"));
    EXPECT_EQ(target(asked), "r1:7000") << "at once";
    EXPECT_EQ(meet_node(), next_question);
    tell(thirds("r1", "m2", "m3"));
    EXPECT_EQ(target(main_link), "r1:7000");
    EXPECT_EQ(target(asked), "r1:7000");
}

TEST_F(topology_stale_node, does_not_take_back_a_part_that_moved) {
    send_first();
    news.clear();
    reply(main_link, error("MOVED 7 m2:7000"));
    EXPECT_EQ(sent(asked), next_question);
    tell(thirds("m1", "m2", "m3"));
    EXPECT_EQ(serving(7), "m2:7000");
    EXPECT_EQ(target(asked), "m2:7000");
    EXPECT_EQ(meet_node(), next_question);
    tell(array(part_of(0, 6, "m1"), part_of(7, 10922, "m2"), part_of(10923, 16383, "m3")));
    EXPECT_EQ(serving(7), "m2:7000");
    EXPECT_EQ(serving(8), "m2:7000");
    EXPECT_EQ(news.size(), 2u) << "when it was sent on, and when the others were known to move";
}

TEST_F(topology_stale_node, is_one_only_if_it_was_asked_after_the_part_moved) {
    send_first();
    advance(2s);
    EXPECT_EQ(sent(asked), next_question);
    advance(1ms);
    reply(main_link, error("MOVED 7 m2:7000"));
    tell(thirds("m1", "m2", "m3"));
    EXPECT_EQ(serving(7), "m2:7000");
    EXPECT_EQ(target(asked), "n1:7000") << "what it answered may have been true";
    EXPECT_EQ(sent(asked), next_question);
    tell(array(part_of(0, 6, "m1"), part_of(7, 10922, "m2"), part_of(10923, 16383, "m3")));
    EXPECT_EQ(target(asked), "n1:7000");
    EXPECT_EQ(serving(8), "m2:7000");
}

TEST_F(topology_stale_node, is_believed_where_the_next_one_tells_the_same) {
    send_first();
    reply(main_link, error("MOVED 7 m2:7000"));
    sent(asked);
    tell(thirds("m1", "m2", "m3"));
    EXPECT_EQ(meet_node(), next_question);
    tell(thirds("m1", "m2", "m3"));
    EXPECT_EQ(serving(7), "m1:7000");
}

TEST_F(topology_stale_node, is_not_left_without_pause_where_all_contradict) {
    send_first();
    int visits = 0;
    reply(main_link, error("MOVED 7 r1:7000"));
    for (const auto end = now + 10s; now < end; advance(5ms)) {
        if (!sent(main_link).empty()) {
            reply(main_link, error("MOVED 7 r1:7000"));
        }
        if (wanted(asked) && !servers.connection(asked).ready()) {
            meet_node();
            ++visits;
            tell(thirds("m1", "m2", "m3"));
        } else if (wanted(asked) && !sent(asked).empty()) {
            tell(thirds("m1", "m2", "m3"));
        }
    }
    EXPECT_GT(visits, 6) << "each is asked";
    EXPECT_LT(visits, 100);
    EXPECT_EQ(serving(7), "m1:7000");
}

// Neither of two servers takes itself for the master, and each is the master for some nodes.
TEST_F(topology_stale_node, is_not_left_without_pause_where_all_name_replicas) {
    submit(a, 7);
    learn_three();
    int visits = 0;
    for (const auto end = now + 10s; now < end; advance(5ms)) {
        if (wanted(main_link)) {
            meet(main_link, "slave");
        }
        const bool is_new = wanted(asked) && !servers.connection(asked).ready();
        if (is_new) {
            meet_node();
            ++visits;
        }
        if (is_new || !sent(asked).empty()) {
            tell(thirds(visits % 2 == 0 ? "m1" : "r1", "m2", "m3"));
        }
    }
    EXPECT_GT(visits, 6) << "each is asked";
    EXPECT_LT(visits, 100);
}

// Who sits at the place of a master that moved away.
TEST_F(topology_stale_node, makes_way_where_a_stranger_is_in_place_of_its_master) {
    submit(a, 7);
    learn_three();
    for (const auto end = now + 5s; now < end && servers.connection(asked).ready(); advance(10ms)) {
        if (wanted(main_link)) {
            servers.connection(main_link).connected();
            sent(main_link);
            reply(main_link, error("WRONGPASS invalid username-password pair"));
        }
        if (!sent(asked).empty()) {
            tell(thirds("m1", "m2", "m3"));
        }
    }
    ASSERT_EQ(target(asked), "n2:7000");
    EXPECT_EQ(meet_node(), next_question);
    tell(thirds("r1", "m2", "m3"));
    EXPECT_EQ(target(main_link), "r1:7000");
}

}  // namespace
