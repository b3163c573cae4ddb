// SPDX-License-Identifier: BSL-1.0
// Latches in a cluster: the keys and the channel of one are in one hash slot, or its name is
// refused.
#include "deployment/cluster_test.hpp"
#include "support/redis_test.hpp"

#include <conch/latch.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

using cluster_latch = cluster_test;

TEST_F(cluster_latch, slow_one_that_opens_lets_a_waiter_of_another_client_go) {
    run([&]() -> asio::awaitable<void> {
        for (std::size_t i = 0; i < cluster_group::master_count; ++i) {
            const std::string name = group.name_in(i, "start");
            const latch of_a{a, name};
            const latch of_b{b, name};
            const bool set = co_await of_a.async_try_set_count(2);
            EXPECT_TRUE(set) << name;
            bool done = false;
            of_b.async_wait([&](error_code ec) {
                EXPECT_FALSE(ec) << ec.message();
                done = true;
            });
            const bool waits = co_await when([&] { return b.stats().subscriptions_now == 1; });
            EXPECT_TRUE(waits);
            co_await of_a.async_count_down();
            EXPECT_FALSE(done);
            co_await of_a.async_count_down();
            const bool woken = co_await when([&] { return done; }, long_patience);
            EXPECT_TRUE(woken) << name;
            const std::int64_t left = co_await of_b.async_count();
            EXPECT_EQ(left, 0) << name;
        }
    });
}

TEST_F(cluster_latch, slow_a_name_with_a_brace_is_refused_at_once) {
    for (const char* name : {"{x}", "x{y}", "{}x", "a{b", "a}b"}) {
        EXPECT_THROW((latch{a, name}), std::invalid_argument) << name;
    }
}

}  // namespace
