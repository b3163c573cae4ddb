// SPDX-License-Identifier: BSL-1.0
// Semaphores in a cluster: the keys of one are in one hash slot, whatever its name.
#include "deployment/cluster_test.hpp"
#include "support/redis_test.hpp"

#include <conch/counting_semaphore.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class cluster_semaphore : public cluster_test {
protected:
    /// For each shard a name without and one with a hash tag.
    std::vector<std::string> names() const {
        std::vector<std::string> out;
        for (std::size_t i = 0; i < cluster_group::master_count; ++i) {
            out.push_back(group.name_in(i, "permits"));
            out.push_back("{" + out.back() + "}:orders");
        }
        return out;
    }
};

TEST_F(cluster_semaphore, slow_a_release_wakes_a_waiter_by_its_message) {
    run([&]() -> asio::awaitable<void> {
        for (const std::string& name : names()) {
            const counting_semaphore of_a{a, name};
            const counting_semaphore of_b{b, name};
            const bool set = co_await of_a.async_try_set(2);
            EXPECT_TRUE(set) << name;
            co_await of_a.async_acquire(2);
            bool done = false;
            of_b.async_acquire([&](error_code ec) {
                EXPECT_FALSE(ec) << ec.message();
                done = true;
            });
            const bool waits = co_await when([&] { return b.stats().subscriptions_now == 1; });
            EXPECT_TRUE(waits);
            EXPECT_FALSE(done);
            co_await of_a.async_release(2);
            const bool woken = co_await when([&] { return done; }, long_patience);
            EXPECT_TRUE(woken) << name;
            const std::int64_t left = co_await of_b.async_available();
            EXPECT_EQ(left, 1) << name;
            EXPECT_EQ(group.raw_at(name).get(name), "1");
        }
    });
}

TEST_F(cluster_semaphore, slow_a_name_whose_keys_were_apart_is_refused_at_once) {
    for (const char* name : {"{}x", "a{b", "a}b"}) {
        EXPECT_THROW((counting_semaphore{a, name}), std::invalid_argument) << name;
    }
}

}  // namespace
