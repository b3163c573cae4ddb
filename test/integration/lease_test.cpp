// SPDX-License-Identifier: BSL-1.0
// How long a lock lives: the lease, its renewal, and the ends that a program may give it.
#include "support/child_process.hpp"
#include "support/redis_test.hpp"

#include <unistd.h>

namespace {

using namespace conch;
using namespace conch::test;

using lease_test = redis_test;

/// Takes the lock, says so, and keeps it until it is killed.
int hold_in_child(const std::string& socket_path, const child_process::report& tell) {
    asio::io_context io;
    client c{io, settings_for(socket_path)};
    auto body = [&]() -> asio::awaitable<void> {
        const mutex m{c, "orphan"};
        const hold h = co_await m.async_lock({.lease = 1s});
        tell('h');
        co_await pass(60s);
    };
    run_test(io, body(), 60s);
    return 0;
}

TEST_F(lease_test, the_lease_of_a_killed_holder_passes_to_a_waiter) {
    child_process holder{[&](const child_process::report& tell) {
        return hold_in_child(server.socket_path(), tell);
    }};
    ASSERT_TRUE(holder.reported('h'));
    client c{io, push_only()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "orphan"};
        bool killed = false;
        task_group group{io.get_executor()};
        const auto waiter = [&]() -> asio::awaitable<void> {
            const hold h = co_await m.async_lock();
            EXPECT_TRUE(killed) << "granted while the holder lived";
        };
        group.spawn(waiter());
        co_await pass(1500ms);  // longer than the lease: the holder renews
        killed = true;
        holder.kill();
        co_await group.join();
    });
}

TEST_F(lease_test, renewal_keeps_a_lock_past_three_leases) {
    client c{io, settings()};
    client other{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "kept"};
        const mutex of_other{other, "kept"};
        hold h = co_await m.async_lock({.lease = 900ms});
        const auto fields = raw.hgetall("kept");
        const time_point first = h.valid_until();
        co_await pass(2900ms);
        EXPECT_TRUE(h.owns_lock());
        EXPECT_FALSE(h.lost_reason());
        EXPECT_GT(h.valid_until(), first);
        EXPECT_EQ(raw.hgetall("kept"), fields);
        EXPECT_GE(c.stats().renewals, 3u);
        const hold busy = co_await of_other.async_try_lock();
        EXPECT_FALSE(busy);
        co_await h.async_unlock();
        EXPECT_FALSE(raw.exists("kept"));
    });
}

TEST_F(lease_test, renewal_stops_after_the_release) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "once"};
        hold h = co_await m.async_lock({.lease = 300ms});
        co_await h.async_unlock();
        raw.reset_calls();
        co_await pass(400ms);
        EXPECT_EQ(raw.calls("evalsha"), 0u);
        EXPECT_EQ(raw.dbsize(), 0);
    });
}

TEST_F(lease_test, renewal_stops_at_max_hold) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "capped"};
        const time_point start = clock::now();
        hold h = co_await m.async_lock({.lease = 900ms, .max_hold = 1500ms});
        const auto [lost] = co_await h.async_wait_lost(as_result);
        EXPECT_EQ(lost, errc::max_hold_reached);
        EXPECT_GE(clock::now() - start, 1450ms);
        EXPECT_FALSE(h.owns_lock());
        EXPECT_EQ(h.lost_reason(), errc::max_hold_reached);
        const bool gone = co_await when([&] { return !raw.exists("capped"); });
        EXPECT_TRUE(gone);
        const auto [verdict] = co_await h.async_unlock(as_result);
        EXPECT_EQ(verdict, errc::max_hold_reached);
        EXPECT_EQ(c.stats().lost_max_hold, 1u);
    });
}

TEST_F(lease_test, the_last_lease_is_no_longer_than_max_hold_allows) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "capped"};
        const hold h = co_await m.async_lock({.lease = 30s, .max_hold = 2s});
        EXPECT_LE(raw.pttl("capped"), 2100);  // with the room for drift between clocks
        EXPECT_LE(h.remaining(), 2s);
    });
}

TEST_F(lease_test, a_lease_without_renewal_ends) {
    client c{io, settings()};
    client other{io, push_only()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "fixed"};
        const mutex of_other{other, "fixed"};
        hold h = co_await m.async_lock({.lease = 400ms, .renew = false});
        task_group group{io.get_executor()};
        const auto waiter = [&]() -> asio::awaitable<void> {
            const hold next = co_await of_other.async_lock();
            EXPECT_FALSE(h.owns_lock()) << "two owners at once";
        };
        group.spawn(waiter());
        const auto [lost] = co_await h.async_wait_lost(as_result);
        EXPECT_EQ(lost, errc::lease_expired);
        const auto [verdict] = co_await h.async_unlock(as_result);
        EXPECT_EQ(verdict, errc::lease_expired);
        co_await group.join();
        EXPECT_EQ(c.stats().renewals, 0u);
    });
}

TEST_F(lease_test, a_lease_without_renewal_may_be_short) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "short"};
        const hold h = co_await m.async_lock({.lease = 50ms, .renew = false});
        EXPECT_TRUE(h);
        const bool gone = co_await when([&] { return !raw.exists("short"); });
        EXPECT_TRUE(gone);
    });
}

TEST_F(lease_test, valid_until_counts_from_the_sending_and_leaves_room_for_drift) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(c);
        const mutex m{c, "dated"};
        const time_point before = clock::now();
        const hold h = co_await m.async_lock({.lease = 20s, .renew = false});
        const time_point after = clock::now();
        const duration margin = duration{20s} / 40 + 2ms;
        EXPECT_GE(h.valid_until(), before + 20s - margin);
        EXPECT_LE(h.valid_until(), after + 20s - margin);
        EXPECT_TRUE(h.owns_lock());
        EXPECT_LE(h.remaining(), h.valid_until() - after);
    });
}

TEST_F(lease_test, nothing_is_granted_that_has_expired_already) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(c);
        raw.pause_writes(1200ms);  // longer than the lease: the first answer comes too late
        const mutex m{c, "late"};
        const hold h = co_await m.async_lock({.lease = 800ms, .renew = false});
        EXPECT_TRUE(h.owns_lock());
        EXPECT_GT(h.remaining(), 0ns);
        EXPECT_GT(raw.pttl("late"), 0);
        EXPECT_EQ(raw.hlen("late"), 1);
    });
}

TEST_F(lease_test, a_lock_granted_late_in_its_lease_is_renewed_at_once) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(c);
        const mutex m{c, "late"};
        raw.pause_writes(1200ms);
        hold h = co_await m.async_lock({.lease = 3s});
        const duration granted_with = h.remaining();
        EXPECT_LT(granted_with, 2s);
        const time_point at_grant = h.valid_until();
        const bool renewed = co_await when([&] { return h.valid_until() > at_grant; }, 900ms);
        EXPECT_TRUE(renewed) << "the next regular renewal is a second away";
    });
}

TEST_F(lease_test, the_destructor_releases) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "scoped"};
        {
            const hold h = co_await m.async_lock();
            EXPECT_TRUE(raw.exists("scoped"));
        }
        const bool gone = co_await when([&] { return !raw.exists("scoped"); });
        EXPECT_TRUE(gone);
    });
}

TEST_F(lease_test, assigning_to_a_hold_releases_what_it_held) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex one{c, "one"};
        const mutex other{c, "other"};
        hold h = co_await one.async_lock();
        h = co_await other.async_lock();
        EXPECT_TRUE(h.owns_lock());
        const bool gone = co_await when([&] { return !raw.exists("one"); });
        EXPECT_TRUE(gone);
        EXPECT_TRUE(raw.exists("other"));
    });
}

TEST_F(lease_test, release_returns_at_once_and_releases_in_the_background) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "given-back"};
        hold h = co_await m.async_lock();
        h.release();
        EXPECT_FALSE(h);
        EXPECT_FALSE(h.owns_lock());
        EXPECT_TRUE(raw.exists("given-back")) << "release() must not block on the server";
        const bool gone = co_await when([&] { return !raw.exists("given-back"); });
        EXPECT_TRUE(gone);
    });
}

TEST_F(lease_test, detach_leaves_the_key_until_its_lease_ends) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "left"};
        hold h = co_await m.async_lock({.lease = 1s});
        h.detach();
        EXPECT_FALSE(h);
        EXPECT_FALSE(h.owns_lock());
        const bool forgotten = co_await when([&] { return c.stats().holds_now == 0; });
        EXPECT_TRUE(forgotten);
        EXPECT_GT(raw.pttl("left"), 0);
        EXPECT_LE(raw.pttl("left"), 1000);
        const bool gone = co_await when([&] { return !raw.exists("left"); });
        EXPECT_TRUE(gone) << "a detached hold was renewed";
    });
}

}  // namespace
