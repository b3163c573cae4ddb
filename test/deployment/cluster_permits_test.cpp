// SPDX-License-Identifier: BSL-1.0
// Permits with leases in a cluster: the keys of a semaphore are in one hash slot, whatever its
// name.
#include "deployment/cluster_test.hpp"
#include "support/redis_test.hpp"

#include <conch/semaphore.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class cluster_permits : public cluster_test {
protected:
    /// For each shard a name without and one with a hash tag.
    std::vector<std::string> names() const {
        std::vector<std::string> out;
        for (std::size_t i = 0; i < cluster_group::master_count; ++i) {
            out.push_back(group.name_in(i, "leased"));
            out.push_back("{" + out.back() + "}:orders");
        }
        return out;
    }
};

TEST_F(cluster_permits, slow_a_release_wakes_a_waiter_by_its_message) {
    run([&]() -> asio::awaitable<void> {
        for (const std::string& name : names()) {
            const semaphore of_a{a, name};
            const semaphore of_b{b, name};
            const bool set = co_await of_a.async_try_set_permits(2);
            EXPECT_TRUE(set) << name;
            hold two = co_await of_a.async_acquire(2);
            hold one;
            of_b.async_acquire([&](error_code ec, hold h) {
                EXPECT_FALSE(ec) << ec.message();
                one = std::move(h);
            });
            const bool waits = co_await when([&] { return b.stats().subscriptions_now == 1; });
            EXPECT_TRUE(waits);
            EXPECT_FALSE(one);
            co_await two.async_unlock();
            const bool woken = co_await when([&] { return one.owns_lock(); }, long_patience);
            EXPECT_TRUE(woken) << name;
            const std::int64_t out = co_await of_a.async_acquired();
            EXPECT_EQ(out, 1) << name;
            EXPECT_EQ(group.raw_at(name).get(name), "1");
            co_await one.async_unlock();
        }
    });
}

TEST_F(cluster_permits, slow_of_all_shards_are_renewed) {
    run([&]() -> asio::awaitable<void> {
        std::vector<hold> holds;
        for (const std::string& name : names()) {
            const semaphore s{a, name};
            co_await s.async_set_permits(3);
            holds.push_back(co_await s.async_acquire(2, {.lease = 1s}));
        }
        const bool renewed = co_await when(
            [&] { return a.stats().renewal_batches >= 4 * holds.size(); }, long_patience);
        EXPECT_TRUE(renewed);
        for (const hold& h : holds) {
            EXPECT_TRUE(h.owns_lock());
        }
    });
}

TEST_F(cluster_permits, slow_a_name_whose_keys_were_apart_is_refused_at_once) {
    for (const char* name : {"{}x", "a{b", "a}b"}) {
        EXPECT_THROW((semaphore{a, name}), std::invalid_argument) << name;
    }
}

}  // namespace
