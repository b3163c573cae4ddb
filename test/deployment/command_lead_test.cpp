// SPDX-License-Identifier: BSL-1.0
// `conch run --lead NAME -- COMMAND` where several servers stand for one: no two commands run at
// once, and the next begins.
#include "deployment/cluster_group.hpp"
#include "deployment/command_topology.hpp"
#include "deployment/sentinel_group.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>

#include <signal.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>

namespace {

using namespace conch::test;

class command_lead_topology : public command_topology {
protected:
    /// Its command has a file for itself until nothing of it is left, or tells that it has not.
    words candidate() const {
        return conch({"run", "--lead", "--lease", "4", "lock", "--", "sh", "-c",
                      "exec 9>>" + told_ + "; flock -n 9 || echo beside another >>" + told_ +
                          "; echo leads >>" + told_ + "; exec cat"});
    }
    bool comes_true(auto condition) { return run_until(io_, condition, 60s); }
    /// Waits until one more command has begun, after the end of all before.
    bool begins_a_term() {
        std::string told;
        const bool begun = comes_true([&] {
            std::ifstream from{told_};
            told.assign(std::istreambuf_iterator<char>{from}, {});
            return std::ranges::count(told, '\n') > terms_;
        });
        terms_ = std::ranges::count(told, '\n');
        EXPECT_EQ(told.find("beside another"), told.npos) << told;
        return begun;
    }
    /// Waits until just one candidate stands in line.
    bool one_waits(auto raw_at_master) {
        return comes_true([&] {
            const words length{"ZCARD", "redisson_lock_timeout:{lock}"};
            return raw_at_master().must(length).number == 1;
        });
    }

private:
    temporary_folder folder_{};
    const std::string told_ = folder_.path() + "/told";
    std::ptrdiff_t terms_ = 0;
    asio::io_context io_{};
};

TEST_F(command_lead_topology, slow_who_ended_or_was_killed_is_followed_in_a_cluster) {
    const cluster_group group{};
    url = with_user(group.url());
    const auto master = [&] { return group.raw_at("lock"); };
    program one{candidate(), here()};
    ASSERT_TRUE(begins_a_term());
    program other{candidate(), here()};
    ASSERT_TRUE(one_waits(master));
    one.end_input();
    EXPECT_EQ(one.finish().status, 0) << testing::PrintToString(one.finish());
    ASSERT_TRUE(begins_a_term());
    program next{candidate(), here()};
    ASSERT_TRUE(one_waits(master));
    other.signal(SIGKILL);
    ASSERT_TRUE(begins_a_term());
}

TEST_F(command_lead_topology, slow_a_failover_that_outlasts_the_lease_is_followed_by_a_term) {
    sentinel_group group{};
    url = with_query(with_user(group.url()), user_of_sentinels());
    for (std::size_t i = 0; i < sentinel_group::sentinel_count; ++i) {
        raw_client{group.sentinel(i).socket_path()}.must(
            {"SENTINEL", "SET", "conch-test", "down-after-milliseconds", "8000"});
    }
    program one{candidate(), here()};
    ASSERT_TRUE(begins_a_term());
    program other{candidate(), here()};
    ASSERT_TRUE(one_waits([&] { return group.raw(0); }));
    ASSERT_TRUE(comes_true([&] { return group.replicated(0); }));
    group.server(0).kill();
    ASSERT_TRUE(begins_a_term());
    ASSERT_TRUE(comes_true([&] { return group.calm(); }));
    ASSERT_TRUE(one_waits([&] { return group.raw(group.master_by(0)); }));
}

}  // namespace
