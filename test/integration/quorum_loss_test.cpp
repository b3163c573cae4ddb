// SPDX-License-Identifier: BSL-1.0
// A quorum's hold is kept by a majority of the servers, heals, and is lost in time without one.
#include "integration/quorum_fixture.hpp"
#include "support/told_in_time.hpp"

#include <conch/with_lock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

using quorum_loss_test = quorum_test;

enum class ending { killed, frozen };

/// By how the servers end that are lost.
struct quorum_loss_of_a_majority : quorum_test, ::testing::WithParamInterface<ending> {
    static constexpr std::size_t lost[] = {1, 2, 4};

    void end_majority() {
        for (const std::size_t i : lost) {
            if (GetParam() == ending::killed) {
                server(i).kill();
            } else {
                server(i).redis.freeze();
            }
        }
    }
    /// Those that were killed stay dead.
    void thaw_majority() {
        for (const std::size_t i : lost) {
            server(i).redis.thaw();
        }
    }
};

INSTANTIATE_TEST_SUITE_P(by, quorum_loss_of_a_majority,
                         ::testing::Values(ending::killed, ending::frozen), [](const auto& p) {
                             return p.param == ending::killed ? "killed" : "frozen";
                         });

TEST_P(quorum_loss_of_a_majority, it_is_told_in_time_and_nobody_has_the_lock_before) {
    contender a{io, servers};
    contender b{io, servers};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(a);
        co_await warm_up(b);
        const quorum_mutex m = a.lock("lost", 100ms);
        const hold h = co_await m.async_lock({.lease = 3s});
        const bool taken = co_await held_by(a);
        EXPECT_TRUE(taken);
        const quorum_mutex of_b = b.lock("lost", 100ms);
        lock_attempt next = start_lock(of_b);
        const time_point start = clock::now();
        end_majority();
        co_await pass(1200ms);
        EXPECT_TRUE(h.owns_lock());
        EXPECT_LE(h.valid_until(), start + 3s) << "the living two have been renewed since";
        const std::optional<error_code> told = co_await told_in_time(h);
        EXPECT_EQ(told, errc::lease_expired);
        EXPECT_EQ(h.lost_reason(), errc::lease_expired);
        EXPECT_FALSE(h.owns_lock());
        EXPECT_FALSE(next.value().owns_lock());
        next.cancel();
        thaw_majority();
        const bool free = co_await comes_to("lost", 0);
        EXPECT_TRUE(free) << "the rest is released";
    });
}

/// Each of these has renewed oftener than fits into one lease.
asio::awaitable<void> renewed_for_a_lease(const contender& c, std::vector<std::size_t> which) {
    std::vector<std::uint64_t> before;
    for (const client& each : c.clients) {
        before.push_back(each.stats().renewals);
    }
    const bool often = co_await when([&] {
        return std::ranges::all_of(
            which, [&](std::size_t i) { return c.clients[i].stats().renewals >= before[i] + 5; });
    });
    EXPECT_TRUE(often);
}

TEST_F(quorum_loss_test, slow_two_dead_servers_are_no_loss_and_rejoin_when_they_are_back) {
    contender a{io, servers};
    run(
        [&]() -> asio::awaitable<void> {
            co_await warm_up(a);
            const hold h = co_await a.lock("heals").async_lock({.lease = 3s});
            const bool taken = co_await held_by(a);
            EXPECT_TRUE(taken);
            kill({0, 1});
            const std::vector<std::size_t> first{2, 3, 4};
            co_await renewed_for_a_lease(a, first);
            EXPECT_TRUE(h.owns_lock());
            server(0).start_empty();
            server(1).start_empty();
            const bool healed = co_await held_by(a);
            EXPECT_TRUE(healed);
            EXPECT_EQ(count_of("heals"), 5u);
            kill({2, 3});
            const std::vector<std::size_t> second{0, 1, 4};
            co_await renewed_for_a_lease(a, second);
            EXPECT_TRUE(h.owns_lock()) << "those that came back are as good";
        },
        2 * patience);
}

TEST_F(quorum_loss_test, slow_two_frozen_servers_are_not_noticed_for_longer_than_a_lease) {
    contender a{io, servers};
    run(
        [&]() -> asio::awaitable<void> {
            co_await warm_up(a);
            hold h = co_await a.lock("unnoticed").async_lock({.lease = 3s});
            const bool taken = co_await held_by(a);
            EXPECT_TRUE(taken);
            plain_attempt lost = start_wait_lost(h);
            server(0).redis.freeze();
            server(3).redis.freeze();
            const std::vector<std::size_t> rest{1, 2, 4};
            co_await renewed_for_a_lease(a, rest);
            EXPECT_TRUE(h.owns_lock());
            EXPECT_FALSE(lost.done());
            server(0).redis.thaw();
            server(3).redis.thaw();
            const bool healed = co_await held_by(a);
            EXPECT_TRUE(healed);
            EXPECT_EQ(count_of("unnoticed"), 5u);
            co_await h.async_unlock();
            const bool told = co_await when([&] { return lost.done(); });
            EXPECT_TRUE(told);
            EXPECT_FALSE(lost.ec()) << lost.ec().message();
        },
        2 * patience);
}

// At once, not at the end of the lease.
TEST_F(quorum_loss_test, a_majority_that_forgot_the_lock_is_a_loss_when_it_says_so) {
    contender a{io, servers};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(a);
        const hold h = co_await a.lock("forgotten", 30ms).async_lock({.lease = 6s});
        const bool taken = co_await held_by(a);
        EXPECT_TRUE(taken);
        for (std::size_t i = 0; i < 3; ++i) {
            server(i).raw.must({"DEL", "forgotten"});
        }
        const time_point start = clock::now();
        const auto [ec] = co_await h.async_wait_lost(as_result);
        EXPECT_EQ(ec, errc::lock_lost);
        EXPECT_LT(clock::now() - start, 4s);
        const bool free = co_await comes_to("forgotten", 0);
        EXPECT_TRUE(free);
    });
}

// A client notices at once what is forced by itself.
TEST_F(quorum_loss_test, what_is_forced_on_one_server_after_the_other_is_not_healed) {
    contender a{io, servers};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(a);
        const hold h = co_await a.lock("one-by-one", 30ms).async_lock({.lease = 9s});
        const bool taken = co_await held_by(a);
        EXPECT_TRUE(taken);
        for (std::size_t i = 0; i < 3; ++i) {
            EXPECT_TRUE(h.owns_lock());
            const mutex one{a.clients[i], "one-by-one"};
            const bool forced = co_await one.async_force_unlock();
            EXPECT_TRUE(forced);
            co_await pass(200ms);
        }
        EXPECT_EQ(h.lost_reason(), errc::lock_lost);
    });
}

TEST_F(quorum_loss_test, a_minority_that_forgot_the_lock_is_asked_again) {
    contender a{io, servers};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(a);
        const hold h = co_await a.lock("minority").async_lock({.lease = 3s});
        const bool taken = co_await held_by(a);
        EXPECT_TRUE(taken);
        server(0).raw.must({"DEL", "minority"});
        server(1).raw.must({"DEL", "minority"});
        const bool healed = co_await comes_to("minority", 5);
        EXPECT_TRUE(healed);
        EXPECT_TRUE(h.owns_lock());
    });
}

TEST_F(quorum_loss_test, what_does_not_heal_is_the_hold_that_was_lost) {
    contender a{io, servers};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(a);
        const hold h = co_await a.lock("dead", 100ms).async_lock({.lease = 600ms});
        kill({0, 1, 2});
        const std::optional<error_code> told = co_await told_in_time(h);
        EXPECT_EQ(told, errc::lease_expired);
        for (std::size_t i = 0; i < 3; ++i) {
            server(i).start_empty();
        }
        co_await pass(1s);
        EXPECT_FALSE(h.owns_lock());
        EXPECT_EQ(count_of("dead"), 0u);
    });
}

TEST_F(quorum_loss_test, a_stranger_may_force_the_lock_from_a_majority_and_not_from_a_minority) {
    contender a{io, servers};
    const contender b{io, servers};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(a);
        hold h = co_await a.lock("forced").async_lock({.lease = 3s});
        const bool taken = co_await held_by(a);
        EXPECT_TRUE(taken);
        const mutex one{b.clients[0], "forced"};
        const bool minority = co_await one.async_force_unlock();
        EXPECT_TRUE(minority);
        const auto [still] = co_await h.async_extend(3s, as_result);
        EXPECT_FALSE(still) << still.message();
        EXPECT_TRUE(h.owns_lock());
        const bool majority = co_await b.lock("forced").async_force_unlock();
        EXPECT_TRUE(majority);
        const auto [ec] = co_await h.async_wait_lost(as_result);
        EXPECT_EQ(ec, errc::lock_lost);
        const auto [verdict] = co_await h.async_unlock(as_result);
        EXPECT_EQ(verdict, errc::lock_lost);
        const bool none = co_await b.lock("forced").async_force_unlock();
        EXPECT_FALSE(none);
    });
}

TEST_F(quorum_loss_test, max_hold_and_a_fixed_lease_end_the_hold) {
    const contender a{io, servers};
    run([&]() -> asio::awaitable<void> {
        const quorum_mutex m = a.lock("ends");
        {
            const hold h = co_await m.async_lock({.lease = 300ms, .max_hold = 800ms});
            const std::optional<error_code> told = co_await told_in_time(h);
            EXPECT_EQ(told, errc::max_hold_reached);
        }
        const hold h = co_await m.async_lock({.lease = 400ms, .renew = false});
        const std::optional<error_code> told = co_await told_in_time(h);
        EXPECT_EQ(told, errc::lease_expired);
    });
}

TEST_F(quorum_loss_test, who_asks_for_it_is_told_ahead_of_time) {
    const contender a{io, servers};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await a.lock("ahead").async_lock({.lease = 2s, .renew = false});
        const auto [ec] = co_await h.async_wait_lost(1500ms, as_result);
        EXPECT_EQ(ec, errc::lease_expired);
        EXPECT_TRUE(h.owns_lock());
        const auto [negative] = co_await h.async_wait_lost(-1s, as_result);
        EXPECT_EQ(negative, errc::invalid_wait);
        co_await h.async_unlock();
        const auto [over] = co_await h.async_wait_lost(as_result);
        EXPECT_FALSE(over) << "it was released";
    });
}

struct quorum_loss_of_three : quorum_test {
    quorum_loss_of_three() : quorum_test{3} {}
};

// One member can't be renewed and has told so; then another is gone, and one is left for long.
TEST_F(quorum_loss_of_three, a_member_that_is_gone_counts_for_who_is_told_ahead_of_time) {
    contender a{io, servers};
    run([&]() -> asio::awaitable<void> {
        const quorum_mutex m = a.lock("fewer", 30ms);
        const hold h = co_await m.async_lock({.lease = 3s});
        const bool taken = co_await held_by(a);
        EXPECT_TRUE(taken);
        kill({0});
        error_code told;
        h.async_wait_lost(1500ms, [&](error_code ec) { told = ec; });
        co_await pass(1700ms);
        EXPECT_FALSE(told) << "two are as good as ever";
        const mutex one{a.clients[1], "fewer"};
        co_await one.async_force_unlock();
        const bool in_time = co_await when([&] { return told || !h.owns_lock(); });
        EXPECT_TRUE(in_time);
        EXPECT_EQ(told, errc::lock_lost);
        EXPECT_TRUE(h.owns_lock());
    });
}

TEST_F(quorum_loss_test, an_extension_takes_a_majority) {
    contender a{io, servers};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(a);
        hold h = co_await a.lock("extended").async_lock({.lease = 5s});
        const bool taken = co_await held_by(a);
        EXPECT_TRUE(taken);
        kill({0, 1});
        const auto [ec] = co_await h.async_extend(10min, as_result);
        EXPECT_FALSE(ec) << ec.message();
        EXPECT_GT(h.remaining(), 5min);
        const auto [bad] = co_await h.async_extend(1ms, as_result);
        EXPECT_EQ(bad, errc::invalid_lease);
        EXPECT_TRUE(h.owns_lock());
    });
}

TEST_F(quorum_loss_test, detaching_leaves_the_keys_until_their_leases_end) {
    const contender a{io, servers};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await a.lock("left").async_lock({.lease = 2s});
        const bool taken = co_await held_by(a);
        EXPECT_TRUE(taken);
        h.detach();
        EXPECT_FALSE(h);
        const auto [unlocked] = co_await h.async_unlock(as_result);
        EXPECT_EQ(unlocked, errc::not_owner);
        const auto [watched] = co_await h.async_wait_lost(as_result);
        EXPECT_EQ(watched, errc::not_owner);
        co_await pass(500ms);
        EXPECT_EQ(count_of("left"), 5u);
        const bool free = co_await comes_to("left", 0);
        EXPECT_TRUE(free) << "nobody renews them";
    });
}

TEST_F(quorum_loss_test, a_minority_of_clients_may_be_closed_and_all_of_them_end_the_hold) {
    contender a{io, servers};
    run([&]() -> asio::awaitable<void> {
        const quorum_mutex m = a.lock("closed");
        hold h = co_await m.async_lock({.lease = 600ms});
        const bool taken = co_await held_by(a);
        EXPECT_TRUE(taken);
        co_await a.clients[0].async_shutdown();
        co_await a.clients[3].async_shutdown();
        co_await pass(1s);
        EXPECT_TRUE(h.owns_lock());
        for (client& c : a.clients) {
            co_await c.async_shutdown();
        }
        const auto [ec] = co_await h.async_wait_lost(as_result);
        EXPECT_EQ(ec, errc::client_closed);
        const auto [locked, none] = co_await m.async_lock({}, as_result);
        EXPECT_EQ(locked, errc::client_closed);
        EXPECT_EQ(count_of("closed"), 0u);
    });
    run_to_end(io);
}

TEST_F(quorum_loss_test, a_drain_is_told_at_its_beginning_and_the_lock_kept_for_it) {
    contender a{io, servers};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await a.lock("drained").async_lock({.lease = 600ms});
        for (client& c : a.clients) {
            c.async_shutdown({.drain = 30s}, [](error_code) {});
        }
        const auto [ec] = co_await h.async_wait_lost(as_result);
        EXPECT_EQ(ec, errc::client_closed);
        co_await pass(1s);
        EXPECT_TRUE(h.owns_lock());
        const auto [unlocked] = co_await h.async_unlock(as_result);
        EXPECT_FALSE(unlocked) << unlocked.message();
    });
    run_to_end(io);
}

TEST_F(quorum_loss_test, with_lock_ends_its_body_before_the_lock_is_lost) {
    contender a{io, servers};
    run([&]() -> asio::awaitable<void> {
        const quorum_mutex m = a.lock("section", 100ms);
        bool owned = false;
        const auto body = [&](hold& h) -> asio::awaitable<void> {
            kill({0, 1, 2});
            asio::steady_timer forever_timer{co_await asio::this_coro::executor,
                                             asio::steady_timer::time_point::max()};
            const auto [ec] = co_await forever_timer.async_wait(asio::as_tuple(asio::deferred));
            owned = ec && h.owns_lock();
        };
        error_code thrown;
        try {
            co_await with_lock(m, {.lease = 2s}, body);
        } catch (const system_error& e) {
            thrown = e.code();
        }
        EXPECT_EQ(thrown, errc::lock_lost);
        EXPECT_TRUE(owned);
    });
}

}  // namespace
