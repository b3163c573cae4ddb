// SPDX-License-Identifier: BSL-1.0
// One address for all sentinels: each connection may lead to another of them.
#include "unit/topology/sentinel_harness.hpp"

namespace {

using namespace conch::test;

struct topology_lone_sentinel : topology_sentinel {
    topology_lone_sentinel() : topology_sentinel{settings_with(1)} {}

    void begin(std::string_view master, int epoch) {
        submit(a);
        find_master(master, epoch);
        meet_master();
    }
    /// What is asked now names this master.
    void answer(std::string_view master, int epoch) {
        EXPECT_EQ(sent(asked), asked_again);
        reply(asked, names(master, epoch));
    }
    /// The connection ends; the next one leads to a sentinel that names this master.
    void next_one_names(std::string_view master, int epoch) {
        if (servers.connection(asked).ready()) {
            servers.connection(asked).broken("reset");
        }
        advance(100ms);
        find_master(master, epoch);
    }
};

TEST_F(topology_lone_sentinel, that_names_a_dead_master_is_left_for_another) {
    begin("m1", 1);
    servers.connection(main_link).broken("reset");
    answer("m1", 1);
    advance(100ms);
    servers.connection(main_link).broken("refused");
    answer("m1", 1);
    EXPECT_TRUE(servers.connection(asked).ready()) << "it may not know yet";
    advance(1s);
    ASSERT_TRUE(wanted(main_link));
    sent(asked);
    servers.connection(main_link).broken("refused");
    reply(asked, names("m1", 1));
    ASSERT_FALSE(servers.connection(asked).ready());
    EXPECT_FALSE(wanted(asked)) << "after a pause";
    advance(100ms);
    find_master("m2", 2);
    EXPECT_EQ(target(main_link), "m2:6379");
    EXPECT_TRUE(wanted(main_link));
}

TEST_F(topology_lone_sentinel, that_knows_less_is_left_for_another) {
    begin("m2", 2);
    const auto connection = servers.connection(main_link).wanted();
    next_one_names("m1", 1);
    EXPECT_TRUE(servers.connection(asked).ready());
    advance(1s);
    EXPECT_FALSE(servers.connection(asked).ready());
    next_one_names("m2", 2);
    advance(1s);
    EXPECT_TRUE(servers.connection(asked).ready()) << "it is kept";
    EXPECT_EQ(servers.connection(main_link).wanted(), connection);
}

TEST_F(topology_lone_sentinel, that_knows_less_is_not_believed_before_its_third_look) {
    begin("m2", 2);
    next_one_names("m1", 1);
    next_one_names("m2", 2);
    next_one_names("m1", 1);
    next_one_names("m1", 1);
    EXPECT_EQ(target(main_link), "m2:6379");
    next_one_names("m1", 1);
    EXPECT_EQ(target(main_link), "m1:6379") << "it was told to monitor another";
}

}  // namespace
