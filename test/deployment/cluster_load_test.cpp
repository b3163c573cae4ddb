// SPDX-License-Identifier: BSL-1.0
// Counters under locks, while who serves their slot changes and no write is lost.
#include "support/fenced_resource.hpp"
#include "deployment/cluster_migration.hpp"

#include <cstddef>
#include <cstdint>

namespace {

using namespace conch;
using namespace conch::test;

class cluster_load : public cluster_migration {
protected:
    asio::awaitable<void> count_fenced(client& c) {
        const mutex m{c, named("fenced"), {.fenced = true}};
        while (go_on) {
            hold h = co_await m.async_lock({.lease = 30s});
            const claim mine{"fenced", h.fence(), h.valid_until(), 30s};
            const auto read = resource.enter(mine, clock::now());
            co_await pass(1ms);
            fenced += resource.write(mine, read.value + 1, clock::now()).accepted ? 1 : 0;
            co_await h.async_unlock();
        }
    }
    asio::awaitable<void> count_plain(client& c) {
        const mutex m{c, named("plain")};
        while (go_on) {
            hold h = co_await m.async_lock({.lease = 30s});
            const std::uint64_t read = value;
            co_await pass(1ms);
            value = read + 1;
            ++plain;
            co_await h.async_unlock();
        }
    }
    /// Three for each counter, two of them of this client.
    void start(task_group& workers, client& c) {
        for (client* each : {&a, &c, &c}) {
            workers.spawn(count_fenced(*each));
            workers.spawn(count_plain(*each));
        }
    }
    /// The slot goes to the other node, at work on the way and there.
    asio::awaitable<void> go(std::size_t owner, std::size_t next) {
        const std::uint64_t before = plain;
        group.begin_migration(slot, owner, next);
        const bool on_the_way = co_await when([&] { return plain >= before + 10; }, long_patience);
        EXPECT_TRUE(on_the_way);
        group.move_keys(slot, owner, next);
        group.end_migration(slot, owner, next);
        co_await works();
    }
    asio::awaitable<void> works() {
        const std::uint64_t plain_before = plain;
        const std::uint64_t fenced_before = fenced;
        const bool more = co_await when(
            [&] { return plain >= plain_before + 10 && fenced >= fenced_before + 10; },
            long_patience);
        EXPECT_TRUE(more);
    }
    void expect_all_counted() const {
        EXPECT_EQ(value, plain);
        const resource_report r = resource.report();
        EXPECT_TRUE(r.sound());
        EXPECT_EQ(r.written, fenced);
        EXPECT_EQ(r.refused, 0u);
    }

    fenced_resource resource{};
    bool go_on = true;
    std::uint64_t fenced = 0;
    std::uint64_t plain = 0;
    std::uint64_t value = 0;
};

TEST_F(cluster_load, slow_no_update_is_lost_while_the_slot_goes_to_and_fro) {
    client c{io, push_only("c")};
    run([&]() -> asio::awaitable<void> {
        const mutex long_held{a, named("held")};
        hold h = co_await long_held.async_lock({.lease = 9s});
        lock_attempt waiting = start_lock(mutex{c, named("held")});
        co_await listens(named("held"));
        task_group workers{io.get_executor()};
        start(workers, b);
        for (int round = 0; round < 5; ++round) {
            co_await go(from, to);
            co_await go(to, from);
        }
        EXPECT_TRUE(h.owns_lock());
        EXPECT_FALSE(waiting.done());
        go_on = false;
        co_await workers.join();
        co_await listens(named("held"));
        const std::uint64_t polls = c.stats().wakes_by_poll;
        co_await h.async_unlock();
        co_await done(waiting, "woken");
        EXPECT_EQ(c.stats().wakes_by_poll, polls);
    });
    expect_all_counted();
}

TEST_F(cluster_load, slow_no_update_is_lost_as_a_new_node_takes_the_slot_and_gives_it_away) {
    client c{io, push_only("c")};
    run([&]() -> asio::awaitable<void> {
        task_group workers{io.get_executor()};
        start(workers, c);
        const std::size_t added = co_await group.add_node();
        const unsigned its_own = (slot + 1) % 5000;  // who gives away its last one is no master
        group.migrate(its_own, added);
        co_await works();
        co_await go(from, added);
        co_await go(added, to);
        go_on = false;
        co_await workers.join();
        EXPECT_EQ(group.owner_of(slot), to);
    });
    expect_all_counted();
}

// A replica that is asked to take over first gets all that its master has written.
TEST_F(cluster_load, slow_no_update_is_lost_as_masters_and_replicas_change_places) {
    client c{io, push_only("c")};
    run([&]() -> asio::awaitable<void> {
        task_group workers{io.get_executor()};
        start(workers, c);
        const std::size_t heir = group.replica_of(from);
        for (const std::size_t next : {heir, from}) {
            co_await works();
            co_await group.hand_over_to(next);
            EXPECT_EQ(group.owner_of(slot), next);
        }
        co_await works();
        go_on = false;
        co_await workers.join();
    });
    expect_all_counted();
}

}  // namespace
