// SPDX-License-Identifier: BSL-1.0
// `conch run` and its kin where several servers stand for one: nothing but the URL is another.
#include "support/program.hpp"
#include "support/rights.hpp"
#include "topology/cluster_group.hpp"
#include "topology/sentinel_group.hpp"

#include <conch/clock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::clock;

class command_topology : public testing::Test {
protected:
    using words = std::vector<std::string>;

    program::environment here() const { return {{"CONCH_REDIS", url}}; }
    static words conch(words arguments) {
        arguments.insert(arguments.begin(), CONCH_PROGRAM_PATH);
        return arguments;
    }
    ended to_end(const words& arguments) const {
        program p{conch(arguments), here()};
        return p.finish();
    }
    static std::string with_user(std::string address) {
        const std::string user = std::string{conch_user} + ':' + std::string{conch_password} + '@';
        return address.insert(address.find("://") + 3, user);
    }
    bool is_free() const { return to_end({"status", "lock"}).out == "lock: free\n"; }

    void expect_all_commands() const {
        program holder{conch({"run", "lock", "--", "sh", "-c", "echo in; exec cat"}), here()};
        holder.wait_for("in\n");
        const ended status = to_end({"status", "lock"});
        EXPECT_TRUE(status.out.starts_with("lock: locked\n")) << testing::PrintToString(status);
        const ended other = to_end({"run", "--wait", "0", "lock", "--", "echo", "ran"});
        EXPECT_EQ(other.status, 1) << testing::PrintToString(other);
        EXPECT_EQ(other.out, "");
        program waiter{conch({"run", "lock", "--", "echo", "next"}), here()};
        holder.end_input();
        EXPECT_EQ(holder.finish().status, 0) << testing::PrintToString(holder.finish());
        EXPECT_EQ(waiter.finish().out, "next\n") << testing::PrintToString(waiter.finish());
        EXPECT_TRUE(is_free());

        program robbed{conch({"run", "lock", "--", "sh", "-c", "echo in; exec cat"}), here()};
        robbed.wait_for("in\n");
        EXPECT_EQ(to_end({"release", "--force", "lock"}).status, 0);
        EXPECT_EQ(robbed.finish().status, 75) << testing::PrintToString(robbed.finish());
        EXPECT_TRUE(is_free());

        const words rate{"rate", "--limit", "1", "--per", "60", "jobs", "--", "echo", "ran"};
        EXPECT_EQ(to_end(rate).out, "ran\n");
        const ended second = to_end(
            {"rate", "--limit", "1", "--per", "60", "--wait", "0", "jobs", "--", "echo", "ran"});
        EXPECT_EQ(second.status, 1) << testing::PrintToString(second);
        EXPECT_EQ(second.out, "");
    }

    std::string url{};
};

TEST_F(command_topology, slow_all_commands_in_a_cluster) {
    const cluster_group group{};
    url = with_user(group.url());
    expect_all_commands();
}

TEST_F(command_topology, slow_all_commands_by_sentinels) {
    const sentinel_group group{};
    url = with_user(group.url()) + "?sentinel_user=" + std::string{conch_user} +
          "&sentinel_password=" + std::string{conch_password};
    expect_all_commands();
}

TEST_F(command_topology, slow_a_failover_is_waited_for) {
    sentinel_group group{};
    url = group.url();
    EXPECT_TRUE(is_free());
    group.server(0).kill();
    group.sentinel(0).kill();
    const auto killed = clock::now();
    const ended end = to_end({"run", "lock", "--", "echo", "ran"});
    if (end.status == 69) {  // what is waited for at most, on a very busy machine
        EXPECT_GE(clock::now() - killed, 5s) << end.err;
    } else {
        EXPECT_EQ(end.out, "ran\n") << end.err;
    }
}

}  // namespace
