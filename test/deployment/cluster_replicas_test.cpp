// SPDX-License-Identifier: BSL-1.0
// Locks that replicas must have, in a cluster.
#include "deployment/cluster_test.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

class cluster_replicas : public cluster_test {
protected:
    static constexpr std::size_t master = 1;
    static constexpr std::size_t replica = 4;
    static constexpr std::size_t other_master = 0;
    static constexpr mutex_options asks{.replicas = {.at_least = 1, .within = 500ms}};

    void SetUp() override {
        run([&]() -> asio::awaitable<void> {
            for (std::size_t i = 0; i < cluster_group::master_count; ++i) {
                co_await is_followed(i);
            }
        });
    }
    bool is_at(std::size_t node, const std::string& key) {
        const auto keys = group.node(node).keys_in(slot_of(key));
        return std::ranges::find(keys, key) != keys.end();
    }
    asio::awaitable<void> is_free(const std::string& key) {
        const bool gone = co_await when([&] { return !group.raw_at(key).exists(key); });
        EXPECT_TRUE(gone) << key << " is left over";
    }
    /// The lock can't be had, and nothing is left of it.
    asio::awaitable<void> is_refused(const mutex& m) {
        const auto [ec, h] = co_await m.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::not_replicated) << ec.message();
        EXPECT_FALSE(h);
    }
    /// The replica of this master is there again, and acknowledges what it gets.
    asio::awaitable<void> is_followed(std::size_t node) {
        co_await group.settle();
        const bool acknowledges =
            co_await when([&] { return group.replicated(node); }, long_patience);
        EXPECT_TRUE(acknowledges);
    }
    asio::awaitable<void> reported(std::uint64_t renewals) const {
        const std::uint64_t before = a.stats().renewals_not_replicated;
        const bool so_many = co_await when(
            [&] { return a.stats().renewals_not_replicated >= before + renewals; }, long_patience);
        EXPECT_TRUE(so_many) << "not reported";
    }

    const std::string name = group.name_in(master);
};

TEST_F(cluster_replicas, slow_a_granted_lock_is_at_the_replica_of_its_master) {
    run([&]() -> asio::awaitable<void> {
        for (std::size_t i = 0; i < cluster_group::master_count; ++i) {
            const std::string key = group.name_in(i);
            const mutex m{a, key, {.fenced = true, .replicas = asks.replicas}};
            for (int n = 0; n < 20; ++n) {
                hold h = co_await m.async_lock();
                EXPECT_TRUE(is_at(cluster_group::master_count + i, key)) << i;
                co_await h.async_unlock();
            }
        }
    });
    EXPECT_EQ(a.stats().not_replicated, 0u);
}

TEST_F(cluster_replicas, slow_a_stopped_replica_fails_who_asks_for_it_and_nobody_else) {
    run([&]() -> asio::awaitable<void> {
        const mutex m{a, name, asks};
        const mutex plain{a, group.name_in(master, "plain")};
        const mutex elsewhere{a, group.name_in(other_master), asks};
        hold warm = co_await m.async_lock();
        co_await warm.async_unlock();
        group.node(replica).freeze();
        co_await is_refused(m);
        co_await is_free(name);
        hold of_plain = co_await plain.async_lock();
        hold of_elsewhere = co_await elsewhere.async_lock();
        EXPECT_TRUE(of_elsewhere.owns_lock());
        EXPECT_EQ(a.stats().not_replicated, 1u);
        group.node(replica).thaw();
        co_await is_followed(master);
        hold again = co_await m.async_lock();
        EXPECT_TRUE(is_at(replica, name));
    });
}

TEST_F(cluster_replicas, slow_a_held_lock_whose_slot_moves_is_renewed_and_asked_about_there) {
    run([&]() -> asio::awaitable<void> {
        const std::string moving = group.name_in(other_master, "moving");
        const mutex m{a, moving, asks};
        hold h = co_await m.async_lock({.lease = 6s});
        group.begin_migration(slot_of(moving), other_master, master);
        co_await renewed(a, 2);
        group.move_key(moving, other_master, master);
        co_await renewed(a, 3);
        EXPECT_TRUE(is_at(master, moving));
        group.end_migration(slot_of(moving), other_master, master);
        co_await renewed(a, 3);
        EXPECT_TRUE(h.owns_lock());
        group.node(replica).freeze();
        co_await reported(2);
        EXPECT_TRUE(h.owns_lock());
        group.node(replica).thaw();
        co_await h.async_unlock();
        EXPECT_FALSE(is_at(master, moving));
    });
    EXPECT_EQ(a.stats().lost_expired + a.stats().lost_taken, 0u);
}

TEST_F(cluster_replicas, slow_a_replica_of_the_old_master_does_not_speak_for_the_new_one) {
    run([&]() -> asio::awaitable<void> {
        const std::string moving = group.name_in(other_master, "moving");
        const mutex m{a, moving, asks};
        const mutex warm{a, name, asks};
        hold warm_hold = co_await warm.async_lock();
        co_await warm_hold.async_unlock();
        group.begin_migration(slot_of(moving), other_master, master);
        group.node(replica).freeze();
        const std::uint64_t before = a.stats().redirections;
        co_await is_refused(m);
        EXPECT_GT(a.stats().redirections, before) << "it was asked for at the new one";
        const bool gone =
            co_await when([&] { return !is_at(other_master, moving) && !is_at(master, moving); });
        EXPECT_TRUE(gone);
        group.node(replica).thaw();
        co_await is_followed(master);
        hold h = co_await m.async_lock();
        EXPECT_TRUE(is_at(replica, moving));
        group.end_migration(slot_of(moving), other_master, master);
        co_await h.async_unlock();
    });
}

TEST_F(cluster_replicas, slow_a_lock_outlives_its_master_and_is_asked_about_at_the_next) {
    run([&]() -> asio::awaitable<void> {
        const mutex of_a{a, name, asks};
        const mutex of_b{b, name, asks};
        hold h = co_await of_a.async_lock({.lease = 10s});
        const std::size_t now = co_await group.fail_over(master);  // at once: the replica has it
        EXPECT_EQ(now, replica);
        co_await renewed(a, 1);
        EXPECT_TRUE(h.owns_lock());
        EXPECT_TRUE(is_at(replica, name));
        hold none = co_await of_b.async_try_lock();
        EXPECT_FALSE(none);
        co_await h.async_unlock();
        co_await is_refused(of_b);  // there is no replica
        co_await is_free(name);
        group.node(master).start();
        co_await is_followed(replica);
        EXPECT_EQ(group.replica_of(replica), master);
        hold next = co_await of_b.async_lock();
        EXPECT_TRUE(is_at(master, name));
        co_await next.async_unlock();
    });
    EXPECT_EQ(a.stats().lost_expired + a.stats().lost_taken, 0u);
}

TEST_F(cluster_replicas, slow_waiters_are_woken_by_the_message_of_a_release) {
    run([&]() -> asio::awaitable<void> {
        const mutex of_a{a, name, asks};
        hold h = co_await of_a.async_lock({.lease = 60s});
        lock_attempt waiting = start_lock(mutex{b, name, asks}, {.lease = 60s});
        co_await listens(name);
        group.migrate(slot_of(name), other_master);
        co_await listens(name);  // there
        co_await h.async_unlock();
        co_await done(waiting, "woken");
        EXPECT_TRUE(is_at(cluster_group::master_count + other_master, name));
        co_await waiting.value().async_unlock();
    });
    EXPECT_EQ(b.stats().wakes_by_poll, 0u);
}

}  // namespace
