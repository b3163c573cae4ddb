// SPDX-License-Identifier: BSL-1.0
// The connections of locks that wait for replicas, to the masters of a cluster.
#include "unit/topology/cluster_harness.hpp"

namespace {

using namespace conch::test;

conch::config patient_settings() {
    conch::config c = cluster_settings(1);
    c.response_timeout = 1h;
    return c;
}

struct topology_cluster_durable : topology_cluster {
    topology_cluster_durable() : topology_cluster{patient_settings()} {}

    void submit_durable(note& n, int slot) {
        servers.submit(n, static_cast<std::uint16_t>(slot), true);
    }
    std::string durably_serving(int slot) {
        return servers.serving(static_cast<std::uint16_t>(slot), true).target().text();
    }
    /// The place of the link of such locks that leads there.
    std::size_t durable_place_of(std::string_view address) {
        for (std::size_t i = place_of(address) + 1; i < servers.count(); ++i) {
            if (target(i) == address) {
                return i;
            }
        }
        ADD_FAILURE() << "no second link to " << address;
        return main_link;
    }
    /// The first call for slot 7 was sent to its master, by the link at the place returned.
    std::size_t send_first() {
        submit_durable(a, 7);
        learn_three();
        const std::size_t there = durable_place_of("m1:7000");
        meet(there);
        EXPECT_EQ(sent(there), lines{"a"});
        return there;
    }
    void tell_again(const std::string& parts) {
        advance(2s);
        EXPECT_FALSE(sent(asked).empty());
        tell(parts);
    }
};

TEST_F(topology_cluster_durable, is_made_for_a_master_that_is_asked_and_no_other) {
    submit(a, 7);
    learn_three();
    EXPECT_EQ(servers.count(), 4u);
    submit_durable(b, 6000);
    EXPECT_EQ(servers.count(), 5u);
    const std::size_t there = durable_place_of("m2:7000");
    EXPECT_TRUE(wanted(there));
    EXPECT_FALSE(wanted(place_of("m2:7000")));
    EXPECT_EQ(meet(there).at(1), "INFO replication");
    EXPECT_EQ(sent(there), lines{"b"});
}

TEST_F(topology_cluster_durable, what_waits_for_the_first_word_of_the_cluster_goes_its_way) {
    submit_durable(a, 16000);
    EXPECT_TRUE(wanted(asked));
    learn_three();
    const std::size_t there = durable_place_of("m3:7000");
    meet(there);
    EXPECT_EQ(sent(there), lines{"a"});
    EXPECT_FALSE(wanted(place_of("m1:7000")));
}

TEST_F(topology_cluster_durable, the_successor_of_a_master_takes_both_links) {
    const std::size_t there = send_first();
    submit(b, 7);
    meet(main_link);
    sent(main_link);
    const auto moves = servers.connection(there).moves();
    servers.connection(there).broken("reset");
    EXPECT_EQ(sent(asked), lines{"CLUSTER SLOTS"});
    tell(thirds("r1", "m2", "m3"));
    EXPECT_EQ(target(main_link), "r1:7000");
    EXPECT_EQ(target(there), "r1:7000");
    meet(there, "master", "2222");
    EXPECT_EQ(sent(there), lines{"a"}) << "replayed at the new master";
    EXPECT_NE(servers.connection(there).moves(), moves);
    meet(main_link, "master", "2222");
    EXPECT_EQ(sent(main_link), lines{"b"});
}

TEST_F(topology_cluster_durable, a_call_that_is_moved_goes_to_the_other_master_by_such_a_link) {
    const std::size_t there = send_first();
    reply(there, error("MOVED 7 m2:7000"));
    EXPECT_EQ(durably_serving(7), "m2:7000");
    EXPECT_FALSE(wanted(place_of("m2:7000")));
    const std::size_t next = durable_place_of("m2:7000");
    meet(next);
    EXPECT_EQ(sent(next), lines{"a"});
}

TEST_F(topology_cluster_durable, so_does_one_that_is_asked_for_elsewhere) {
    const std::size_t there = send_first();
    reply(there, error("ASK 7 m9:7000"));
    const std::size_t next = durable_place_of("m9:7000");
    EXPECT_FALSE(wanted(place_of("m9:7000")));
    meet(next);
    advance(100ms);
    EXPECT_EQ(sent(there), lines{"a"});
    reply(there, error("ASK 7 m9:7000"));
    EXPECT_EQ(sent(next), (lines{"ASKING", "a"}));
    EXPECT_EQ(durably_serving(7), "m1:7000");
    servers.connection(next).broken("reset");
    EXPECT_EQ(sent(there), lines{"a"}) << "by then it may be anywhere: its part's master knows";
    EXPECT_FALSE(wanted(main_link));
}

TEST_F(topology_cluster_durable, a_call_that_is_sent_on_in_vain_is_tried_again_there) {
    const std::size_t there = send_first();
    reply(there, error("TRYAGAIN Multiple keys request during rehashing of slot"));
    EXPECT_EQ(sent(there), lines{});
    advance(2s);
    EXPECT_EQ(sent(there), lines{"a"});
}

TEST_F(topology_cluster_durable, parts_that_move_take_what_waits_along) {
    submit(a, 7);
    learn_three();
    submit_durable(b, 7);
    tell_again(array(part_of(0, 6, "m1"), part_of(7, 10922, "m2"), part_of(10923, 16383, "m3")));
    const std::size_t first = place_of("m2:7000");
    const std::size_t second = durable_place_of("m2:7000");
    meet(first);
    meet(second);
    EXPECT_EQ(sent(first), lines{"a"});
    EXPECT_EQ(sent(second), lines{"b"});
}

TEST_F(topology_cluster_durable, a_master_without_parts_is_left_by_both) {
    submit(a, 7);
    learn_three();
    submit_durable(b, 6000);
    const std::size_t there = durable_place_of("m2:7000");
    meet(there);
    sent(there);
    reply(there, integer(1));
    tell_again(array(part_of(0, 10922, "m1"), part_of(10923, 16383, "m3")));
    EXPECT_FALSE(wanted(there));
    EXPECT_FALSE(servers.connection(there).target().known());
}

TEST_F(topology_cluster_durable, one_that_is_in_use_keeps_the_place_of_both) {
    submit(a, 7);
    learn_three();
    submit_durable(b, 6000);
    const std::size_t there = durable_place_of("m2:7000");
    meet(there);
    sent(there);  // and not answered
    tell_again(array(part_of(0, 10922, "m1"), part_of(10923, 16383, "m3")));
    EXPECT_EQ(target(there), "m2:7000");
    EXPECT_NE(place_of("m2:7000"), there);
    tell_again(thirds("m1", "m2", "m3"));
    EXPECT_EQ(durably_serving(6000), "m2:7000");
    EXPECT_EQ(servers.count(), 5u) << "and no seat is made beside";
}

TEST_F(topology_cluster_durable, a_seat_that_was_left_serves_another_master_with_both) {
    submit(a, 7);
    learn_three();
    submit_durable(b, 6000);
    const std::size_t there = durable_place_of("m2:7000");
    meet(there);
    sent(there);
    reply(there, integer(1));
    tell_again(array(part_of(0, 10922, "m1"), part_of(10923, 16383, "m3")));
    EXPECT_FALSE(wanted(there));
    tell_again(thirds("m1", "m4", "m3"));
    EXPECT_EQ(target(there), "m4:7000");
    submit_durable(b, 6000);
    EXPECT_TRUE(wanted(there));
    EXPECT_EQ(servers.count(), 5u);
}

TEST_F(topology_cluster_durable, what_either_connection_may_still_run_is_in_doubt) {
    const std::size_t there = send_first();
    submit(b, 7);
    meet(main_link);
    servers.connection(there).broken("reset");
    EXPECT_TRUE(servers.may_still_run(now, now));
    advance(1s);
    EXPECT_FALSE(servers.may_still_run(now, now));
    servers.connection(main_link).broken("reset");
    EXPECT_TRUE(servers.may_still_run(now, now));
}

}  // namespace
