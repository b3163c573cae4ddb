// SPDX-License-Identifier: BSL-1.0
// What a quorum's hold says of itself, and how it gets back a server that it lost.
#include "integration/quorum_fixture.hpp"

#include <cstddef>
#include <utility>

namespace {

using namespace conch;
using namespace conch::test;

struct quorum_keeping_test : quorum_test {
    quorum_keeping_test() : quorum_test{3} {}
};

// The members' own watches of two holds have the only room.
TEST_F(quorum_keeping_test, who_watches_a_hold_where_there_is_no_room_does_not_keep_the_loop_busy) {
    config c = settings_for({});
    c.max_pending = 2;
    const contender a{io, servers, c};
    const quorum_mutex m = a.lock("no-room");
    const quorum_mutex another = a.lock("takes-room");
    lock_attempt taken = start_lock(m, {.lease = 3s});
    ASSERT_TRUE(run_until(io, [&] { return taken.done() && count_of("no-room") == 3; }));
    const lock_attempt room = start_lock(another, {.lease = 1min});
    ASSERT_TRUE(run_until(io, [&] { return room.done() && count_of("takes-room") == 3; }));
    hold& h = taken.value();
    plain_attempt ahead{[&](auto token) { h.async_wait_lost(1500ms, std::move(token)); }};
    plain_attempt watch = start_wait_lost(h);
    std::size_t handlers = 0;
    const time_point end = clock::now() + 500ms;
    while (clock::now() < end) {
        handlers += step(io, 1, 2ms);
    }
    EXPECT_LT(handlers, 1000u);
    EXPECT_FALSE(watch.done());
    EXPECT_FALSE(ahead.done());
    EXPECT_TRUE(h.owns_lock());
    kill({1, 2});
    ASSERT_TRUE(run_until(io, [&] { return ahead.done(); }));
    EXPECT_EQ(ahead.ec(), errc::lease_expired);
    ASSERT_TRUE(run_until(io, [&] { return watch.done(); }));
    EXPECT_EQ(watch.ec(), errc::lease_expired);
    EXPECT_FALSE(h.owns_lock());
}

TEST_F(quorum_keeping_test, a_hold_that_is_lost_was_valid_until_then) {
    contender a{io, servers};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(a);
        const hold h = co_await a.lock("was").async_lock({.lease = 3s});
        const bool taken = co_await held_by(a);
        EXPECT_TRUE(taken);
        const time_point start = clock::now();
        server(0).raw.must({"DEL", "was"});
        server(1).raw.must({"DEL", "was"});
        const auto [ec] = co_await h.async_wait_lost(as_result);
        EXPECT_EQ(ec, errc::lock_lost);
        EXPECT_GT(h.valid_until(), start);
        EXPECT_LE(h.valid_until(), clock::now());
    });
}

// One that others take in turns is asked for longer than a moment.
TEST_F(quorum_keeping_test, a_holder_hears_when_a_server_that_it_lost_is_given_back) {
    contender a{io, servers};
    contender b{io, servers};
    run([&]() -> asio::awaitable<void> {
        hold of_b = co_await mutex{b.clients[0], "back"}.async_lock();
        const hold h = co_await a.lock("back", 5s).async_lock({.lease = 3s});
        EXPECT_TRUE(h.owns_lock());
        const bool waits =
            co_await when([&] { return server(0).raw.subscribers(channel_of("back")) == 1; });
        EXPECT_TRUE(waits);
        co_await of_b.async_unlock();
        const bool joined = co_await when([&] { return a.clients[0].stats().holds_now == 1; });
        EXPECT_TRUE(joined);
        EXPECT_GE(a.clients[0].stats().wakes_by_message, 1u);
    });
}

}  // namespace
