// SPDX-License-Identifier: BSL-1.0
// Those who want a quorum's lock get it one after the other, and leave nothing when they give up.
#include "integration/quorum_fixture.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

using quorum_contention_test = quorum_test;

class quorum_of_three_test : public quorum_test {
protected:
    quorum_of_three_test() : quorum_test{3} {}

    bool somebody_waits(const std::string& name, std::size_t where = 0) {
        return server(where).raw.subscribers(channel_of(name)) > 0;
    }

    /// Under the lock: nobody else is inside, and the counter is read, then written. The release
    /// may stay unconfirmed where a server has just died.
    asio::awaitable<void> count_up(const quorum_mutex& m, lock_options options = {}) {
        hold h = co_await m.async_lock(options);
        EXPECT_EQ(inside++, 0);
        const int read = counter;
        for (int i = 0; i < 5; ++i) {
            co_await asio::post(io, asio::deferred);
        }
        counter = read + 1;
        --inside;
        EXPECT_TRUE(h.owns_lock());
        co_await h.async_unlock(as_result);
    }

    int counter = 0;
    int inside = 0;
};

TEST_F(quorum_contention_test, a_waiter_is_granted_when_the_holder_releases) {
    const contender a{io, servers};
    const contender b{io, servers};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await a.lock("waits").async_lock();
        lock_attempt waiter = start_lock(b.lock("waits"));
        // At the first that had answered when it was refused.
        const bool waiting = co_await when([&] {
            return std::ranges::any_of(servers, [](const auto& s) {
                return s->raw.subscribers(channel_of("waits")) == 1;
            });
        });
        EXPECT_TRUE(waiting);
        EXPECT_FALSE(waiter.done());
        co_await h.async_unlock();
        const bool granted = co_await when([&] { return waiter.done(); });
        EXPECT_TRUE(granted);
        EXPECT_TRUE(waiter.value().owns_lock());
    });
}

TEST_F(quorum_contention_test, a_server_that_dies_under_the_line_does_not_hold_it_up) {
    const contender a{io, servers};
    const contender b{io, servers};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await a.lock("line").async_lock();
        const bool taken = co_await comes_to("line", 5);
        EXPECT_TRUE(taken);
        lock_attempt waiter = start_lock(b.lock("line", 100ms));
        const bool waiting =
            co_await when([&] { return server(0).raw.subscribers(channel_of("line")) == 1; });
        EXPECT_TRUE(waiting);
        server(0).redis.freeze();
        h.release();
        const time_point start = clock::now();
        const bool granted = co_await when([&] { return waiter.done(); });
        EXPECT_TRUE(granted);
        EXPECT_LT(clock::now() - start, 4s) << "the lease is longer";
        EXPECT_TRUE(waiter.value().owns_lock());
        server(0).redis.thaw();
        co_await waiter.value().async_unlock();
        const bool free = co_await comes_to("line", 0);
        EXPECT_TRUE(free);
    });
}

TEST_F(quorum_contention_test, a_wait_ends_in_time_and_leaves_nothing) {
    const contender a{io, servers};
    const contender b{io, servers};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await a.lock("timed").async_lock();
        const time_point start = clock::now();
        const quorum_mutex m = b.lock("timed");
        const auto [ec, none] = co_await m.async_lock({.wait = 1200ms}, as_result);
        EXPECT_EQ(ec, errc::timed_out);
        EXPECT_FALSE(none);
        EXPECT_GE(clock::now() - start, 1200ms);
        EXPECT_LT(clock::now() - start, 5s);
        const hold empty = co_await m.async_try_lock({.wait = 300ms});
        EXPECT_FALSE(empty) << "a try gives no error";
        co_await h.async_unlock();
        const bool free = co_await comes_to("timed", 0);
        EXPECT_TRUE(free);
        for (const client& c : b.clients) {
            EXPECT_EQ(c.stats().waiting_now, 0u);
        }
    });
}

TEST_F(quorum_of_three_test, contenders_that_have_a_vote_each_do_not_block_each_other_for_ever) {
    const contender a{io, servers};
    const contender b{io, servers};
    const contender c{io, servers};
    run([&]() -> asio::awaitable<void> {
        // Each has one server, as after a tie, and wants the rest at the same time.
        const mutex of_a{a.clients[0], "tie"};
        const mutex of_b{b.clients[1], "tie"};
        const mutex of_c{c.clients[2], "tie"};
        hold first = co_await of_a.async_lock();
        hold second = co_await of_b.async_lock();
        hold third = co_await of_c.async_lock();
        task_group group{io.get_executor()};
        const auto want = [&](const contender& who) -> asio::awaitable<void> {
            const quorum_mutex m = who.lock("tie", 100ms);
            for (int i = 0; i < 10; ++i) {
                co_await count_up(m);
            }
        };
        group.spawn(want(a));
        group.spawn(want(b));
        group.spawn(want(c));
        co_await pass(300ms);
        EXPECT_EQ(counter, 0);
        first.release();
        second.release();
        third.release();
        co_await group.join();
        EXPECT_EQ(counter, 30);
    });
}

TEST_F(quorum_of_three_test, who_only_tries_gets_what_the_others_of_a_tie_give_back) {
    const contender a{io, servers};
    const contender b{io, servers};
    const contender c{io, servers};
    run([&]() -> asio::awaitable<void> {
        hold of_b = co_await mutex{b.clients[1], "tie"}.async_lock();
        hold of_c = co_await mutex{c.clients[2], "tie"}.async_lock();
        const quorum_mutex m = a.lock("tie", patience / 2);
        lock_attempt tries{[&](auto token) { m.async_try_lock(std::move(token)); }};
        const bool settles =
            co_await when([&] { return somebody_waits("tie", 1) && somebody_waits("tie", 2); });
        EXPECT_TRUE(settles);
        EXPECT_FALSE(tries.done());
        co_await of_c.async_unlock();
        const bool done = co_await when([&] { return tries.done(); });
        EXPECT_TRUE(done);
        EXPECT_TRUE(tries.value().owns_lock());
    });
}

/// How long the caller would wait for others: less than the first server takes to answer.
class quorum_late_first_test : public quorum_of_three_test,
                               public ::testing::WithParamInterface<std::chrono::milliseconds> {};

INSTANTIATE_TEST_SUITE_P(for_so_long, quorum_late_first_test, ::testing::Values(0ms, 10ms));

// Two of three say no before the first one says that it is theirs.
TEST_P(quorum_late_first_test, who_tries_hears_the_first_server_even_if_it_answers_last) {
    contender a{io, servers};
    const contender b{io, servers};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(a);
        hold second = co_await mutex{b.clients[1], "tie"}.async_lock();
        hold third = co_await mutex{b.clients[2], "tie"}.async_lock();
        server(0).redis.freeze();
        const quorum_mutex m = a.lock("tie", patience / 4);
        lock_attempt tries{
            [&](auto token) { m.async_try_lock({.wait = GetParam()}, std::move(token)); }};
        const bool refused = co_await when(
            [&] { return a.clients[1].stats().busy == 1 && a.clients[2].stats().busy == 1; });
        EXPECT_TRUE(refused);
        co_await pass(20ms);
        EXPECT_FALSE(tries.done());
        server(0).redis.thaw();
        const bool settles = co_await when([&] { return somebody_waits("tie", 2); });
        EXPECT_TRUE(settles);
        co_await third.async_unlock();
        const bool done = co_await when([&] { return tries.done(); });
        EXPECT_TRUE(done);
        EXPECT_TRUE(tries.value().owns_lock());
    });
}

TEST_F(quorum_of_three_test, of_those_who_only_try_at_once_one_is_granted_the_lock) {
    std::deque<contender> all;
    for (int i = 0; i < 3; ++i) {
        all.emplace_back(io, servers);
    }
    run([&]() -> asio::awaitable<void> {
        for (contender& c : all) {
            co_await warm_up(c);
        }
        for (int round = 0; round < 10; ++round) {
            std::vector<lock_attempt> tries;
            std::vector<quorum_mutex> locks;
            for (const contender& c : all) {
                locks.push_back(c.lock("tie", 1s));
                tries.emplace_back([&](auto token) { locks.back().async_try_lock(token); });
            }
            const bool ended =
                co_await when([&] { return std::ranges::all_of(tries, &lock_attempt::done); });
            EXPECT_TRUE(ended);
            const auto got = [](lock_attempt& t) { return t.value().owns_lock(); };
            EXPECT_EQ(std::ranges::count_if(tries, got), 1);
            tries.clear();
            const bool free = co_await comes_to("tie", 0);
            EXPECT_TRUE(free);
        }
    });
}

TEST_F(quorum_of_three_test, slow_there_are_never_two_holders_while_servers_die_and_come_back) {
    config quick = settings_for({});
    quick.default_lease = 1s;
    std::deque<contender> all;
    for (int i = 0; i < 4; ++i) {
        all.emplace_back(io, servers, quick);
    }
    bool over = false;
    const auto work = [&](const contender& who) -> asio::awaitable<void> {
        const quorum_mutex m = who.lock("counter", 100ms);
        while (!over) {
            co_await count_up(m);
        }
    };
    int last = 0;
    const auto fault = [&]() -> asio::awaitable<void> {
        for (std::size_t i = 0; i < servers.size(); ++i) {
            server(i).kill();
            co_await pass(1100ms);  // it must not forget a lock within its lease
            server(i).start_empty();
            const bool going = co_await when([&] { return counter > last + 10; });
            EXPECT_TRUE(going) << "while server " << i << " was down";
            last = counter;
        }
        over = true;
    };
    run(
        [&]() -> asio::awaitable<void> {
            task_group group{io.get_executor()};
            int units = 0;
            for (const contender& c : all) {
                group.spawn(work(c));
                ++units;
            }
            group.spawn(fault());
            co_await group.join();
            EXPECT_EQ(inside, 0);
            const bool free = co_await comes_to("counter", 0);
            EXPECT_TRUE(free);
        },
        60s);
}

TEST_F(quorum_of_three_test, a_server_that_restarts_empty_lets_no_second_holder_in) {
    contender a{io, servers};
    const contender b{io, servers};
    run([&]() -> asio::awaitable<void> {
        const hold h = co_await a.lock("empty").async_lock({.lease = 900ms});
        const bool taken = co_await comes_to("empty", 3);
        EXPECT_TRUE(taken);
        server(1).kill();
        server(1).start_empty();
        bool rejoined = false;
        while (!rejoined && h.owns_lock()) {
            const hold second = co_await b.lock("empty").async_try_lock();
            EXPECT_FALSE(second);
            rejoined = count_of("empty") == 3;
        }
        EXPECT_TRUE(h.owns_lock());
    });
}

// Every k-th handler is followed by the cancellation.
TEST_F(quorum_of_three_test, a_cancelled_acquire_leaves_nothing_at_any_step) {
    contender a{io, servers};
    run([&]() -> asio::awaitable<void> { co_await warm_up(a); });
    const quorum_mutex m = a.lock("cancelled");
    bool finished = false;
    std::size_t cancelled = 0;
    for (std::size_t k = 0; !finished && k < 200; ++k) {
        lock_attempt one = start_lock(m);
        step(io, k);
        finished = one.done();
        one.cancel();
        ASSERT_TRUE(run_until(io, [&] { return one.done(); })) << k;
        EXPECT_EQ(one.completions(), 1);
        if (one.ec()) {
            EXPECT_EQ(one.ec(), asio::error::operation_aborted);
            EXPECT_FALSE(one.value());
            ++cancelled;
        }
        one.value().release();
        ASSERT_TRUE(run_until(io, [&] { return count_of("cancelled") == 0; })) << k;
    }
    EXPECT_TRUE(finished);
    EXPECT_GE(cancelled, 3u);
}

TEST_F(quorum_of_three_test, a_cancelled_waiter_leaves_nothing_at_any_step) {
    contender a{io, servers};
    run([&]() -> asio::awaitable<void> { co_await warm_up(a); });
    take_as_stranger(server(0).raw, "parked", 600s);
    take_as_stranger(server(2).raw, "parked", 600s);
    const quorum_mutex m = a.lock("parked", 20ms);
    for (std::size_t k = 0; k < 120; k += 3) {
        lock_attempt one = start_lock(m);
        step(io, k, 50ms);
        ASSERT_FALSE(one.done());
        one.cancel();
        ASSERT_TRUE(run_until(io, [&] { return one.done(); })) << k;
        EXPECT_EQ(one.ec(), asio::error::operation_aborted);
        ASSERT_TRUE(run_until(io, [&] { return !server(1).raw.exists("parked"); })) << k;
    }
    EXPECT_TRUE(run_until(io, [&] { return !somebody_waits("parked"); }));
    for (const client& c : a.clients) {
        EXPECT_TRUE(run_until(io, [&] { return c.stats().slots_now == 0; }));
    }
}

TEST_F(quorum_of_three_test, other_operations_can_be_cancelled_too) {
    contender a{io, servers};
    run([&]() -> asio::awaitable<void> { co_await warm_up(a); });
    const quorum_mutex m = a.lock("others", 10s);
    lock_attempt taken = start_lock(m);
    ASSERT_TRUE(run_until(io, [&] { return taken.done() && count_of("others") == 3; }));
    hold& h = taken.value();
    for (const auto& s : servers) {
        s->raw.pause_writes(60s);
    }
    std::vector<plain_attempt> all;
    all.push_back(start_wait_lost(h));
    all.push_back(start_extend(h, 600s));
    all.emplace_back([&](auto token) {
        m.async_force_unlock(asio::bind_cancellation_slot(
            asio::get_associated_cancellation_slot(token),
            [token = std::move(token)](error_code ec, bool) mutable { token(ec); }));
    });
    all.push_back(start_unlock(h));
    step(io, 30, 20ms);
    for (plain_attempt& each : all) {
        each.cancel();
    }
    EXPECT_TRUE(run_until(io, [&] {
        return std::all_of(all.begin(), all.end(), [](const auto& each) { return each.done(); });
    }));
    EXPECT_FALSE(all[0].ec()) << "the hold was released first";
    EXPECT_EQ(all[2].ec(), asio::error::operation_aborted);
    EXPECT_EQ(all[3].ec(), asio::error::operation_aborted);
    for (const auto& s : servers) {
        s->raw.unpause();
    }
    EXPECT_TRUE(run_until(io, [&] { return count_of("others") == 0; })) << "the release goes on";
}

}  // namespace
