// SPDX-License-Identifier: BSL-1.0
// Locks in a cluster whose nodes fail, and are replaced.
#include "support/fenced_resource.hpp"
#include "support/told_in_time.hpp"
#include "deployment/cluster_test.hpp"
#include "deployment/unreplicated_hold.hpp"

#include <optional>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

class cluster_failover : public cluster_test {
protected:
    static constexpr std::size_t master = 1;
    static constexpr std::size_t replica = 4;

    /// What is written to the master from now on does not even reach the replica's socket.
    void cut_off_the_replica() {
        EXPECT_TRUE(group.replicated(master));
        group.node(replica).freeze();
        EXPECT_EQ(group.raw(master).must({"CLIENT", "KILL", "TYPE", "replica"}).number, 1);
    }

    const std::string name = group.name_in(master);
    const std::string brief = group.name_in(master, "brief");
};

TEST_F(cluster_failover, slow_a_replicated_hold_outlives_its_master) {
    run([&]() -> asio::awaitable<void> {
        const std::string elsewhere = group.name_in(0);
        const mutex of_a{a, name, {.fenced = true}};
        const mutex of_b{b, name, {.fenced = true}};
        const mutex other{a, elsewhere};
        hold h = co_await of_a.async_lock({.lease = 60s});
        hold of_other = co_await other.async_lock({.lease = 60s});
        const std::uint64_t token = h.fence();
        lock_attempt waiting = start_lock(of_b);
        co_await listens(name);
        EXPECT_TRUE(group.replicated(master));
        EXPECT_TRUE(group.replicated(0));
        const std::size_t now = co_await group.fail_over(master);
        co_await listens(name);
        EXPECT_TRUE(h.owns_lock());
        EXPECT_TRUE(of_other.owns_lock());
        EXPECT_TRUE(group.raw(now).exists(name));
        EXPECT_FALSE(waiting.done());
        co_await h.async_unlock();
        co_await done(waiting, "woken");
        EXPECT_GT(waiting.value().fence(), token);
        co_await waiting.value().async_unlock();
        co_await of_other.async_unlock();
        EXPECT_FALSE(group.raw(now).exists(name));
        EXPECT_FALSE(group.raw_at(elsewhere).exists(elsewhere));
    });
    EXPECT_EQ(b.stats().wakes_by_poll, 0u);
}

TEST_F(cluster_failover, slow_a_hold_that_was_not_replicated_is_lost_and_told) {
    unreplicated_hold lost;
    run([&]() -> asio::awaitable<void> {
        group.allow_failover();
        cut_off_the_replica();
        co_await lost.take(a, name, brief);
        group.node(master).kill();
        group.node(replica).thaw();

        co_await lost.is_told();
        hold next = co_await mutex{b, name, {.fenced = true}}.async_lock();
        lost.enters(next);
        lost.only_the_next_writes();
        co_await next.async_unlock();
    });
}

TEST_F(cluster_failover, slow_a_loss_is_told_in_time_while_nobody_serves_the_slot) {
    run([&]() -> asio::awaitable<void> {
        const mutex m{a, name};
        hold h = co_await m.async_lock({.lease = 2s});
        group.node(replica).kill();
        group.node(master).freeze();
        const auto why = co_await told_in_time(h);
        EXPECT_EQ(why, std::optional{make_error_code(errc::lease_expired)});
        group.node(master).thaw();
        hold again = co_await m.async_lock();
        EXPECT_TRUE(again.owns_lock());
    });
}

TEST_F(cluster_failover, slow_a_frozen_master_that_wakes_up_has_no_say) {
    run([&]() -> asio::awaitable<void> {
        const mutex of_a{a, name, {.fenced = true}};
        const mutex of_b{b, name, {.fenced = true}};
        hold h = co_await of_a.async_lock({.lease = 60s});
        EXPECT_TRUE(group.replicated(master));
        group.allow_failover();
        group.node(master).freeze();
        co_await group.settle();
        EXPECT_EQ(group.owner_of(name), replica);
        EXPECT_TRUE(h.owns_lock());
        hold none = co_await of_b.async_try_lock();
        EXPECT_FALSE(none);
        group.node(master).thaw();
        none = co_await of_b.async_try_lock();
        EXPECT_FALSE(none);
        const std::uint64_t token = h.fence();
        co_await h.async_unlock();
        hold next = co_await of_b.async_lock();
        EXPECT_GT(next.fence(), token);
        co_await group.settle();
        EXPECT_EQ(group.replica_of(replica), master);
        EXPECT_TRUE(next.owns_lock());
        EXPECT_EQ(group.raw(replica).hlen(name), 1);
        co_await next.async_unlock();
    });
}

TEST_F(cluster_failover, slow_a_frozen_master_that_wakes_up_keeps_no_hold_of_its_own) {
    unreplicated_hold lost;
    run([&]() -> asio::awaitable<void> {
        group.allow_failover();
        cut_off_the_replica();
        co_await lost.take(a, name, brief);
        group.node(master).freeze();
        group.node(replica).thaw();

        co_await lost.is_told();
        hold next = co_await mutex{b, name, {.fenced = true}}.async_lock({.lease = 60s});
        lost.enters(next);
        group.node(master).thaw();
        hold none = co_await mutex{a, name, {.fenced = true}}.async_try_lock({.wait = 200ms});
        EXPECT_FALSE(none) << "the old master's word";
        co_await group.settle();
        EXPECT_EQ(group.replica_of(replica), master);
        EXPECT_TRUE(next.owns_lock());
        EXPECT_FALSE(lost.hold.owns_lock());
        lost.only_the_next_writes();
        co_await next.async_unlock();
        EXPECT_FALSE(group.raw(replica).exists(name));
    });
}

TEST_F(cluster_failover, slow_a_replica_that_takes_over_when_asked_costs_nobody_a_hold) {
    run([&]() -> asio::awaitable<void> {
        const mutex of_a{a, name};
        hold h = co_await of_a.async_lock({.lease = 6s});
        lock_attempt waiting = start_lock(mutex{b, name});
        co_await listens(name);
        co_await group.hand_over_to(replica);
        co_await renewed(a, 3);
        EXPECT_TRUE(h.owns_lock());
        EXPECT_FALSE(waiting.done());
        co_await listens(name);
        co_await wakes(h, waiting);
    });
    EXPECT_EQ(a.stats().lost_expired + a.stats().lost_taken, 0u);
}

TEST_F(cluster_failover, slow_a_restart_of_all_nodes_loses_holds_and_says_so) {
    run([&]() -> asio::awaitable<void> {
        const mutex of_a{a, name};
        hold h = co_await of_a.async_lock({.lease = 60s});
        lock_attempt waiting = start_lock(mutex{b, name});
        co_await listens(name);
        for (std::size_t i = 0; i < group.size(); ++i) {
            group.node(i).kill();
        }
        for (std::size_t i = 0; i < group.size(); ++i) {
            group.node(i).start();
        }
        const time_point until = h.valid_until();
        const auto [why] = co_await h.async_wait_lost(as_result);
        EXPECT_TRUE(why) << "the servers kept nothing";
        EXPECT_LT(clock::now(), until);
        co_await done(waiting, "it is free");
        EXPECT_TRUE(waiting.value().owns_lock());
        co_await group.settle();
        for (std::size_t i = 0; i < cluster_group::master_count; ++i) {
            const mutex m{a, group.name_in(i, "after")};
            hold again = co_await m.async_lock();
            EXPECT_TRUE(again.owns_lock());
        }
    });
}

TEST_F(cluster_failover, slow_holds_outlive_a_restart_of_all_nodes_that_kept_their_data) {
    run([&]() -> asio::awaitable<void> {
        const mutex of_a{a, name};
        hold h = co_await of_a.async_lock({.lease = 60s});
        lock_attempt waiting = start_lock(mutex{b, name});
        co_await listens(name);
        EXPECT_TRUE(group.replicated(master));
        for (std::size_t i = 0; i < group.size(); ++i) {
            group.raw(i).must({"SAVE"});
        }
        for (std::size_t i = 0; i < group.size(); ++i) {
            group.node(i).kill();
        }
        for (std::size_t i = 0; i < group.size(); ++i) {
            group.node(i).start();
        }
        co_await group.settle();
        co_await listens(name);
        EXPECT_TRUE(h.owns_lock());
        EXPECT_FALSE(waiting.done());
        EXPECT_TRUE(group.raw_at(name).exists(name));
        co_await h.async_unlock();
        co_await done(waiting, "woken");
        EXPECT_TRUE(waiting.value().owns_lock());
    });
    EXPECT_EQ(a.stats().lost_expired + a.stats().lost_taken, 0u);
}

TEST_F(cluster_failover, slow_a_shard_that_is_gone_is_no_harm_to_the_others) {
    for (std::size_t i = 0; i < group.size(); ++i) {
        group.raw(i).must({"CONFIG", "SET", "cluster-require-full-coverage", "no"});
    }
    config impatient = group.settings("c");
    impatient.operation_timeout = 1s;
    client c{io, impatient};
    run([&]() -> asio::awaitable<void> {
        const mutex here{c, group.name_in(0)};
        const mutex gone{c, name};
        hold h = co_await here.async_lock({.lease = 6s});
        group.node(replica).kill();
        group.node(master).kill();
        const auto [ec, none] = co_await gone.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::not_connected);
        co_await renewed(c, 3);
        EXPECT_TRUE(h.owns_lock());
        co_await h.async_unlock();
        h = co_await here.async_lock();
        co_await h.async_unlock();
    });
}

TEST_F(cluster_failover, slow_counters_stay_whole_over_failovers) {
    fenced_resource resource;
    run([&]() -> asio::awaitable<void> {
        bool go_on = true;
        std::uint64_t done_so_far = 0;
        const auto worker = [&](client& c, std::string counter) -> asio::awaitable<void> {
            const mutex m{c, counter, {.fenced = true}};
            while (go_on) {
                auto [ec, h] = co_await m.async_lock({.lease = 10s}, as_result);
                if (ec) {
                    continue;
                }
                const claim mine{counter, h.fence(), h.valid_until(), 10s};
                const auto read = resource.enter(mine, clock::now());
                co_await pass(1ms);
                if (read.accepted && h.owns_lock()) {
                    const auto written = resource.write(mine, read.value + 1, clock::now());
                    done_so_far += written.accepted ? 1 : 0;
                } else {
                    resource.leave(mine);
                }
                co_await h.async_unlock(as_result);
            }
        };
        client c{io, group.settings("c")};
        const std::string of_master = group.name_in(master, "counter");
        task_group workers{io.get_executor()};
        for (std::size_t i = 0; i < cluster_group::master_count; ++i) {
            const std::string counter = group.name_in(i, "counter");
            workers.spawn(worker(a, counter));
            workers.spawn(worker(c, counter));
        }
        const bool some = co_await when([&] { return done_so_far >= 100; }, long_patience);
        EXPECT_TRUE(some);
        const time_point killed = clock::now();
        co_await group.fail_over(master);
        resource.data_lost(of_master, killed, clock::now());
        const std::uint64_t after_kill = done_so_far;
        const bool more =
            co_await when([&] { return done_so_far >= after_kill + 100; }, long_patience);
        EXPECT_TRUE(more);
        co_await group.hand_over_to(3);
        const std::uint64_t after_hand_over = done_so_far;
        const bool most =
            co_await when([&] { return done_so_far >= after_hand_over + 100; }, long_patience);
        EXPECT_TRUE(most);
        go_on = false;
        co_await workers.join();
        EXPECT_EQ(resource.report().written, done_so_far);
    });
    const resource_report r = resource.report();
    EXPECT_EQ(r.overlaps, 0u) << testing::PrintToString(resource.findings());
    EXPECT_EQ(r.stale_accepted, 0u);
    EXPECT_EQ(r.fences_backwards, 0u);
    EXPECT_EQ(r.fences_reused, 0u);
    EXPECT_EQ(r.lost_updates(), 0u);
}

}  // namespace
