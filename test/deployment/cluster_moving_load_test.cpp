// SPDX-License-Identifier: BSL-1.0
// Permits, counts and locks that clients keep asking for, while their hash slot goes to and fro
// between two nodes. Each time a node has done what it was asked for, and connections break before
// it answers: the clients ask for it again, at the other node, and that must not do it again.
#include "deployment/cluster_migration.hpp"
#include "support/rights.hpp"

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
    static constexpr int moves = 10;

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
            const bool at_once = i % 2 == 0;
            if (at_once) {
                co_await lose_answers(owner);
            }
            group.begin_migration(slot, owner, next);
            if (!at_once) {
                co_await lose_answers(owner);
            }
            group.move_keys(slot, owner, next);
            group.end_migration(slot, owner, next);
            owner = next;
        }
        co_await visited();
        go_on = false;
        co_await visitors.join();
        EXPECT_TRUE(group.node(to).keys_in(slot).empty());
        EXPECT_GE(sum(&stats::in_doubt), static_cast<std::uint64_t>(moves) / 2);
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
            co_await pass(1ms);  // so that some are about to come, as others are about to go
            co_await visit(each);
            ++visits;
        }
    }
    asio::awaitable<void> visited() const {
        const std::uint64_t before = visits;
        const bool more = co_await when([&] { return visits >= before + 10; }, long_patience);
        EXPECT_TRUE(more) << "nobody comes in";
    }
    std::uint64_t sum(std::uint64_t stats::* of) const { return a.stats().*of + b.stats().*of; }
    /// Returns before a client has noticed.
    asio::awaitable<void> lose_answers(std::size_t node) const {
        raw_client busy = group.raw(node);
        raw_client killer = group.raw(node);
        const std::uint64_t before = sum(&stats::script_calls);
        busy.send({"EVAL", "for i = 1, 2e7 do end", "0"});
        const bool asked =
            co_await when([&] { return sum(&stats::script_calls) > before; }, long_patience);
        EXPECT_TRUE(asked) << "nobody asks for anything";
        killer.must(
            {"CLIENT", "KILL", "USER", std::string{conch_user}});  // behind what the clients sent
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
