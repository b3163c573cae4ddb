// SPDX-License-Identifier: BSL-1.0
// `conch run` and its kin where several servers stand for one: nothing but the URL is another.
#include "deployment/cluster_group.hpp"
#include "deployment/command_topology.hpp"
#include "deployment/sentinel_group.hpp"

#include <conch/clock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <vector>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::clock;

using words = std::vector<std::string>;

struct kind_row {
    words taken;          ///< the options of its holders
    std::size_t at_once;  ///< so many of them there may be
    words excluded;       ///< the options of one more that has to wait
    const char* asked;
    const char* told;  ///< by `conch status`
};

const std::vector<kind_row> kinds{
    {{"--fair"}, 1, {"--fair"}, "--fair", "lock: fair mutex, locked\n"},
    {{"--rw"}, 1, {"--shared"}, "--rw", "lock: read-write lock, written\n"},
    {{"--shared"}, 2, {"--rw"}, "--rw", "lock: read-write lock, read by 2\n"},
    {{"--at-most", "2"},
     2,
     {"--at-most", "2"},
     "--semaphore",
     "lock: semaphore, 2 of 2 permits are out\n"}};

class command_kinds_topology : public command_topology {
protected:
    static words run_of(const words& options, const words& command) {
        words all = conch({"run"});
        all.insert(all.end(), options.begin(), options.end());
        all.insert(all.end(), {"lock", "--"});
        all.insert(all.end(), command.begin(), command.end());
        return all;
    }
    void expect_each_kind() const {
        for (const kind_row& k : kinds) {
            SCOPED_TRACE(testing::PrintToString(k.taken));
            std::deque<program> holders;
            while (holders.size() < k.at_once) {
                holders.emplace_back(run_of(k.taken, {"sh", "-c", "echo in; exec cat"}), here());
                holders.back().wait_for("in\n");
            }
            const ended status = to_end({"status", k.asked, "lock"});
            EXPECT_TRUE(status.out.starts_with(k.told)) << testing::PrintToString(status);
            expect_one_more_waits(k, holders);
        }
    }

private:
    void expect_one_more_waits(const kind_row& k, std::deque<program>& holders) const {
        words options = k.excluded;
        program waiter{run_of(options, {"echo", "next"}), here()};
        expect_one_waits({k.asked});
        options.emplace_back("-n");
        program hasty{run_of(options, {"echo", "ran"}), here()};
        EXPECT_EQ(hasty.finish().status, 1) << testing::PrintToString(hasty.finish());
        EXPECT_EQ(hasty.finish().out, "");
        for (program& holder : holders) {
            holder.end_input();
            EXPECT_EQ(holder.finish().status, 0) << testing::PrintToString(holder.finish());
        }
        EXPECT_EQ(waiter.finish().out, "next\n") << testing::PrintToString(waiter.finish());
        program last{run_of(options, {"echo", "free"}), here()};
        EXPECT_EQ(last.finish().out, "free\n") << testing::PrintToString(last.finish());
    }
};

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

TEST_F(command_kinds_topology, slow_locks_of_each_kind_in_a_cluster) {
    const cluster_group group{};
    url = with_user(group.url());
    expect_each_kind();
}

TEST_F(command_kinds_topology, slow_locks_of_each_kind_by_sentinels) {
    const sentinel_group group{};
    url = with_query(with_user(group.url()), user_of_sentinels());
    expect_each_kind();
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
