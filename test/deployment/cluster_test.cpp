// SPDX-License-Identifier: BSL-1.0
// Locks in a cluster that is well: in every shard, at its master, woken by its messages.
#include "deployment/cluster_test.hpp"
#include "support/rate_algorithms.hpp"
#include "support/rights.hpp"

#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class cluster_locks : public cluster_test {
protected:
    /// A name in each shard.
    std::vector<std::string> names(const std::string& prefix = "lock") const {
        std::vector<std::string> out;
        for (std::size_t i = 0; i < cluster_group::master_count; ++i) {
            out.push_back(group.name_in(i, prefix));
        }
        return out;
    }
    /// What a node counted, of commands and errors.
    std::string counted(std::size_t i) const {
        raw_client r = group.raw(i);
        return r.must({"INFO", "commandstats"}).text + r.must({"INFO", "errorstats"}).text;
    }
    /// The lock is held by one client, and another is woken by the message of its release.
    asio::awaitable<void> hand_over(client& from, client& to, const std::string& name) {
        const mutex of_from{from, name};
        const mutex of_to{to, name};
        hold h = co_await of_from.async_lock({.lease = 60s});
        lock_attempt waiting = start_lock(of_to, {.lease = 60s});
        const bool heard = co_await when([&] {
            std::int64_t all = plain_listeners(name);
            for (std::size_t i = 0; i < group.size(); ++i) {
                all += shard_listeners(i, name);
            }
            return all == 1;
        });
        EXPECT_TRUE(heard) << name;
        EXPECT_FALSE(waiting.done());
        co_await h.async_unlock();
        co_await done(waiting, "woken");
        co_await waiting.value().async_unlock();
    }
};

TEST_F(cluster_locks, slow_one_client_holds_locks_in_every_shard) {
    run([&]() -> asio::awaitable<void> {
        std::vector<hold> held;
        for (const std::string& name : names()) {
            const mutex of_a{a, name, {.fenced = true}};
            hold h = co_await of_a.async_lock();
            EXPECT_GT(h.fence(), 0u);
            EXPECT_TRUE(group.raw_at(name).exists(name));
            held.push_back(std::move(h));
            const mutex of_b{b, name};
            hold none = co_await of_b.async_try_lock();
            EXPECT_FALSE(none) << name;
        }
        EXPECT_EQ(a.stats().holds_now, 3u);
        for (hold& h : held) {
            co_await h.async_unlock();
        }
        for (const std::string& name : names()) {
            EXPECT_FALSE(group.raw_at(name).exists(name));
        }
    });
}

TEST_F(cluster_locks, slow_a_release_wakes_waiters_in_every_shard_by_its_message) {
    run([&]() -> asio::awaitable<void> {
        for (const std::string& name : names()) {
            co_await hand_over(a, b, name);
        }
    });
    EXPECT_EQ(b.stats().wakes_by_message, 3u);
    EXPECT_EQ(b.stats().wakes_by_poll, 0u);
}

TEST_F(cluster_locks, slow_holds_of_all_shards_are_renewed) {
    run([&]() -> asio::awaitable<void> {
        std::vector<hold> held;
        for (const std::string& name : names()) {
            const mutex m{a, name};
            hold h = co_await m.async_lock({.lease = 6s});
            held.push_back(std::move(h));
        }
        co_await renewed(a, 9);
        for (const hold& h : held) {
            EXPECT_TRUE(h.owns_lock());
        }
        for (const std::string& name : names()) {
            EXPECT_GT(group.raw_at(name).pttl(name), 0);
        }
    });
}

TEST_F(cluster_locks, slow_status_and_force_reach_every_shard) {
    run([&]() -> asio::awaitable<void> {
        for (const std::string& name : names()) {
            const mutex of_a{a, name, {.fenced = true}};
            const mutex of_b{b, name, {.fenced = true}};
            hold h = co_await of_a.async_lock({.lease = 9s});
            const lock_status seen = co_await of_b.async_status();
            EXPECT_TRUE(seen.locked);
            EXPECT_TRUE(seen.holder.starts_with(a.id())) << seen.holder;
            EXPECT_EQ(seen.fence, h.fence());
            const bool forced = co_await of_b.async_force_unlock();
            EXPECT_TRUE(forced);
            const lock_status after = co_await of_b.async_status();
            EXPECT_FALSE(after.locked);
            const auto [why] = co_await h.async_wait_lost(as_result);
            EXPECT_EQ(why, errc::lock_lost);
        }
    });
}

TEST_F(cluster_locks, slow_rate_limits_are_shared_in_every_shard) {
    run([&]() -> asio::awaitable<void> {
        for (const rate_algorithm algorithm : rate_algorithms) {
            for (const std::string& name : names(name_of(algorithm))) {
                const rate two{.limit = 2, .window = 60s};
                const rate_limiter of_a{a, name, two, algorithm};
                const rate_limiter of_b{b, name, two, algorithm};
                const rate_verdict first = co_await of_a.async_try_acquire();
                const rate_verdict second = co_await of_b.async_try_acquire();
                const rate_verdict third = co_await of_a.async_try_acquire();
                EXPECT_TRUE(first.allowed) << name;
                EXPECT_TRUE(second.allowed) << name;
                EXPECT_FALSE(third.allowed) << name;
                EXPECT_EQ(third.count, 2u) << name;
                EXPECT_TRUE(group.raw_at(name).exists(name));
            }
        }
    });
}

TEST_F(cluster_locks, slow_token_mutexes_wait_for_each_other_in_every_shard) {
    run([&]() -> asio::awaitable<void> {
        for (const std::string& name : names("token")) {
            const token_mutex of_a{a, name};
            const token_mutex of_b{b, name};
            hold h = co_await of_a.async_lock();
            lock_attempt waiting = start_lock(of_b);
            const bool waits = co_await when([&] { return b.stats().subscriptions_now == 1; });
            EXPECT_TRUE(waits);
            EXPECT_FALSE(waiting.done());
            co_await h.async_unlock();
            co_await done(waiting, "woken");
            co_await waiting.value().async_unlock();
            const bool left = co_await when([&] { return b.stats().subscriptions_now == 0; });
            EXPECT_TRUE(left);
        }
    });
    EXPECT_EQ(b.stats().wakes_by_poll, 0u);
}

TEST_F(cluster_locks, slow_fair_mutexes_pass_from_client_to_client_in_every_shard) {
    run([&]() -> asio::awaitable<void> {
        for (const std::string& name : names("fair")) {
            const fair_mutex of_a{a, name};
            const fair_mutex of_b{b, name};
            hold h = co_await of_a.async_lock();
            lock_attempt waiting = start_lock(of_b);
            const bool waits = co_await when([&] { return b.stats().subscriptions_now == 1; });
            EXPECT_TRUE(waits);
            EXPECT_FALSE(waiting.done());
            co_await h.async_unlock();
            co_await done(waiting, "given the lock");
            co_await waiting.value().async_unlock();
            const bool left = co_await when([&] { return b.stats().subscriptions_now == 0; });
            EXPECT_TRUE(left);
        }
    });
    EXPECT_EQ(b.stats().wakes_by_poll, 0u);
}

TEST_F(cluster_locks, slow_a_client_goes_to_the_right_master_at_once) {
    run([&]() -> asio::awaitable<void> {
        for (const std::string& name : names("warm-up")) {
            co_await hand_over(a, b, name);
        }
        for (std::size_t i = 0; i < group.size(); ++i) {
            group.raw(i).reset_calls();
        }
        for (const std::string& name : names()) {
            co_await hand_over(a, b, name);
        }
        const mutex m{a, names("other").back()};
        hold h = co_await m.async_lock({.lease = 6s});
        co_await renewed(a, 3);
    });
    for (std::size_t i = 0; i < group.size(); ++i) {
        const std::string what = counted(i);
        EXPECT_EQ(what.find("errorstat_MOVED"), std::string::npos) << i << what;
        if (i < cluster_group::master_count) {
            EXPECT_NE(what.find("cmdstat_evalsha"), std::string::npos) << i;
            continue;
        }
        // Refused calls count here, too.
        for (const char* command : {"eval", "script|load", "ssubscribe", "subscribe", "spublish"}) {
            EXPECT_EQ(what.find(std::string{"cmdstat_"} + command), std::string::npos)
                << "the replica " << i << " was asked: " << command;
        }
    }
}

TEST_F(cluster_locks, slow_messages_are_those_of_the_shard_unless_that_is_off) {
    for (const auto mode :
         {sharded_messages::automatic, sharded_messages::on, sharded_messages::off}) {
        config c = push_only("messages");
        c.cluster->sharded = mode;
        client from{io, c};
        client to{io, c};
        if (mode == sharded_messages::on && !server_has_shard_messages()) {
            continue;
        }
        const bool sharded = mode != sharded_messages::off && server_has_shard_messages();
        const std::string name = group.name_in(1, "lock" + std::to_string(static_cast<int>(mode)));
        run([&]() -> asio::awaitable<void> {
            const mutex of_from{from, name};
            hold h = co_await of_from.async_lock({.lease = 60s});
            lock_attempt waiting = start_lock(mutex{to, name});
            const bool heard = co_await when([&] {
                return shard_listeners(1, name) == (sharded ? 1 : 0) &&
                       plain_listeners(name) == (sharded ? 0 : 1);
            });
            EXPECT_TRUE(heard) << "sharded: " << sharded;
            co_await h.async_unlock();
            co_await done(waiting, "woken");
        });
        EXPECT_EQ(to.stats().wakes_by_message, 1u);
        EXPECT_EQ(to.stats().wakes_by_poll, 0u);
    }
}

TEST_F(cluster_locks, slow_messages_of_a_shard_that_servers_refuse_are_not_waited_for) {
    for (std::size_t i = 0; i < group.size() && server_has_shard_messages(); ++i) {
        group.raw(i).must({"ACL", "SETUSER", std::string{conch_user}, "-ssubscribe", "-spublish"});
    }
    config c = group.settings("messages");
    c.cluster->sharded = sharded_messages::on;
    c.max_poll_interval = 100ms;
    client from{io, c};
    client to{io, c};
    run([&]() -> asio::awaitable<void> {
        const std::string name = group.name_in(1);
        const mutex of_from{from, name};
        hold h = co_await of_from.async_lock({.lease = 60s});
        lock_attempt waiting = start_lock(mutex{to, name});
        const bool asks = co_await when([&] { return to.stats().script_calls > 3; });
        EXPECT_TRUE(asks);
        co_await h.async_unlock();
        co_await done(waiting, "by asking again");
    });
    EXPECT_EQ(to.stats().wakes_by_message, 0u);
    EXPECT_GE(to.stats().wakes_by_poll, 1u);
}

TEST_F(cluster_locks, slow_others_are_told_and_heard_by_messages_of_the_shard) {
    if (!server_has_shard_messages()) {
        GTEST_SKIP() << "for Redis 7.0 or newer";
    }
    run([&]() -> asio::awaitable<void> {
        const std::string name = group.name_in(2);
        raw_client stranger = group.raw(2);
        raw_client ears = group.raw(2);
        const reply taken = redisson_acquire(stranger, name, "stranger:1", 60s);
        EXPECT_TRUE(taken.is_nil());
        lock_attempt waiting = start_lock(mutex{b, name});
        co_await listens(name);
        stranger.must({"DEL", name});
        EXPECT_EQ(stranger.must({"SPUBLISH", channel_of(name), "0"}).number, 1);
        co_await done(waiting, "woken");
        ears.must({"SSUBSCRIBE", channel_of(name)});
        co_await waiting.value().async_unlock();
        const reply heard = ears.receive();
        EXPECT_EQ(heard.items.at(0).text, "smessage");
        EXPECT_EQ(heard.items.at(1).text, channel_of(name));
        EXPECT_EQ(heard.items.at(2).text, "0");
    });
    EXPECT_EQ(b.stats().wakes_by_message, 1u);
    EXPECT_EQ(b.stats().wakes_by_poll, 0u);
}

}  // namespace
