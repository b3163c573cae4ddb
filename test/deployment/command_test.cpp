// SPDX-License-Identifier: BSL-1.0
// `conch run` and its kin where several servers stand for one: nothing but the URL is another.
#include "deployment/cluster_group.hpp"
#include "deployment/command_topology.hpp"
#include "deployment/sentinel_group.hpp"

#include <conch/clock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::clock;

TEST_F(command_topology, slow_all_commands_in_a_cluster) {
    const cluster_group group{};
    url = with_user(group.url());
    expect_all_commands();
}

TEST_F(command_topology, slow_all_commands_by_sentinels) {
    const sentinel_group group{};
    url = with_query(with_user(group.url()), user_of_sentinels());
    expect_all_commands();
}

TEST_F(command_topology, slow_a_failover_is_waited_for) {
    sentinel_group group{};
    url = with_query(with_user(group.url()), user_of_sentinels());
    EXPECT_TRUE(is_free());
    group.server(0).kill();
    group.sentinel(0).kill();
    const ended end = to_end({"run", "--connect-timeout", "60", "lock", "--", "echo", "ran"});
    EXPECT_EQ(end.out, "ran\n") << end.err;
    EXPECT_EQ(end.status, 0);
}

}  // namespace
