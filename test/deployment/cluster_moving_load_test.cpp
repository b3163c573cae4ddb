// SPDX-License-Identifier: BSL-1.0
// Clients that have only one thing on their mind, while its hash slot goes to and fro between two
// nodes, and on each way connections break that have questions under way: what was done, and not
// answered, is asked for again at another node, and not done again.
#include "deployment/cluster_migration.hpp"

#include <conch/counting_semaphore.hpp>
#include <conch/fair_mutex.hpp>
#include <conch/latch.hpp>
#include <conch/multi_lock.hpp>
#include <conch/semaphore.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

class cluster_moving_load : public cluster_migration {
protected:
    static constexpr int moves = 6;

    /// `visit(client)` again and again, by three coroutines of two clients.
    template <typename Visit>
    asio::awaitable<void> visit_while_it_moves(const Visit& visit) {
        task_group visitors{io.get_executor()};
        for (client* each : {&a, &b, &b}) {
            visitors.spawn(repeat(visit, *each));
        }
        std::size_t owner = from;
        for (int i = 0; i < moves; ++i) {
            co_await visited();
            const std::size_t next = owner == from ? to : from;
            co_await break_connections(owner);
            group.begin_migration(slot, owner, next);
            co_await break_connections(owner);
            group.move_keys(slot, owner, next);
            group.end_migration(slot, owner, next);
            co_await break_connections(next);
            owner = next;
        }
        co_await visited();
        go_on = false;
        co_await visitors.join();
        EXPECT_TRUE(group.node(to).keys_in(slot).empty());
        for (const client* each : {&a, &b}) {
            const stats s = each->stats();
            EXPECT_EQ(s.lost_expired + s.lost_refused + s.lost_taken + s.permits_in_doubt, 0u);
            EXPECT_EQ(s.holds_now + s.waiting_now, 0u);
        }
    }
    /// Between a visitor's coming and going.
    asio::awaitable<void> inside(int at_most) {
        EXPECT_LE(++visiting, at_most) << "too many at once";
        co_await pass(1ms);
        --visiting;
    }

    int visiting = 0;
    std::uint64_t visits = 0;

private:
    template <typename Visit>
    asio::awaitable<void> repeat(const Visit& visit, client& each) {
        while (go_on) {
            co_await visit(each);
            ++visits;
        }
    }
    asio::awaitable<void> visited() const {
        const std::uint64_t before = visits;
        const bool more = co_await when([&] { return visits >= before + 10; }, long_patience);
        EXPECT_TRUE(more) << "nobody comes in";
    }
    std::uint64_t in_doubt() const { return a.stats().in_doubt + b.stats().in_doubt; }
    /// Until one had a question under way.
    asio::awaitable<void> break_connections(std::size_t node) const {
        const std::uint64_t before = in_doubt();
        raw_client raw = group.raw(node);
        const bool broken = co_await when(
            [&] {
                raw.kill_connections("a");
                raw.kill_connections("b");
                return in_doubt() > before;
            },
            long_patience);
        EXPECT_TRUE(broken) << "no question was under way";
    }

    bool go_on = true;
};

TEST_F(cluster_moving_load, slow_a_fair_lock_has_one_holder) {
    run([&]() -> asio::awaitable<void> {
        const std::string name = named("fair");
        const auto visit = [&](const client& each) -> asio::awaitable<void> {
            hold h = co_await fair_mutex{each, name}.async_lock({.lease = 30s});
            co_await inside(1);
            co_await h.async_unlock();
        };
        co_await visit_while_it_moves(visit);
    });
}

TEST_F(cluster_moving_load, slow_several_locks_have_one_holder) {
    run([&]() -> asio::awaitable<void> {
        const std::string elsewhere = group.name_in(2, "other");
        const auto visit = [&](const client& each) -> asio::awaitable<void> {
            const mutex one{each, named("one")};
            const mutex two{each, named("two")};
            const mutex other{each, elsewhere};
            const multi_lock all{one, other, two};
            hold h = co_await all.async_lock({.lease = 30s});
            co_await inside(1);
            co_await h.async_unlock();
        };
        co_await visit_while_it_moves(visit);
        EXPECT_FALSE(group.raw(2).exists(elsewhere));
    });
}

TEST_F(cluster_moving_load, slow_leased_permits_are_as_many_as_before) {
    run([&]() -> asio::awaitable<void> {
        const std::string name = named("leased");
        const semaphore s{a, name};
        co_await s.async_set_permits(2);
        const auto visit = [&](const client& each) -> asio::awaitable<void> {
            hold h = co_await semaphore{each, name}.async_acquire({.lease = 30s});
            co_await inside(2);
            co_await h.async_unlock();
        };
        co_await visit_while_it_moves(visit);
        const std::int64_t left = co_await s.async_available();
        EXPECT_EQ(left, 2);
        const std::int64_t out = co_await s.async_acquired();
        EXPECT_EQ(out, 0);
    });
}

TEST_F(cluster_moving_load, slow_permits_are_as_many_as_before) {
    run([&]() -> asio::awaitable<void> {
        const std::string name = named("permits");
        const counting_semaphore s{a, name};
        co_await s.async_set(2);
        const auto visit = [&](const client& each) -> asio::awaitable<void> {
            const counting_semaphore permits{each, name};
            co_await permits.async_acquire();
            co_await inside(2);
            co_await permits.async_release();
        };
        co_await visit_while_it_moves(visit);
        const std::int64_t left = co_await s.async_available();
        EXPECT_EQ(left, 2);
    });
}

TEST_F(cluster_moving_load, slow_a_latch_counts_each_once) {
    run([&]() -> asio::awaitable<void> {
        constexpr std::int64_t many = 1'000'000;
        const std::string name = cluster_group::name_of_slot(slot, "count");
        const latch l{a, name};
        const bool set = co_await l.async_try_set_count(many);
        EXPECT_TRUE(set);
        const auto visit = [&](const client& each) -> asio::awaitable<void> {
            const latch of_each{each, name};
            co_await of_each.async_count_down();
        };
        co_await visit_while_it_moves(visit);
        const std::int64_t left = co_await l.async_count();
        EXPECT_EQ(left, many - static_cast<std::int64_t>(visits));
    });
}

}  // namespace
