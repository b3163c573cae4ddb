// SPDX-License-Identifier: BSL-1.0
// Locks at the master that real sentinels name, while servers and sentinels fail.
#include "deployment/sentinel_test.hpp"
#include "support/fenced_resource.hpp"
#include "support/rights.hpp"
#include "support/told_in_time.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

TEST_F(sentinel_test, slow_the_master_is_found_and_excludes) {
    run([&]() -> asio::awaitable<void> {
        const mutex of_a{a, "m"};
        const mutex of_b{b, "m"};
        hold h = co_await of_a.async_lock();
        EXPECT_TRUE(group.raw(0).exists("m"));
        hold none = co_await of_b.async_try_lock();
        EXPECT_FALSE(none);
        bool granted = false;
        task_group waiting{io.get_executor()};
        const auto waiter = [&]() -> asio::awaitable<void> {
            hold next = co_await of_b.async_lock();
            granted = true;
            co_await next.async_unlock();
        };
        waiting.spawn(waiter());
        const bool waits = co_await when([&] { return b.stats().subscriptions_now == 1; });
        EXPECT_TRUE(waits);
        EXPECT_FALSE(granted);
        co_await h.async_unlock();
        co_await waiting.join();
        EXPECT_TRUE(granted);
    });
}

TEST_F(sentinel_test, slow_a_replicated_hold_outlives_its_master) {
    run([&]() -> asio::awaitable<void> {
        const mutex of_a{a, "m", {.fenced = true}};
        const mutex of_b{b, "m", {.fenced = true}};
        hold h = co_await of_a.async_lock({.lease = 60s});
        const std::uint64_t token = h.fence();
        EXPECT_TRUE(group.replicated(0));
        bool granted = false;
        task_group waiting{io.get_executor()};
        const auto waiter = [&]() -> asio::awaitable<void> {
            hold next = co_await of_b.async_lock();
            granted = true;
            EXPECT_GT(next.fence(), token);
            co_await next.async_unlock();
        };
        waiting.spawn(waiter());
        const bool waits = co_await when([&] { return b.stats().subscriptions_now == 1; });
        EXPECT_TRUE(waits);

        group.server(0).kill();
        const std::size_t now = co_await next_master(0);
        const bool back = co_await when(
            [&] { return a.stats().connects == 2 && a.stats().renewals >= 1; }, long_patience);
        EXPECT_TRUE(back) << "checked and renewed at the new master";
        EXPECT_TRUE(h.owns_lock());
        EXPECT_TRUE(group.raw(now).exists("m"));
        const bool calm = co_await when([&] { return group.calm(); }, long_patience);
        EXPECT_TRUE(calm);
        co_await listens(now, "m");
        EXPECT_FALSE(granted);
        co_await wakes(h, waiting);
        EXPECT_TRUE(granted);
        EXPECT_FALSE(group.raw(now).exists("m"));
    });
}

TEST_F(sentinel_test, slow_a_frozen_master_that_wakes_up_has_no_say) {
    fenced_resource resource;
    run([&]() -> asio::awaitable<void> {
        const mutex of_a{a, "m", {.fenced = true}};
        const mutex of_b{b, "m", {.fenced = true}};
        const mutex other{b, "n", {.fenced = true}};
        hold h = co_await of_a.async_lock({.lease = 60s});
        const claim old{"m", h.fence(), h.valid_until(), 60s};
        EXPECT_TRUE(resource.enter(old, clock::now()).accepted);
        hold warm = co_await other.async_lock();
        co_await warm.async_unlock();
        EXPECT_TRUE(group.replicated(0));
        group.server(0).freeze();
        hold of_other;
        task_group in_its_socket{io.get_executor()};
        const auto lock_other = [&]() -> asio::awaitable<void> {
            of_other = co_await other.async_lock({.lease = 60s});
        };
        in_its_socket.spawn(lock_other());
        const std::size_t now = co_await next_master(0);
        const bool back = co_await when(
            [&] { return a.stats().connects == 2 && a.stats().renewals >= 1; }, long_patience);
        EXPECT_TRUE(back);
        EXPECT_TRUE(h.owns_lock());
        co_await in_its_socket.join();
        EXPECT_TRUE(group.raw(now).exists("n")) << "granted by the new master";
        group.server(0).thaw();
        hold none = co_await of_b.async_try_lock({.wait = 200ms});
        EXPECT_FALSE(none);
        const std::uint64_t token = h.fence();
        co_await h.async_unlock();
        hold next = co_await of_b.async_lock();
        EXPECT_GT(next.fence(), token);
        const claim young{"m", next.fence(), next.valid_until(), 30s};
        EXPECT_TRUE(resource.enter(young, clock::now()).accepted);
        EXPECT_FALSE(resource.write(old, 1, clock::now()).accepted) << "by its fence";
        EXPECT_TRUE(group.raw(now).exists("m"));
        const auto is_replica = [&] {
            const reply role = group.role(0);
            return !role.items.empty() && role.items[0].text == "slave";
        };
        const bool demoted = co_await when(is_replica, long_patience);
        EXPECT_TRUE(demoted);
        EXPECT_TRUE(next.owns_lock());
        EXPECT_TRUE(of_other.owns_lock());
        EXPECT_EQ(group.raw(now).hlen("n"), 1);
        co_await next.async_unlock();
        co_await of_other.async_unlock();
        EXPECT_FALSE(group.raw(now).exists("n"));
    });
}

TEST_F(sentinel_test, slow_an_extension_that_was_not_replicated_is_made_good) {
    run([&]() -> asio::awaitable<void> {
        hold h = co_await mutex{a, "m"}.async_lock({.lease = 20s, .renew = false});
        EXPECT_TRUE(group.replicated(0));
        group.server(1).freeze();
        group.server(2).freeze();
        EXPECT_EQ(group.raw(0).must({"CLIENT", "KILL", "TYPE", "replica"}).number, 2);
        co_await h.async_extend(60s);
        const time_point until = h.valid_until();
        group.server(0).kill();
        group.server(1).thaw();
        group.server(2).thaw();
        const std::size_t now = co_await next_master(0);
        const bool longer = co_await when([&] { return group.raw(now).pttl("m") > 20'000; });
        EXPECT_TRUE(longer) << "for as long as the holder was promised";
        EXPECT_GE(h.valid_until(), until);
        EXPECT_TRUE(h.owns_lock());
        // What happens now has nothing to do with a failover.
        const bool calm = co_await when([&] { return group.calm(); }, long_patience);
        EXPECT_TRUE(calm);
        const auto connects = a.stats().connects;
        const bool forced = co_await mutex{b, "m"}.async_force_unlock();
        EXPECT_TRUE(forced);
        const auto [why] = co_await h.async_wait_lost(as_result);
        if (a.stats().connects == connects) {
            EXPECT_EQ(why, errc::lock_lost);
        }
    });
}

TEST_F(sentinel_test, slow_a_loss_is_told_in_time_while_there_is_no_master) {
    run([&]() -> asio::awaitable<void> {
        const mutex m{a, "m"};
        hold h = co_await m.async_lock({.lease = 2s});
        for (std::size_t i = 0; i < sentinel_group::sentinel_count; ++i) {
            group.sentinel(i).kill();
        }
        group.server(0).freeze();
        const auto why = co_await told_in_time(h);
        EXPECT_EQ(why, std::optional{make_error_code(errc::lease_expired)});
        group.server(0).thaw();
    });
}

TEST_F(sentinel_test, slow_the_loss_of_sentinels_is_nothing_as_long_as_one_is_left) {
    run([&]() -> asio::awaitable<void> {
        const mutex m{a, "m"};
        hold first = co_await m.async_lock();
        co_await first.async_unlock();
        hold kept = co_await mutex{a, "kept"}.async_lock({.lease = 60s});
        const auto key = group.raw(0).hgetall("kept");
        EXPECT_EQ(key.size(), 1u);
        group.sentinel(0).kill();  // the one that is asked
        EXPECT_TRUE(group.replicated(0));
        const auto renewals = a.stats().renewals;
        group.server(0).kill();
        std::size_t now = 0;
        const bool moved = co_await when(
            [&] {
                now = group.master_by(1);
                return now != 0;
            },
            long_patience);
        EXPECT_TRUE(moved);
        hold h = co_await m.async_lock();
        EXPECT_TRUE(group.raw(now).exists("m"));
        co_await h.async_unlock();
        const bool renewed =
            co_await when([&] { return a.stats().renewals > renewals; }, long_patience);
        EXPECT_TRUE(renewed) << "checked and renewed at the new master";
        EXPECT_TRUE(kept.owns_lock());
        EXPECT_EQ(group.raw(now).hgetall("kept"), key);
        co_await kept.async_unlock();
        EXPECT_FALSE(group.raw(now).exists("kept"));
    });
}

TEST_F(sentinel_test, slow_an_unknown_name_fails_soon_and_says_so) {
    config wrong = group.settings("wrong");
    wrong.sentinel->master = "nobody";
    client c{io, wrong};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "m"};
        const auto [ec, h] = co_await m.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::unknown_master);
        const std::string words = c.last_server_error();
        EXPECT_TRUE(words.starts_with("sentinel ")) << words;
        EXPECT_TRUE(words.ends_with(": it knows no master named nobody")) << words;
    });
}

TEST_F(sentinel_test, slow_sentinels_and_servers_each_have_a_user_of_their_own) {
    for (std::size_t i = 0; i < sentinel_group::sentinel_count; ++i) {
        raw_client raw{group.sentinel(i).socket_path()};
        raw.must({"ACL", "SETUSER", "asks", "on", ">first", "+@all", "allchannels"});
    }
    group.raw(0).must({"ACL", "SETUSER", "locks", "on", ">second", "~*", "+@all"});
    group.raw(0).must({"ACL", "SETUSER", "locks", "allchannels"});
    config c = group.settings("c");
    c.username = "locks";
    c.password = "second";
    c.sentinel->username = "asks";
    c.sentinel->password = "first";
    client good{io, c};
    c.sentinel->password = "wrong";
    client bad{io, c};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await mutex{good, "m"}.async_lock();
        EXPECT_TRUE(h.owns_lock());
        const reply list = group.raw(0).must({"CLIENT", "LIST"});
        EXPECT_NE(list.text.find("name=c:"), std::string::npos);
        EXPECT_NE(list.text.find("user=locks"), std::string::npos);
        raw_client raw{group.sentinel(0).socket_path()};
        const bool listens = co_await when([&] {
            const std::string of_sentinel = raw.must({"CLIENT", "LIST", "TYPE", "pubsub"}).text;
            return of_sentinel.find("user=asks") != std::string::npos;
        });
        EXPECT_TRUE(listens);
        const auto [ec, none] = co_await mutex{bad, "m"}.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::authentication_failed);
        co_await h.async_unlock();
    });
}

TEST_F(sentinel_test, slow_an_announcement_alone_is_enough) {
    config c = group.settings("c");
    c.sentinel->scan_interval = 1h;
    c.ping_interval = 1h;
    c.connect_timeout = c.response_timeout = 1h;
    client patient{io, c};
    run([&]() -> asio::awaitable<void> {
        const mutex m{patient, "m"};
        hold h = co_await m.async_lock({.lease = 60s});
        EXPECT_TRUE(group.replicated(0));
        group.server(0).freeze();  // its connections don't end
        co_await next_master(0);
        const bool moved =
            co_await when([&] { return patient.stats().connects == 2; }, long_patience);
        EXPECT_TRUE(moved);
        co_await leaves(0);
        EXPECT_TRUE(h.owns_lock());
        co_await h.async_unlock();
        group.server(0).thaw();
    });
}

// Before 6.2, users have no rights of channels that could be missing.
TEST_F(sentinel_test, slow_a_look_alone_is_enough) {
    if (server_is_before(6, 2)) {
        GTEST_SKIP() << "for Redis 6.2 or newer";
    }
    for (std::size_t i = 0; i < sentinel_group::sentinel_count; ++i) {
        raw_client sentinel{group.sentinel(i).socket_path()};
        sentinel.must({"ACL", "SETUSER", std::string{conch_user}, "resetchannels"});
    }
    config c = group.settings("c");
    c.ping_interval = 1h;
    c.connect_timeout = c.response_timeout = 1h;
    client deaf{io, c};
    run([&]() -> asio::awaitable<void> {
        const mutex m{deaf, "m"};
        hold h = co_await m.async_lock({.lease = 60s});
        EXPECT_TRUE(group.replicated(0));
        group.server(0).freeze();  // its connections don't end
        co_await next_master(0);
        const bool moved = co_await when([&] { return deaf.stats().connects == 2; }, long_patience);
        EXPECT_TRUE(moved);
        co_await leaves(0);
        EXPECT_TRUE(h.owns_lock());
        co_await h.async_unlock();
        group.server(0).thaw();
    });
    raw_client sentinel{group.sentinel(0).socket_path()};
    EXPECT_FALSE(sentinel.refused().empty()) << "it did listen";
}

TEST_F(sentinel_test, slow_counters_stay_whole_over_failovers) {
    run([&]() -> asio::awaitable<void> {
        fenced_resource resource;
        bool go_on = true;
        std::uint64_t done = 0;
        const auto worker = [&](client& c) -> asio::awaitable<void> {
            const mutex m{c, "counter", {.fenced = true}};
            while (go_on) {
                auto [ec, h] = co_await m.async_lock({.lease = 10s}, as_result);
                if (ec) {
                    continue;
                }
                const claim mine{"counter", h.fence(), h.valid_until(), 10s};
                const auto read = resource.enter(mine, clock::now());
                co_await pass(1ms);
                if (read.accepted && h.owns_lock()) {
                    done += resource.write(mine, read.value + 1, clock::now()).accepted ? 1 : 0;
                } else {
                    resource.leave(mine);
                }
                co_await h.async_unlock(as_result);
            }
        };
        task_group workers{io.get_executor()};
        workers.spawn(worker(a));
        workers.spawn(worker(b));
        workers.spawn(worker(b));
        const bool some = co_await when([&] { return done >= 100; });
        EXPECT_TRUE(some);
        const time_point killed = clock::now();
        group.server(0).kill();
        const std::size_t second = co_await next_master(0);
        resource.data_lost("counter", killed, clock::now());
        const std::uint64_t before = done;
        const bool more = co_await when([&] { return done >= before + 100; }, long_patience);
        EXPECT_TRUE(more);
        EXPECT_LT(second, sentinel_group::server_count);
        go_on = false;
        co_await workers.join();
        const resource_report r = resource.report();
        EXPECT_EQ(r.overlaps, 0u) << testing::PrintToString(resource.findings());
        EXPECT_EQ(r.stale_accepted, 0u);
        EXPECT_EQ(r.fences_backwards, 0u);
        EXPECT_EQ(r.fences_reused, 0u);
        EXPECT_EQ(r.lost_updates(), 0u);
        EXPECT_EQ(r.written, done);
    });
}

}  // namespace
