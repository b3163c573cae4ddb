// SPDX-License-Identifier: BSL-1.0
// Servers that answer something else than they were asked for: nobody reads beyond the answer, and
// the reason is told.
#include "unit/topology/cluster_harness.hpp"
#include "unit/topology/sentinel_harness.hpp"

namespace {

using namespace conch::test;
using conch::errc;

/// Each type of RESP3, empty and too short aggregates, and aggregates where text is expected.
const lines wrong{integer(7),
                  "#t\r\n",
                  ",1.5\r\n",
                  "(123\r\n",
                  "+OK\r\n",
                  bulk("some text"),
                  "=7\r\ntxt:abc\r\n",
                  "*0\r\n",
                  "%0\r\n",
                  "~0\r\n",
                  array(integer(1)),
                  array(bulk("m1")),
                  array(array(bulk("m1")), bulk("6379")),
                  array(array(), array()),
                  "%1\r\n" + array() + bulk("x")};

struct topology_wrong_answers : topology_sentinel, ::testing::WithParamInterface<std::string> {};

TEST_P(topology_wrong_answers, where_the_master_is_are_no_address) {
    submit(a);
    meet_sentinel();
    reply(asked, subscribed_to("+switch-master") + as_of(1) + GetParam());
    EXPECT_FALSE(wanted(main_link));
    servers.connection(asked).broken("refused");  // the other one
    EXPECT_EQ(servers.last_words(), "sentinel s1:26379: its answer is no address");
    EXPECT_EQ(servers.main().why_down(), errc::protocol_error);
}

struct topology_wrong_roles : topology_sentinel, ::testing::WithParamInterface<std::string> {};

TEST_P(topology_wrong_roles, are_no_role) {
    submit(a);
    find_master("m1");
    servers.connection(main_link).connected();
    sent(main_link);
    reply(main_link, hello(7) + ok() + GetParam());
    EXPECT_FALSE(wanted(main_link));
    EXPECT_EQ(servers.last_words(), "INFO replication was not answered with a role");
    EXPECT_EQ(servers.main().why_down(), errc::protocol_error);
}

TEST_P(topology_wrong_answers, tell_no_epoch) {
    submit(a);
    meet_sentinel();
    reply(asked, subscribed_to("+switch-master") + GetParam() + at("m1"));
    EXPECT_EQ(target(main_link), "m1:6379");
}

struct cluster_wrong_answers : topology_cluster, ::testing::WithParamInterface<std::string> {
    /// The slots are told so: no master is known, and a node is asked again.
    void is_no_part(const std::string& slots) {
        submit(a, 7);
        meet_node();
        tell(integer(0) + slots);
        EXPECT_FALSE(wanted(main_link)) << slots;
        for (int i = 0; i < 20 && !wanted(asked); ++i) {
            advance(500ms);
        }
        EXPECT_TRUE(wanted(asked));
    }
};

TEST_P(cluster_wrong_answers, are_no_slots) { is_no_part(GetParam()); }
TEST_P(cluster_wrong_answers, are_no_range_of_slots) { is_no_part(array(GetParam())); }
TEST_P(cluster_wrong_answers, are_no_master) {
    is_no_part(array(array(integer(0), integer(16383), GetParam())));
}

INSTANTIATE_TEST_SUITE_P(each, cluster_wrong_answers, ::testing::ValuesIn(wrong));
INSTANTIATE_TEST_SUITE_P(each, topology_wrong_answers, ::testing::ValuesIn(wrong));
INSTANTIATE_TEST_SUITE_P(each, topology_wrong_roles, ::testing::ValuesIn(wrong));

}  // namespace
