// SPDX-License-Identifier: BSL-1.0
// Which connections are up, down and unused, as it is told.
#include "unit/topology/cluster_harness.hpp"
#include "unit/topology/sentinel_harness.hpp"

#include <string>

namespace {

using namespace conch::test;

struct topology_one_server : topology_harness {
    topology_one_server() : topology_harness{conch::config{}} {}

    const std::string server = "127.0.0.1:6379";
};

TEST_F(topology_one_server, is_down_from_its_first_use_until_it_was_greeted) {
    EXPECT_EQ(changes, lines{});
    servers.main().submit(a);
    EXPECT_EQ(changes, lines{server + " unused to down"});
    changes.clear();
    servers.connection(main_link).broken("refused");
    EXPECT_EQ(changes, lines{}) << "it still is";
    advance(1s);
    meet(main_link);
    EXPECT_EQ(changes, lines{server + " down to up"});
}

TEST_F(topology_one_server, is_down_from_its_loss_until_it_was_greeted_again) {
    servers.main().submit(a);
    meet(main_link);
    changes.clear();
    servers.connection(main_link).broken("reset");
    EXPECT_EQ(changes, lines{server + " up to down"});
    changes.clear();
    advance(1s);
    meet(main_link);
    EXPECT_EQ(changes, lines{server + " down to up"});
}

TEST_F(topology_one_server, is_unused_after_the_end) {
    servers.main().submit(a);
    meet(main_link);
    changes.clear();
    servers.close();
    servers.close();
    EXPECT_EQ(changes, lines{server + " up to unused"});
}

TEST_F(topology_one_server, that_was_down_is_unused_after_the_end) {
    servers.main().submit(a);
    changes.clear();
    servers.close();
    EXPECT_EQ(changes, lines{server + " down to unused"});
}

TEST_F(topology_one_server, that_nobody_used_is_not_told_of) {
    servers.close();
    EXPECT_EQ(changes, lines{});
}

TEST_F(topology_sentinel, is_not_told_of_but_its_master_is) {
    submit(a);
    EXPECT_EQ(changes, lines{" unused to down"}) << "nobody knows where it is";
    find_master("m1");
    meet_master();
    EXPECT_EQ(changes, (lines{" unused to down", "m1:6379 down to up"}));
    servers.connection(asked).broken("reset");
    EXPECT_EQ(changes.size(), 2u);
}

TEST_F(topology_sentinel, both_connections_to_a_master_are_told_of_when_another_takes_its_place) {
    submit(a);
    durable().use();
    find_master("m1");
    meet_master();
    meet_master("master", "1111", durable_link);
    changes.clear();
    reply(asked, message("+switch-master", "m m1 6379 m2 6379"));
    sent(asked);
    reply(asked, names("m2", 2));
    EXPECT_EQ(changes, (lines{"m1:6379 up to down", "m1:6379 up to down"}));
    changes.clear();
    meet_master();
    EXPECT_EQ(changes, lines{"m2:6379 down to up"});
}

TEST_F(topology_cluster, a_master_that_lost_its_parts_is_unused_and_was_never_down) {
    submit(a, 7);
    learn_three();
    meet(main_link);
    sent(main_link);
    reply(main_link, integer(1));
    submit(b, 6000);
    const std::size_t second = place_of("m2:7000");
    meet(second);
    sent(second);
    reply(second, integer(1));
    advance(2s);
    sent(asked);
    changes.clear();
    tell(array(part_of(0, 10922, "m1"), part_of(10923, 16383, "m3")));
    EXPECT_FALSE(wanted(second));
    EXPECT_EQ(changes, lines{"m2:7000 up to unused"});
}

TEST_F(topology_cluster, a_master_that_nobody_asks_is_not_told_of) {
    submit(a, 7);
    learn_three();
    meet(main_link);
    EXPECT_EQ(changes, (lines{" unused to down", "m1:7000 down to up"}));
}

}  // namespace
