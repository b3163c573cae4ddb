// SPDX-License-Identifier: BSL-1.0
// The end of a client: holds released, operations told, and run() returns.
#include "support/attempt.hpp"
#include "support/redis_test.hpp"

#include <optional>

namespace {

using namespace conch;
using namespace conch::test;

class shutdown_test : public redis_test {
protected:
    hold take(const mutex& m, const lock_options& options = {}) {
        lock_attempt a = start_lock(m, options);
        EXPECT_TRUE(run_until(io, [&] { return a.done(); }));
        EXPECT_FALSE(a.ec()) << a.ec().message();
        return std::move(a.value());
    }
};

TEST_F(shutdown_test, a_client_that_was_never_used_lets_run_return) {
    {
        const client c{io, settings()};
    }
    run_to_end(io);
}

TEST_F(shutdown_test, the_destructor_lets_run_return) {
    {
        client c{io, settings()};
        const mutex m{c, "gone"};
        hold h = take(m);
        h.release();
    }
    run_to_end(io);
    EXPECT_TRUE(run_until(io, [&] { return !raw.exists("gone"); }));
    EXPECT_TRUE(run_until(io, [&] { return raw.connections("conch").empty(); }));
}

TEST_F(shutdown_test, the_destructor_releases_the_holds_that_are_alive) {
    std::optional<client> c{std::in_place, io, settings()};
    const mutex m{*c, "kept"};
    hold h = take(m);
    plain_attempt watch = start_wait_lost(h);
    c.reset();
    run_to_end(io);
    EXPECT_TRUE(run_until(io, [&] { return !raw.exists("kept"); }));
    EXPECT_FALSE(h.owns_lock());
    ASSERT_TRUE(watch.done());
    EXPECT_EQ(watch.ec(), errc::client_closed);
    plain_attempt unlock = start_unlock(h);
    run_to_end(io);
    ASSERT_TRUE(unlock.done());
    EXPECT_EQ(unlock.ec(), errc::client_closed);
}

TEST_F(shutdown_test, holds_and_mutexes_may_outlive_the_client) {
    std::optional<client> c{std::in_place, io, settings()};
    const mutex m{*c, "kept"};
    {
        const hold h = take(m);
        c.reset();
    }
    lock_attempt late = start_lock(m);
    run_to_end(io);
    ASSERT_TRUE(late.done());
    EXPECT_EQ(late.ec(), errc::client_closed);
    EXPECT_FALSE(late.value());
    EXPECT_TRUE(run_until(io, [&] { return !raw.exists("kept"); }));
}

TEST_F(shutdown_test, waiters_are_told_that_the_client_is_closed) {
    std::optional<client> c{std::in_place, io, settings()};
    const mutex m{*c, "busy"};
    take_as_stranger(raw, "busy");
    lock_attempt first = start_lock(m);
    lock_attempt second = start_lock(m);
    ASSERT_TRUE(run_until(io, [&] { return listening("busy"); }));
    c.reset();
    run_to_end(io);
    ASSERT_TRUE(first.done());
    ASSERT_TRUE(second.done());
    EXPECT_EQ(first.ec(), errc::client_closed);
    EXPECT_EQ(second.ec(), errc::client_closed);
}

TEST_F(shutdown_test, async_shutdown_releases_holds_and_lets_run_return) {
    client c{io, settings()};
    const mutex m{c, "kept"};
    const mutex n{c, "kept-too"};
    hold h = take(m);
    hold g = take(n);
    plain_attempt down = start_shutdown(c);
    ASSERT_TRUE(run_until(io, [&] { return down.done(); }));
    EXPECT_FALSE(down.ec()) << down.ec().message();
    EXPECT_EQ(raw.dbsize(), 0) << "the shutdown completed before its releases";
    EXPECT_FALSE(h.owns_lock());
    run_to_end(io);
    EXPECT_TRUE(run_until(io, [&] { return raw.connections("conch").empty(); }));
    lock_attempt late = start_lock(m);
    run_to_end(io);
    ASSERT_TRUE(late.done());
    EXPECT_EQ(late.ec(), errc::client_closed);
}

TEST_F(shutdown_test, async_shutdown_may_be_called_twice) {
    client c{io, settings()};
    const mutex m{c, "kept"};
    const hold h = take(m);
    plain_attempt first = start_shutdown(c);
    plain_attempt second = start_shutdown(c);
    run_to_end(io);
    EXPECT_TRUE(first.done());
    EXPECT_TRUE(second.done());
    plain_attempt third = start_shutdown(c);
    run_to_end(io);
    EXPECT_TRUE(third.done());
}

TEST_F(shutdown_test, a_shutdown_of_an_unused_client_completes) {
    client c{io, settings()};
    plain_attempt down = start_shutdown(c);
    run_to_end(io);
    EXPECT_TRUE(down.done());
    EXPECT_FALSE(down.ec());
    EXPECT_EQ(c.stats().connects, 0u);
}

TEST_F(shutdown_test, a_shutdown_on_a_frozen_server_ends_with_the_response_timeout) {
    config impatient = settings();
    impatient.response_timeout = 300ms;
    client c{io, impatient};
    const mutex m{c, "frozen"};
    const hold h = take(m);
    server.freeze();
    const time_point start = clock::now();
    plain_attempt down = start_shutdown(c);
    EXPECT_TRUE(run_until(io, [&] { return down.done(); }));
    EXPECT_LT(clock::now() - start, 5s);
    run_to_end(io);
    server.thaw();
}

TEST_F(shutdown_test, a_detached_key_survives_the_client) {
    {
        client c{io, settings()};
        const mutex m{c, "left"};
        hold h = take(m);
        h.detach();
    }
    run_to_end(io);
    EXPECT_TRUE(raw.exists("left"));
    EXPECT_GT(raw.pttl("left"), 0);
}

TEST_F(shutdown_test, assigning_to_a_client_ends_the_one_that_it_was) {
    client c{io, settings("first")};
    const mutex m{c, "kept"};
    const hold h = take(m);
    c = client{io, settings("second")};
    const mutex n{c, "next"};
    const hold g = take(n);
    EXPECT_TRUE(run_until(io, [&] { return raw.connections("first").empty(); }));
    EXPECT_TRUE(run_until(io, [&] { return !raw.exists("kept"); }));
    EXPECT_EQ(raw.connections("second").size(), 1u);
    EXPECT_TRUE(g.owns_lock());
}

TEST_F(shutdown_test, a_drain_outlives_the_handle_of_the_client) {
    auto c = std::make_unique<client>(io, settings());
    const mutex m{*c, "drained"};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await m.async_lock();
        bool down = false;
        c->async_shutdown({.drain = 10s}, [&](error_code) { down = true; });
        c.reset();
        const auto [told] = co_await h.async_wait_lost(as_result);
        EXPECT_EQ(told, errc::client_closed);
        EXPECT_TRUE(h.owns_lock());
        const auto [ec] = co_await h.async_unlock(as_result);
        EXPECT_FALSE(ec) << ec.message();
        const bool ended = co_await when([&] { return down; });
        EXPECT_TRUE(ended) << "an early release ends the drain";
    });
}

TEST_F(shutdown_test, a_drain_without_end_outlives_the_handle_too) {
    auto c = std::make_unique<client>(io, settings());
    const mutex m{*c, "drained"};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await m.async_lock();
        c->async_shutdown({.drain = forever}, [](error_code) {});
        const auto [told] = co_await h.async_wait_lost(as_result);
        EXPECT_EQ(told, errc::client_closed);
        c.reset();
        const auto [extended] = co_await h.async_extend(60s, as_result);
        EXPECT_FALSE(extended) << extended.message();
        EXPECT_TRUE(h.owns_lock());
        co_await h.async_unlock();
    });
}

TEST_F(shutdown_test, a_drain_on_a_frozen_server_is_bounded) {
    client c{io, settings()};
    const mutex m{c, "frozen"};
    run([&]() -> asio::awaitable<void> {
        const hold h = co_await m.async_lock();
        server.freeze();
        co_await c.async_shutdown({.drain = 50ms});
        EXPECT_EQ(h.lost_reason(), errc::client_closed);
        server.thaw();
    });
}

}  // namespace
