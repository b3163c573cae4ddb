// SPDX-License-Identifier: BSL-1.0
// A cluster that a proxy hides looks like one server, but refuses scripts with keys of several hash
// slots. So does a cluster of one node whose client was not told that it is one.
#include "support/run.hpp"
#include "deployment/cluster_node.hpp"
#include "deployment/group_settings.hpp"
#include "deployment/hash_slot.hpp"

#include <conch/conch.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

TEST(hidden_cluster, slow_locks_of_several_hash_slots_are_renewed_by_a_script_for_each_slot) {
    const cluster_node node;
    node.add_slots(0, slot_count);
    asio::io_context io;
    const std::string url = "redis://127.0.0.1:" + std::to_string(node.port());
    client c{io, group_settings(config::from_url(url), "conch")};
    std::vector<hold> holds(20);
    const auto take = [&](std::size_t i) -> asio::awaitable<void> {
        const mutex m{c, (i % 2 == 0 ? "{x}" : "{y}") + std::to_string(i)};
        holds[i] = co_await m.async_lock({.lease = 3s});
    };
    const auto body = [&]() -> asio::awaitable<void> {
        co_await mutex{c, "warm"}.async_lock();  // the cluster is up, and the connection made
        task_group group{io.get_executor()};
        for (std::size_t i = 0; i < holds.size(); ++i) {
            group.spawn(take(i));
        }
        co_await group.join();
        const stats before = c.stats();
        const bool renewed = co_await when(
            [&] { return c.stats().renewals >= before.renewals + 3 * holds.size(); });
        EXPECT_TRUE(renewed);
        const std::uint64_t renewals = c.stats().renewals - before.renewals;
        EXPECT_LE(c.stats().renewal_batches - before.renewal_batches, renewals / 4);
        EXPECT_EQ(c.stats().renewal_failures, 0u);
        EXPECT_TRUE(std::ranges::all_of(holds, &hold::owns_lock));
        holds.clear();
        const bool released = co_await when([&] { return node.raw().dbsize() == 0; });
        EXPECT_TRUE(released);
    };
    run_test(io, body(), std::chrono::minutes{1});
}

}  // namespace
