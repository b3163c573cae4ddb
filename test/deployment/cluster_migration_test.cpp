// SPDX-License-Identifier: BSL-1.0
// Locks whose slot moves to another node of the cluster.
#include "deployment/cluster_migration.hpp"

#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

TEST_F(cluster_migration, slow_a_waiter_follows_its_slot) {
    run([&]() -> asio::awaitable<void> {
        const std::string name = named("lock");
        const mutex of_a{a, name};
        hold h = co_await of_a.async_lock({.lease = 60s});
        lock_attempt waiting = start_lock(mutex{b, name});
        co_await listens(name);
        group.migrate(slot, to);
        co_await listens(name);  // there
        EXPECT_FALSE(waiting.done());
        EXPECT_TRUE(h.owns_lock());
        co_await h.async_unlock();
        co_await done(waiting, "woken");
        EXPECT_TRUE(is_at(to, name));
    });
    EXPECT_EQ(b.stats().wakes_by_poll, 0u);
    EXPECT_EQ(b.stats().wakes_by_message, 1u);
}

// Its key moves, or does not, before it is released.
class cluster_migration_release : public cluster_migration,
                                  public testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(its_key, cluster_migration_release, testing::Bool());

TEST_P(cluster_migration_release, slow_on_the_way_counts_and_is_heard) {
    run([&]() -> asio::awaitable<void> {
        const std::string name = named("lock");
        const mutex of_a{a, name};
        const mutex of_b{b, name};
        hold h = co_await of_a.async_lock({.lease = 60s});
        lock_attempt waiting = start_lock(of_b);
        co_await listens(name);
        begin();
        if (GetParam()) {
            move(name);
        }
        const auto [ec] = co_await h.async_unlock(as_result);
        EXPECT_FALSE(ec) << ec.message();
        end();
        co_await done(waiting, "woken");
        co_await waiting.value().async_unlock();
        EXPECT_FALSE(is_at(from, name));
        EXPECT_FALSE(is_at(to, name));
    });
    EXPECT_EQ(b.stats().wakes_by_poll, 0u);
}

TEST_F(cluster_migration, slow_a_lock_is_granted_once_on_the_way) {
    run([&]() -> asio::awaitable<void> {
        const mutex moved_a{a, named("moved")};
        const mutex moved_b{b, named("moved")};
        const mutex new_a{a, named("new")};
        const mutex new_b{b, named("new")};
        hold moved = co_await moved_a.async_lock();
        begin();
        hold fresh = co_await new_a.async_lock();
        EXPECT_TRUE(is_at(to, named("new"))) << "a key that is not there yet belongs there";
        hold none = co_await new_b.async_try_lock();
        EXPECT_FALSE(none);
        none = co_await moved_b.async_try_lock();
        EXPECT_FALSE(none);
        move(named("moved"));
        none = co_await moved_b.async_try_lock();
        EXPECT_FALSE(none);
        const lock_status seen = co_await moved_b.async_status();
        EXPECT_TRUE(seen.holder.starts_with(a.id()));
        end();
        none = co_await moved_b.async_try_lock();
        EXPECT_FALSE(none);
        co_await moved.async_unlock();
        co_await fresh.async_unlock();
        EXPECT_FALSE(is_at(to, named("moved")));
        EXPECT_FALSE(is_at(to, named("new")));
    });
}

// They leave as one script, which is refused, as the keys of some are elsewhere.
TEST_F(cluster_migration, slow_locks_asked_for_together_are_granted_once_on_the_way) {
    run([&]() -> asio::awaitable<void> {
        constexpr int pairs = 8;
        std::vector<hold> held;
        std::vector<lock_attempt> tries;
        for (int i = 0; i < pairs; ++i) {
            const mutex m{a, named("held" + std::to_string(i))};
            held.push_back(co_await m.async_lock({.lease = 60s}));
        }
        hold none = co_await mutex{b, named("held0")}.async_try_lock();
        EXPECT_FALSE(none);
        begin();
        for (int i = 0; i < pairs; ++i) {
            for (const char* kind : {"held", "free"}) {
                const mutex m{b, named(kind + std::to_string(i))};
                tries.push_back(
                    lock_attempt{[&](auto token) { m.async_try_lock(std::move(token)); }});
            }
        }
        for (int i = 0; i < pairs; ++i) {
            co_await done(tries[2 * i], "held");
            co_await done(tries[2 * i + 1], "free");
            EXPECT_FALSE(tries[2 * i].value());
            EXPECT_TRUE(tries[2 * i + 1].value());
            EXPECT_TRUE(is_at(from, named("held" + std::to_string(i))));
            EXPECT_TRUE(is_at(to, named("free" + std::to_string(i))));
            co_await held[i].async_unlock();
            co_await tries[2 * i + 1].value().async_unlock();
        }
        EXPECT_TRUE(group.node(from).keys_in(slot).empty());
        EXPECT_TRUE(group.node(to).keys_in(slot).empty());
        end();
    });
}

TEST_F(cluster_migration, slow_holds_of_a_half_moved_slot_are_renewed) {
    run([&]() -> asio::awaitable<void> {
        const mutex one{a, named("moved")};
        const mutex two{a, named("unmoved")};
        hold moved = co_await one.async_lock({.lease = 6s});
        hold unmoved = co_await two.async_lock({.lease = 6s});
        begin();
        move(named("moved"));
        const time_point moved_until = moved.valid_until();
        const time_point unmoved_until = unmoved.valid_until();
        co_await renewed(a, 8);  // more than either lives without
        EXPECT_GT(moved.valid_until(), moved_until);
        EXPECT_GT(unmoved.valid_until(), unmoved_until);
        EXPECT_TRUE(is_at(to, named("moved")));
        EXPECT_TRUE(is_at(from, named("unmoved")));
        end();
        co_await renewed(a, 8);
        EXPECT_TRUE(moved.owns_lock());
        EXPECT_TRUE(unmoved.owns_lock());
        EXPECT_GT(group.raw(to).pttl(named("moved")), 0);
        EXPECT_GT(group.raw(to).pttl(named("unmoved")), 0);
        co_await moved.async_unlock();
        co_await unmoved.async_unlock();
    });
    EXPECT_EQ(a.stats().lost_expired + a.stats().lost_taken, 0u);
}

// Its node tells that the channel has left, and refuses what it had not read yet: that nobody
// listens any more. The answers behind that are those of other locks.
TEST_F(cluster_migration, slow_a_waiter_that_gives_up_as_its_slot_leaves_confuses_nobody) {
    if (!server_has_shard_messages()) {
        GTEST_SKIP() << "for Redis 7.0 or newer";
    }
    const std::string leaving = named("leaving");
    const std::string held = group.name_in(from, "held");
    const std::string free = group.name_in(from, "free");
    run([&]() -> asio::awaitable<void> {
        raw_client node = group.raw(from);
        for (const std::string& name : {leaving, held}) {
            const reply taken = redisson_acquire(node, name, "stranger:1", 60s);
            EXPECT_TRUE(taken.is_nil());
        }
        lock_attempt given_up = start_lock(mutex{b, leaving});
        co_await listens(leaving);
        node.send({"EVAL", "for i = 1, 6e7 do end", "0"});
        node.send({"DEL", leaving});
        node.send({"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", group.node(to).id()});
        given_up.cancel();
        co_await when([&] { return given_up.done(); });
        lock_attempt of_free = start_lock(mutex{b, free});
        lock_attempt of_held = start_lock(mutex{b, held});
        co_await listens(held);
        co_await done(of_free, "free");
        EXPECT_FALSE(of_held.done()) << "granted: " << of_held.value().owns_lock();
        raw_client stranger = group.raw(from);
        stranger.must({"DEL", held});
        stranger.must({"SPUBLISH", channel_of(held), "0"});
        co_await done(of_held, "released by its holder");
        EXPECT_EQ(group.raw(from).hlen(held), 1);
    });
}

TEST_F(cluster_migration, slow_a_slot_of_a_new_node_is_found) {
    run([&]() -> asio::awaitable<void> {
        const std::string name = named("lock");
        const mutex of_a{a, name};
        hold h = co_await of_a.async_lock({.lease = 6s});
        lock_attempt waiting = start_lock(mutex{b, name});
        co_await listens(name);
        const std::size_t added = co_await group.add_node();
        group.migrate(slot, added);
        co_await listens(name);
        co_await renewed(a, 2);
        EXPECT_TRUE(is_at(added, name));
        co_await wakes(h, waiting);
        co_await waiting.value().async_unlock();
        EXPECT_FALSE(is_at(added, name));
    });
}

// Nobody has asked the new node for anything when the renewal is due.
TEST_F(cluster_migration, slow_a_hold_is_renewed_at_a_new_node_that_the_client_was_told_of) {
    config curious = group.settings("c");
    curious.cluster->scan_interval = 20ms;
    client c{io, curious};
    run([&]() -> asio::awaitable<void> {
        const std::size_t added = co_await group.add_node();
        const mutex m{c, named("lock")};
        hold h = co_await m.async_lock({.lease = 6s});
        group.migrate(slot, added);
        co_await renewed(c, 2);
        EXPECT_TRUE(h.owns_lock());
        EXPECT_TRUE(is_at(added, named("lock")));
    });
    EXPECT_EQ(c.stats().lost_expired, 0u);
}

}  // namespace
