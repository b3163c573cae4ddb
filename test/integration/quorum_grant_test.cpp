// SPDX-License-Identifier: BSL-1.0
// A quorum's lock is granted by a majority of the servers, whatever the rest does, and leaves
// nothing where it was refused.
#include "integration/quorum_fixture.hpp"

#include <boost/asio/use_future.hpp>

namespace {

using namespace conch;
using namespace conch::test;

using quorum_grant_test = quorum_test;

TEST_F(quorum_grant_test, a_lock_is_taken_on_all_servers_and_released_on_all) {
    const contender a{io, servers};
    run([&]() -> asio::awaitable<void> {
        const quorum_mutex m = a.lock("all");
        hold h = co_await m.async_lock();
        EXPECT_TRUE(h.owns_lock());
        EXPECT_EQ(h.fence(), 0u);
        EXPECT_GT(h.remaining(), 20s) << "the default lease";
        const bool taken = co_await comes_to("all", 5);
        EXPECT_TRUE(taken);
        co_await h.async_unlock();
        EXPECT_FALSE(h);
        const auto [again] = co_await h.async_unlock(as_result);
        EXPECT_EQ(again, errc::already_released);
        const bool free = co_await comes_to("all", 0);
        EXPECT_TRUE(free);
    });
}

TEST_F(quorum_grant_test, lock_and_unlock_are_two_round_trips_to_all_at_once) {
    contender a{io, servers};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(a);
        for (const auto& s : servers) {
            s->raw.reset_calls();
        }
        hold h = co_await a.lock("two").async_lock();
        const bool taken = co_await comes_to("two", 5);
        EXPECT_TRUE(taken);
        co_await h.async_unlock();
        const bool free = co_await comes_to("two", 0);
        EXPECT_TRUE(free);
        for (const auto& s : servers) {
            EXPECT_EQ(s->raw.calls("evalsha"), 2u);
            EXPECT_EQ(s->raw.calls("ssubscribe") + s->raw.calls("subscribe"), 0u);
        }
    });
}

TEST_F(quorum_grant_test, two_dead_servers_of_five_are_nothing) {
    contender a{io, servers};
    const contender b{io, servers};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(a);
        kill({0, 3});
        const quorum_mutex m = a.lock("two-dead");
        hold h = co_await m.async_lock({.lease = 500ms});
        const hold none = co_await b.lock("two-dead").async_try_lock();
        EXPECT_FALSE(none);
        co_await pass(2s);  // several leases
        EXPECT_TRUE(h.owns_lock());
        const auto [ec] = co_await h.async_unlock(as_result);
        EXPECT_FALSE(ec) << ec.message();
        EXPECT_EQ(count_of("two-dead"), 0u);
        const hold next = co_await b.lock("two-dead").async_lock();
        EXPECT_TRUE(next.owns_lock());
    });
}

TEST_F(quorum_grant_test, three_dead_servers_of_five_are_no_majority) {
    contender a{io, servers};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(a);
        kill({0, 1, 2});
        const quorum_mutex m = a.lock("three-dead", 200ms);
        const time_point start = clock::now();
        const auto [tried, none] = co_await m.async_try_lock({}, as_result);
        EXPECT_EQ(tried, errc::not_connected);
        EXPECT_FALSE(none);
        EXPECT_LT(clock::now() - start, 3s) << "a try is as long as an answer may take";
        const auto [waited, no] = co_await m.async_lock({.wait = 700ms}, as_result);
        EXPECT_EQ(waited, errc::not_connected);
        EXPECT_FALSE(no);
        const bool free = co_await comes_to("three-dead", 0);
        EXPECT_TRUE(free) << "what the living granted is released";
    });
}

TEST_F(quorum_grant_test, who_waits_is_told_after_the_operation_timeout_that_no_majority_answers) {
    config impatient = settings_for({});
    impatient.operation_timeout = 600ms;
    const contender a{io, servers, impatient};
    run([&]() -> asio::awaitable<void> {
        kill({0, 1, 2});
        const quorum_mutex m = a.lock("nobody", 100ms);
        const auto [ec, h] = co_await m.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::not_connected);
    });
}

/// By the place of the one that is frozen.
struct quorum_grant_beside_a_frozen : quorum_test, ::testing::WithParamInterface<std::size_t> {};

INSTANTIATE_TEST_SUITE_P(at, quorum_grant_beside_a_frozen, ::testing::Values(0u, 1u));

// The servers' answers are awaited for longer than the test takes.
TEST_P(quorum_grant_beside_a_frozen, it_does_not_slow_the_grant_and_its_late_one_is_released) {
    contender a{io, servers, most_patient()};
    quorum_server& frozen = server(GetParam());
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(a);
        frozen.raw.reset_calls();
        frozen.redis.freeze();
        {
            const quorum_mutex m = a.lock("frozen", 2 * patience);
            hold h = co_await m.async_lock();
            EXPECT_TRUE(h.owns_lock());
            co_await h.async_unlock();
        }
        frozen.redis.thaw();
        const bool asked = co_await when([&] { return frozen.raw.calls("evalsha") >= 2; });
        EXPECT_TRUE(asked) << "its acquire, and the release after it";
        EXPECT_FALSE(frozen.raw.exists("frozen"));
    });
}

TEST_F(quorum_grant_test, a_grant_that_comes_late_joins_the_hold) {
    contender a{io, servers};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(a);
        server(4).redis.freeze();
        const quorum_mutex m = a.lock("late", 10s);
        hold h = co_await m.async_lock({.lease = 1min});
        server(4).redis.thaw();
        const bool joined = co_await held_by(a);
        EXPECT_TRUE(joined);
        kill({0, 1});
        co_await h.async_extend(5min);  // takes the late one for a majority
        EXPECT_GT(server(4).raw.pttl("late"), 250'000);
        co_await h.async_unlock();
        EXPECT_EQ(count_of("late"), 0u);
    });
}

TEST_F(quorum_grant_test, a_minority_in_the_hands_of_a_stranger_is_nothing) {
    const contender a{io, servers};
    take_as_stranger(server(0).raw, "minority");
    take_as_stranger(server(1).raw, "minority");
    run([&]() -> asio::awaitable<void> {
        hold h = co_await a.lock("minority").async_try_lock();
        EXPECT_TRUE(h.owns_lock());
        co_await h.async_unlock();
        EXPECT_EQ(count_of("minority"), 2u) << "the stranger's own";
    });
}

TEST_F(quorum_grant_test, a_refused_try_leaves_nothing) {
    const contender a{io, servers};
    for (std::size_t i = 0; i < 3; ++i) {
        take_as_stranger(server(i).raw, "refused");
    }
    run([&]() -> asio::awaitable<void> {
        const quorum_mutex m = a.lock("refused");
        const auto [ec, h] = co_await m.async_try_lock(as_result);
        EXPECT_FALSE(ec) << ec.message();
        EXPECT_FALSE(h);
        const bool left = co_await comes_to("refused", 3);
        EXPECT_TRUE(left);
        EXPECT_FALSE(server(3).raw.exists("refused"));
        EXPECT_FALSE(server(4).raw.exists("refused"));
    });
}

TEST_F(quorum_grant_test, a_refused_try_is_released_where_no_answer_came_too) {
    contender a{io, servers};
    for (std::size_t i = 0; i < 3; ++i) {
        take_as_stranger(server(i).raw, "refused");
    }
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(a);
        server(3).raw.reset_calls();
        server(3).redis.freeze();
        const quorum_mutex m = a.lock("refused", 10s);
        const hold h = co_await m.async_try_lock();
        EXPECT_FALSE(h);
        server(3).redis.thaw();
        const bool asked = co_await when([&] { return server(3).raw.calls("evalsha") >= 2; });
        EXPECT_TRUE(asked) << "its acquire, and the release after it";
        EXPECT_FALSE(server(3).raw.exists("refused"));
    });
}

TEST_F(quorum_grant_test, an_error_of_a_majority_is_told) {
    const contender a{io, servers};
    for (std::size_t i = 0; i < 3; ++i) {
        server(i).raw.must({"CONFIG", "SET", "maxmemory", "1"});
    }
    run([&]() -> asio::awaitable<void> {
        const auto [ec, h] = co_await a.lock("full").async_lock({}, as_result);
        EXPECT_EQ(ec, errc::out_of_memory);
        const bool free = co_await comes_to("full", 0);
        EXPECT_TRUE(free);
    });
}

struct quorum_grant_of_three : quorum_test {
    quorum_grant_of_three() : quorum_test{3} {}
};

// It waits for the others while its first grant ends.
TEST_F(quorum_grant_of_three, a_majority_of_grants_that_do_not_overlap_is_none) {
    contender a{io, servers};
    const contender b{io, servers};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(a);
        hold second = co_await mutex{b.clients[1], "apart"}.async_lock();
        hold third = co_await mutex{b.clients[2], "apart"}.async_lock();
        server(1).redis.freeze();
        server(2).redis.freeze();
        const quorum_mutex m = a.lock("apart", 1s);
        lock_attempt taken = start_lock(m, {.lease = 300ms, .renew = false});
        const bool first = co_await when([&] { return a.clients[0].stats().holds_now == 1; });
        EXPECT_TRUE(first);
        server(1).redis.thaw();
        server(2).redis.thaw();
        const bool ended = co_await when([&] { return a.clients[0].stats().lost_expired == 1; });
        EXPECT_TRUE(ended);
        EXPECT_FALSE(taken.done());
        second.release(); // the third stays taken: a majority needs the first server again
        const bool done = co_await when([&] { return taken.done(); });
        EXPECT_TRUE(done);
        EXPECT_TRUE(taken.value().owns_lock());
        EXPECT_GE(a.clients[0].stats().acquisitions, 3u) << "warm-up, and twice";
    });
}

TEST_F(quorum_grant_test, a_hold_and_a_waiter_outlive_the_context) {
    hold h;
    {
        asio::io_context gone;
        const contender a{gone, servers};
        const quorum_mutex m = a.lock("outlives");
        lock_attempt taken = start_lock(m);
        ASSERT_TRUE(run_until(gone, [&] { return taken.done(); }));
        h = std::move(taken.value());
        m.async_lock([](error_code, hold) { FAIL() << "the context is gone"; });
        h.async_wait_lost([](error_code) { FAIL() << "the context is gone"; });
        h.async_wait_lost(1s, [](error_code) { FAIL() << "the context is gone"; });
        step(gone, 20);
    }
    EXPECT_TRUE(h);
    EXPECT_FALSE(h.owns_lock());
    h.release();
    EXPECT_FALSE(h);
}

TEST_F(quorum_grant_test, futures_and_callbacks_serve_as_completion_tokens) {
    const contender a{io, servers};
    const quorum_mutex m = a.lock("tokens");
    auto locked = m.async_lock({.wait = 5s}, asio::use_future);
    ASSERT_TRUE(run_until(io, [&] { return locked.wait_for(0s) == std::future_status::ready; }));
    hold h = locked.get();
    lock_status status;
    m.async_status([&](error_code, lock_status s) { status = std::move(s); });
    ASSERT_TRUE(run_until(io, [&] { return status.locked; }));
    auto unlocked = h.async_unlock(asio::use_future);
    ASSERT_TRUE(run_until(io, [&] { return unlocked.wait_for(0s) == std::future_status::ready; }));
    unlocked.get();
    EXPECT_EQ(m.name(), "tokens");
}

}  // namespace
