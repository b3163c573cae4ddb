// SPDX-License-Identifier: BSL-1.0
// Several locks as one in a cluster, each of another shard.
#include "deployment/cluster_test.hpp"

#include <conch/multi_lock.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class cluster_multi_lock : public cluster_test {
protected:
    static constexpr std::size_t shards = cluster_group::master_count;

    /// So many of them are held, by anybody.
    std::size_t held() const {
        std::size_t n = 0;
        for (std::size_t i = 0; i < shards; ++i) {
            n += group.raw(i).exists(names[i]) ? 1 : 0;
        }
        return n;
    }
    mutex lock(const client& of, std::size_t shard) const { return {of, names[shard]}; }
    asio::awaitable<void> comes_to(std::size_t n, const char* what) const {
        const bool came = co_await when([&] { return held() == n; }, long_patience);
        EXPECT_TRUE(came) << what;
    }

    const std::vector<std::string> names{group.name_in(0), group.name_in(1), group.name_in(2)};
    const multi_lock of_a{lock(a, 0), lock(a, 1), lock(a, 2)};
    const multi_lock of_b{lock(b, 2), lock(b, 1), lock(b, 0)};
};

TEST_F(cluster_multi_lock, slow_are_held_in_every_shard_or_in_none) {
    run([&]() -> asio::awaitable<void> {
        hold h = co_await of_a.async_lock();
        EXPECT_EQ(held(), shards);
        lock_attempt waiting = start_lock(of_b);
        const bool listens = co_await when([&] { return b.stats().subscriptions_now == 1; });
        EXPECT_TRUE(listens);
        EXPECT_FALSE(waiting.done());
        co_await h.async_unlock();
        co_await done(waiting, "all of them");
        EXPECT_GT(b.stats().wakes_by_message, 0u);
        h = std::move(waiting.value());
        EXPECT_EQ(held(), shards);
        co_await h.async_unlock();
        EXPECT_EQ(held(), 0u);
        for (std::size_t busy = 0; busy < shards; ++busy) {
            hold one = co_await lock(a, busy).async_lock();
            hold none = co_await of_b.async_try_lock();
            EXPECT_FALSE(none);
            co_await comes_to(1, "the others are given back");
            EXPECT_TRUE(one.owns_lock());
            co_await one.async_unlock();
        }
    });
}

TEST_F(cluster_multi_lock, slow_are_lost_with_the_one_of_any_shard) {
    run([&]() -> asio::awaitable<void> {
        for (std::size_t lost = 0; lost < shards; ++lost) {
            const hold h = co_await of_a.async_lock({.lease = 1s});
            group.raw(lost).must({"DEL", names[lost]});
            const auto [why] = co_await h.async_wait_lost(as_result);
            EXPECT_EQ(why, errc::lock_lost);
            co_await comes_to(0, "the others are given back");
        }
    });
}

}  // namespace
