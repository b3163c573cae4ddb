// SPDX-License-Identifier: BSL-1.0
#include "topology/node_list.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace conch::topology {
namespace {

struct topology_node_list : testing::Test {
    static slot_range slots_of(const char* host) { return {0, 0, {host, 1, {}}}; }
    /// From the present one on, each once.
    std::string round() {
        std::string all;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            all += nodes.asked().host;
            nodes.turn_to_next();
        }
        return all;
    }

    std::vector<server_address> settings{{"a", 1}, {"b", 1}};
    node_list nodes{settings};
};

TEST_F(topology_node_list, those_of_the_settings_are_asked_first) { EXPECT_EQ(round(), "ab"); }

TEST_F(topology_node_list, then_the_masters_that_became_known_each_once) {
    nodes.know({slots_of("c"), slots_of("b"), slots_of("c"), slots_of("d")});
    EXPECT_EQ(round(), "abcd");
}

TEST_F(topology_node_list, the_one_that_is_asked_stays_while_it_is_known) {
    nodes.know({slots_of("c"), slots_of("d")});
    nodes.turn_to_next();
    nodes.turn_to_next();
    nodes.know({slots_of("d"), slots_of("c")});
    EXPECT_EQ(round(), "cabd");
    nodes.know({slots_of("d")});
    EXPECT_EQ(round(), "abd");
}

TEST_F(topology_node_list, whoever_leaves_goes_to_the_preferred_one) {
    nodes.know({slots_of("c"), slots_of("d")});
    nodes.prefer({"d", 1, {}});
    nodes.turn_to_next();
    EXPECT_EQ(nodes.asked().host, "d");
    nodes.prefer({"unknown so far", 1, {}});
    nodes.turn_to_next();
    EXPECT_EQ(nodes.asked().host, "unknown so far");
    nodes.prefer({"a", 1, {}});
    nodes.turn_to_next();
    EXPECT_EQ(nodes.asked().host, "a");
}

TEST_F(topology_node_list, of_more_than_any_cluster_has_the_rest_is_left_out) {
    std::vector<slot_range> nonsense;
    for (std::size_t i = 0; i < node_list::most + 10; ++i) {
        nonsense.push_back(slots_of(("n" + std::to_string(i)).c_str()));
    }
    nodes.know(nonsense);
    EXPECT_EQ(nodes.size(), node_list::most);
    nodes.prefer({"one more", 1, {}});
    EXPECT_EQ(nodes.size(), node_list::most);
    EXPECT_EQ(nodes.asked().host, "a");
}

}  // namespace
}  // namespace conch::topology
