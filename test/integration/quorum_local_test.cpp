// SPDX-License-Identifier: BSL-1.0
// Those who want a quorum's lock by the same clients stand in each other's way only where a server
// is there.
#include "integration/quorum_fixture.hpp"

#include <algorithm>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

struct quorum_local_test : quorum_test {
    quorum_local_test() : quorum_test{3} {}
};

TEST_F(quorum_local_test, those_who_wait_are_told_that_no_majority_answers) {
    config impatient = settings_for({});
    impatient.operation_timeout = 1s;
    const contender a{io, servers, impatient};
    run([&]() -> asio::awaitable<void> {
        kill({0, 1});
        const quorum_mutex m = a.lock("nobody", 100ms);
        std::vector<lock_attempt> all;
        for (int i = 0; i < 3; ++i) {
            all.push_back(start_lock(m));
        }
        const bool told =
            co_await when([&] { return std::ranges::all_of(all, &lock_attempt::done); });
        EXPECT_TRUE(told);
        for (const lock_attempt& each : all) {
            EXPECT_EQ(each.ec(), errc::not_connected);
        }
    });
}

// The connections are made meanwhile.
TEST_F(quorum_local_test, of_those_who_try_at_once_none_finds_the_servers_dead) {
    const contender a{io, servers};
    const quorum_mutex m = a.lock("first", patience / 4);
    std::vector<lock_attempt> tries;
    for (int i = 0; i < 3; ++i) {
        tries.emplace_back([&](auto token) { m.async_try_lock(std::move(token)); });
    }
    ASSERT_TRUE(run_until(io, [&] { return std::ranges::all_of(tries, &lock_attempt::done); }));
    for (lock_attempt& each : tries) {
        EXPECT_FALSE(each.ec()) << each.ec().message();
    }
    const auto got = [](lock_attempt& t) { return t.value().owns_lock(); };
    EXPECT_EQ(std::ranges::count_if(tries, got), 1);
}

// A line is longer than the test.
TEST_F(quorum_local_test, those_who_wait_hear_of_a_release_where_the_first_server_is_dead) {
    config c = settings_for({});
    c.operation_timeout = 1min;
    contender a{io, servers};
    contender b{io, servers, c};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(a);
        co_await warm_up(b);
        kill({0});
        hold h = co_await a.lock("pushed", patience).async_lock({.lease = 1min});
        const quorum_mutex m = b.lock("pushed", patience);
        lock_attempt first = start_lock(m);
        lock_attempt second = start_lock(m);
        const bool waiting = co_await when([&] {
            return b.clients[1].stats().waiting_now == 2 &&
                   server(1).raw.subscribers(channel_of("pushed")) == 1;
        });
        EXPECT_TRUE(waiting) << b.clients[1].stats().waiting_now;
        h.release();
        const bool granted = co_await when([&] { return first.done() || second.done(); });
        EXPECT_TRUE(granted);
        lock_attempt& one = first.done() ? first : second;
        EXPECT_TRUE(one.value().owns_lock());
        EXPECT_GE(b.clients[1].stats().wakes_by_message, 1u);
        one.value().release();
        const bool both = co_await when([&] { return first.done() && second.done(); });
        EXPECT_TRUE(both);
    });
}

// Both are asked for before the quorum turns; the vote of the one server that the waiter stands in
// line at is needed.
TEST_F(quorum_local_test, who_gives_up_waiting_and_then_tries_does_not_meet_their_own_waiter) {
    contender a{io, servers};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(a);
        kill({2});
        for (const std::size_t i : {0u, 1u}) {
            take_as_stranger(server(i).raw, "own");
        }
        const quorum_mutex m = a.lock("own", patience);
        lock_attempt waiter = start_lock(m);
        const bool waiting = co_await when([&] {
            // In the first round, then before and after it listened: nothing is on its way.
            return std::ranges::any_of(a.clients,
                                       [](const client& c) { return c.stats().busy == 3; });
        });
        EXPECT_TRUE(waiting);
        for (const std::size_t i : {0u, 1u}) {
            server(i).raw.must({"DEL", "own"});
        }
        waiter.cancel();
        lock_attempt tries{[&](auto token) { m.async_try_lock(std::move(token)); }};
        const bool both = co_await when([&] { return waiter.done() && tries.done(); });
        EXPECT_TRUE(both);
        EXPECT_EQ(waiter.ec(), asio::error::operation_aborted);
        EXPECT_TRUE(tries.value().owns_lock()) << tries.ec().message();
    });
}

}  // namespace
