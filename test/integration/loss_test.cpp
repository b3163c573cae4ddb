// SPDX-License-Identifier: BSL-1.0
// A lock that is lost is said to be lost, in time, and by its right name.
#include "support/redis_test.hpp"
#include "support/told_in_time.hpp"

#include <optional>
#include <string_view>

namespace {

using namespace conch;
using namespace conch::test;

using loss_test = redis_test;

TEST_F(loss_test, a_server_restarted_empty_is_reported_as_loss_and_waiters_go_on) {
    client a{io, settings()};
    client b{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex of_a{a, "restarted", {.fenced = true}};
        const mutex of_b{b, "restarted", {.fenced = true}};
        hold h = co_await of_a.async_lock();
        const std::uint64_t token = h.fence();
        int granted = 0;
        task_group group{io.get_executor()};
        const auto waiter = [&](const mutex& m) -> asio::awaitable<void> {
            hold next = co_await m.async_lock();
            ++granted;
            EXPECT_GT(next.fence(), token);
            co_await next.async_unlock();
        };
        group.spawn(waiter(of_a));
        group.spawn(waiter(of_b));
        const bool waiting =
            co_await when([&] { return a.stats().waiting_now == 1 && raw.calls("evalsha") >= 3; });
        EXPECT_TRUE(waiting);
        restart_empty();
        const auto [lost] = co_await h.async_wait_lost(as_result);
        EXPECT_EQ(lost, errc::lost_in_failover);
        EXPECT_FALSE(h.owns_lock());
        const auto [verdict] = co_await h.async_unlock(as_result);
        EXPECT_EQ(verdict, errc::lost_in_failover);
        co_await group.join();
        EXPECT_EQ(granted, 2);
        EXPECT_FALSE(raw.exists("restarted"));
    });
}

// The lease is long, because what is kept of it for lateness is a fortieth.
TEST_F(loss_test, slow_loss_is_told_before_the_lease_ends_while_the_server_is_frozen) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(c);
        const mutex m{c, "frozen"};
        const time_point start = clock::now();
        hold h = co_await m.async_lock({.lease = 10s});
        server.freeze();
        const auto [lost] = co_await h.async_wait_lost(as_result);
        const duration told = clock::now() - start;
        EXPECT_EQ(lost, errc::lease_expired);
        EXPECT_LE(told, 10s);
        EXPECT_FALSE(h.owns_lock());
        EXPECT_EQ(h.lost_reason(), errc::lease_expired);
    });
    server.thaw();
}

TEST_F(loss_test, a_turn_that_took_long_delays_no_loss) {
    config c = settings();
    c.least_log_level = log_level::debug;
    bool took_long = false;
    c.log = [&](log_level, std::string_view line) {
        if (line.starts_with("granted: ")) {
            const time_point end = clock::now() + 500ms;
            while (clock::now() < end) {  // within the turn that takes the lock
            }
            took_long = true;
        }
    };
    client slow{io, c};
    const mutex m{slow, "slow"};
    run([&]() -> asio::awaitable<void> {
        const hold h = co_await m.async_lock({.lease = 600ms, .renew = false});
        const std::optional<error_code> told = co_await told_in_time(h);
        EXPECT_EQ(told, errc::lease_expired);
        EXPECT_TRUE(took_long);
    });
}

TEST_F(loss_test, an_unlock_on_a_frozen_server_ends_with_the_lease) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(c);
        const mutex m{c, "frozen"};
        hold h = co_await m.async_lock({.lease = 800ms, .renew = false});
        server.freeze();
        const auto [verdict] = co_await h.async_unlock(as_result);
        EXPECT_TRUE(verdict) << "nobody confirmed the release";
        EXPECT_LE(clock::now(), h.valid_until() + 3s);
        server.thaw();
        const bool gone = co_await when([&] { return !raw.exists("frozen"); });
        EXPECT_TRUE(gone);
    });
}

TEST_F(loss_test, a_forced_unlock_gives_a_remote_waiter_the_lock_at_once) {
    client a{io, push_only()};
    client b{io, push_only()};
    run([&]() -> asio::awaitable<void> {
        const mutex of_a{a, "forced"};
        const mutex of_b{b, "forced"};
        hold h = co_await of_a.async_lock();
        raw.reset_calls();
        task_group group{io.get_executor()};
        const auto waiter = [&]() -> asio::awaitable<void> {
            const hold next = co_await of_b.async_lock({.wait = 8s});
            EXPECT_TRUE(next.owns_lock());
        };
        group.spawn(waiter());
        const bool parked = co_await when([&] { return raw.calls("evalsha") == 2; });
        EXPECT_TRUE(parked);
        const bool taken = co_await of_b.async_force_unlock();
        EXPECT_TRUE(taken);
        co_await group.join();
        EXPECT_EQ(b.stats().wakes_by_poll, 0u);
        const auto [verdict] = co_await h.async_unlock(as_result);
        EXPECT_EQ(verdict, errc::lock_lost);
    });
}

TEST_F(loss_test, a_forced_unlock_is_told_at_once_to_a_holder_with_local_waiters) {
    client a{io, push_only()};
    client b{io, push_only()};
    run([&]() -> asio::awaitable<void> {
        const mutex of_a{a, "forced"};
        const mutex of_b{b, "forced"};
        hold h = co_await of_a.async_lock();
        bool granted = false;
        task_group group{io.get_executor()};
        const auto waiter = [&]() -> asio::awaitable<void> {
            const hold next = co_await of_a.async_lock();
            granted = true;
        };
        group.spawn(waiter());
        const bool heard = co_await when([&] { return listening("forced"); });
        EXPECT_TRUE(heard) << "a holder with local waiters listens";
        const time_point start = clock::now();
        const bool taken = co_await of_b.async_force_unlock();
        EXPECT_TRUE(taken);
        const auto [lost] = co_await h.async_wait_lost(as_result);
        EXPECT_EQ(lost, errc::lock_lost);
        EXPECT_LT(clock::now() - start, 5s) << "its next renewal is 10 s away";
        const auto [verdict] = co_await h.async_unlock(as_result);
        EXPECT_EQ(verdict, errc::lock_lost);
        co_await group.join();
        EXPECT_TRUE(granted);
        EXPECT_EQ(a.stats().lost_taken, 1u);
    });
}

TEST_F(loss_test, a_key_deleted_by_hand_is_noticed_by_the_renewal) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "deleted"};
        hold h = co_await m.async_lock({.lease = 3s});
        raw.must({"DEL", "deleted"});
        const auto [lost] = co_await h.async_wait_lost(as_result);
        EXPECT_EQ(lost, errc::lock_lost);
        EXPECT_FALSE(raw.exists("deleted"));
        const auto [verdict] = co_await h.async_unlock(as_result);
        EXPECT_EQ(verdict, errc::lock_lost);
    });
}

TEST_F(loss_test, a_lock_that_someone_else_has_by_now_stays_theirs) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "usurped"};
        hold h = co_await m.async_lock({.lease = 3s});
        raw.must({"DEL", "usurped"});
        take_as_stranger(raw, "usurped");
        const auto theirs = raw.hgetall("usurped");
        const auto [lost] = co_await h.async_wait_lost(as_result);
        EXPECT_EQ(lost, errc::lock_lost);
        const auto [verdict] = co_await h.async_unlock(as_result);
        EXPECT_EQ(verdict, errc::lock_lost);
        EXPECT_EQ(raw.hgetall("usurped"), theirs);
        EXPECT_GT(raw.pttl("usurped"), 20'000);
    });
}

TEST_F(loss_test, the_unlock_itself_finds_out_that_the_lock_is_lost) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "deleted"};
        hold h = co_await m.async_lock();
        raw.must({"DEL", "deleted"});
        const auto [verdict] = co_await h.async_unlock(as_result);
        EXPECT_EQ(verdict, errc::lock_lost);
    });
}

TEST_F(loss_test, a_second_unlock_says_already_released) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "twice"};
        hold first = co_await m.async_lock();
        co_await first.async_unlock();
        const auto [again] = co_await first.async_unlock(as_result);
        EXPECT_EQ(again, errc::already_released);
        hold second = co_await m.async_lock();
        second.release();
        const auto [after_release] = co_await second.async_unlock(as_result);
        EXPECT_EQ(after_release, errc::already_released);
    });
}

TEST_F(loss_test, the_unlock_of_an_empty_hold_says_not_owner) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        hold none;
        const auto [of_none] = co_await none.async_unlock(as_result);
        EXPECT_EQ(of_none, errc::not_owner);
        const auto [wait] = co_await none.async_wait_lost(as_result);
        EXPECT_EQ(wait, errc::not_owner);
        const mutex m{c, "moved"};
        hold source = co_await m.async_lock();
        hold target = std::move(source);
        const auto [of_moved] = co_await source.async_unlock(as_result);
        EXPECT_EQ(of_moved, errc::not_owner);
        EXPECT_TRUE(target.owns_lock());
        target.detach();
        const auto [of_detached] = co_await target.async_unlock(as_result);
        EXPECT_EQ(of_detached, errc::not_owner);
    });
}

TEST_F(loss_test, waiting_for_the_loss_ends_without_error_when_the_lock_is_released) {
    client c{io, settings()};
    const mutex m{c, "given-back"};
    hold unlocked;
    hold released;
    hold detached;
    run([&]() -> asio::awaitable<void> {
        const mutex second{c, "second"};
        const mutex third{c, "third"};
        unlocked = co_await m.async_lock();
        released = co_await second.async_lock();
        detached = co_await third.async_lock({.lease = 1s});
        task_group group{io.get_executor()};
        const auto watch = [&](const hold& h) -> asio::awaitable<void> {
            const auto [ec] = co_await h.async_wait_lost(as_result);
            EXPECT_FALSE(ec) << ec.message();
        };
        group.spawn(watch(unlocked));
        group.spawn(watch(released));
        group.spawn(watch(detached));
        co_await pass(20ms);
        EXPECT_EQ(group.running(), 3u);
        co_await unlocked.async_unlock();
        released.release();
        detached.detach();
        co_await group.join();
    });
}

TEST_F(loss_test, a_watched_hold_that_is_destroyed_gives_its_lock_back) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "watched"};
        std::optional<error_code> plain;
        std::optional<error_code> ahead;
        {
            const hold h = co_await m.async_lock();
            h.async_wait_lost([&](error_code why) { plain = why; });
            h.async_wait_lost(1s, [&](error_code why) { ahead = why; });
            const lock_status status = co_await m.async_status();  // the watches are in place
            EXPECT_TRUE(status.locked);
            EXPECT_FALSE(plain || ahead);
        }
        const bool gone = co_await when([&] { return !raw.exists("watched"); });
        EXPECT_TRUE(gone) << "a watch keeps no hold alive";
        const bool told = co_await when([&] { return plain && ahead; });
        EXPECT_TRUE(told);
        EXPECT_EQ(plain, error_code{}) << "released, not lost";
        EXPECT_EQ(ahead, error_code{});
    });
}

}  // namespace
