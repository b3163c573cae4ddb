// SPDX-License-Identifier: BSL-1.0
// What is on the server and on the wire: Redisson's RLock, in no more commands than needed.
#include "support/redis_test.hpp"

#include <regex>
#include <utility>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

using wire_format_test = redis_test;

/// Commands that a lock may cost besides its scripts.
const std::vector<std::string> other_commands{"eval",        "script|load", "subscribe",
                                              "unsubscribe", "hello",       "ping",
                                              "client|kill", "info|server"};

TEST_F(wire_format_test, an_uncontended_lock_and_unlock_is_two_commands) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(c);
        raw.reset_calls();
        const mutex m{c, "two"};
        hold h = co_await m.async_lock();
        EXPECT_EQ(raw.calls("evalsha"), 1u);
        co_await h.async_unlock();
        EXPECT_EQ(raw.calls("evalsha"), 2u);
        for (const std::string& name : other_commands) {
            EXPECT_EQ(raw.calls(name), 0u) << name;
        }
    });
}

TEST_F(wire_format_test, a_fenced_lock_and_unlock_is_two_commands_too) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(c);
        raw.reset_calls();
        const mutex m{c, "two", {.fenced = true}};
        hold h = co_await m.async_lock();
        EXPECT_GT(h.fence(), 0u);
        co_await h.async_unlock();
        EXPECT_EQ(raw.calls("evalsha"), 2u);
        for (const std::string& name : other_commands) {
            EXPECT_EQ(raw.calls(name), 0u) << name;
        }
    });
}

TEST_F(wire_format_test, the_key_is_a_hash_of_one_field_with_a_count_and_a_lease) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "orders:7"};
        hold h = co_await m.async_lock({.lease = 20s});
        const auto fields = raw.hgetall("orders:7");
        EXPECT_EQ(fields.size(), 1u);
        if (fields.size() == 1) {
            const auto& [field, count] = *fields.begin();
            EXPECT_EQ(count, "1");
            EXPECT_TRUE(field.starts_with(c.id() + ":")) << field;
            EXPECT_TRUE(std::regex_match(
                field, std::regex{"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[0-9]+"}))
                << field;
        }
        const auto left = raw.pttl("orders:7");
        EXPECT_GT(left, 0);
        EXPECT_LE(left, 20'000);
        co_await h.async_unlock();
        EXPECT_EQ(raw.dbsize(), 0);
    });
}

TEST_F(wire_format_test, each_acquisition_has_a_field_of_its_own) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "fresh"};
        hold first = co_await m.async_lock();
        const std::string before = raw.hgetall("fresh").begin()->first;
        co_await first.async_unlock();
        hold second = co_await m.async_lock();
        const std::string after = raw.hgetall("fresh").begin()->first;
        co_await second.async_unlock();
        EXPECT_NE(before, after);
    });
}

TEST_F(wire_format_test, a_release_says_0_on_the_channel_of_redisson) {
    client c{io, settings()};
    const std::vector<std::pair<std::string, std::string>> channels{
        {"plain", "redisson_lock__channel:{plain}"},
        {"with{tag}", "redisson_lock__channel:with{tag}"},
        {"open{", "redisson_lock__channel:open{"},
        {"shut}", "redisson_lock__channel:{shut}}"},
    };
    run([&]() -> asio::awaitable<void> {
        for (const auto& [name, channel] : channels) {
            raw_client listener{server.socket_path()};
            listener.subscribe(channel);
            const mutex m{c, name};
            hold h = co_await m.async_lock();
            co_await h.async_unlock();
            const reply message = listener.receive();
            EXPECT_EQ(message.items.size(), 3u) << name;
            if (message.items.size() == 3) {
                EXPECT_EQ(message.items[1].text, channel);
                EXPECT_EQ(message.items[2].text, "0");
            }
        }
    });
}

TEST_F(wire_format_test, a_lock_that_redisson_holds_is_busy_and_its_release_wakes_the_waiter) {
    client c{io, push_only()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "shared"};
        take_as_stranger(raw, "shared");
        const hold tried = co_await m.async_try_lock();
        EXPECT_FALSE(tried);
        raw.reset_calls();
        task_group group{io.get_executor()};
        bool granted = false;
        const auto waiter = [&]() -> asio::awaitable<void> {
            hold h = co_await m.async_lock();
            granted = true;
            co_await h.async_unlock();
        };
        group.spawn(waiter());
        const bool parked = co_await when([&] { return raw.calls("evalsha") == 2; });
        EXPECT_TRUE(parked);
        EXPECT_FALSE(granted);
        redisson_release(raw, "shared");
        co_await group.join();
        EXPECT_EQ(c.stats().wakes_by_poll, 0u);
        EXPECT_GE(c.stats().wakes_by_message, 1u);
    });
}

TEST_F(wire_format_test, redisson_finds_a_lock_of_conch_busy_until_it_is_released) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "shared"};
        hold h = co_await m.async_lock();
        const reply busy = redisson_acquire(raw, "shared", "some-jvm:17");
        EXPECT_EQ(busy.type, reply::kind::integer);
        EXPECT_GT(busy.number, 0);
        co_await h.async_unlock();
        const reply granted = redisson_acquire(raw, "shared", "some-jvm:17");
        EXPECT_TRUE(granted.is_nil());
    });
}

TEST_F(wire_format_test, a_contended_waiter_costs_three_tries_and_one_subscription) {
    client a{io, push_only()};
    client b{io, push_only()};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(b);
        const mutex of_a{a, "contended"};
        const mutex of_b{b, "contended"};
        hold h = co_await of_a.async_lock();
        raw.reset_calls();
        task_group group{io.get_executor()};
        const auto waiter = [&]() -> asio::awaitable<void> {
            hold mine = co_await of_b.async_lock();
            EXPECT_EQ(raw.calls("evalsha"), 4u) << "three tries, and the release of the other";
            EXPECT_EQ(raw.calls("subscribe"), 1u);
            co_await mine.async_unlock();
        };
        group.spawn(waiter());
        const bool parked = co_await when([&] { return raw.calls("evalsha") == 2; });
        EXPECT_TRUE(parked);
        co_await h.async_unlock();
        co_await group.join();
        const bool quiet = co_await when([&] { return raw.channels().empty(); });
        EXPECT_TRUE(quiet) << "a subscription was left";
        EXPECT_EQ(raw.calls("subscribe"), 1u);
        EXPECT_EQ(raw.calls("evalsha"), 5u);
    });
}

TEST_F(wire_format_test, renewals_of_250_holds_leave_as_three_scripts) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(c);
        std::vector<hold> holds;
        task_group group{io.get_executor()};
        const auto take = [&](int number) -> asio::awaitable<void> {
            const mutex m{c, "batch:" + std::to_string(number)};
            holds.push_back(co_await m.async_lock({.lease = 6s}));
        };
        for (int i = 0; i < 250; ++i) {
            group.spawn(take(i));
        }
        co_await group.join();
        raw.reset_calls();
        const bool renewed = co_await when([&] { return c.stats().renewals >= 250; });
        EXPECT_TRUE(renewed);
        EXPECT_EQ(c.stats().renewals, 250u);
        EXPECT_EQ(c.stats().renewal_batches, 3u);
        EXPECT_EQ(raw.calls("evalsha"), 3u);
    });
}

TEST_F(wire_format_test, the_connection_has_the_name_that_was_configured) {
    client c{io, settings("settlement")};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(c);
        EXPECT_EQ(raw.connections("settlement").size(), 1u);
    });
}

TEST_F(wire_format_test, the_lock_lives_in_the_database_that_was_configured) {
    config third = settings();
    third.database = 3;
    client c{io, third};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "elsewhere"};
        const hold h = co_await m.async_lock();
        EXPECT_FALSE(raw.exists("elsewhere"));
        raw.must({"SELECT", "3"});
        EXPECT_TRUE(raw.exists("elsewhere"));
    });
}

TEST_F(wire_format_test, a_name_may_hold_any_byte) {
    client c{io, settings()};
    const std::string name{"\0\r\n$3 \xff\xfe*", 10};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, name};
        EXPECT_EQ(m.name(), name);
        hold h = co_await m.async_lock();
        EXPECT_TRUE(raw.exists(name));
        co_await h.async_unlock();
        EXPECT_FALSE(raw.exists(name));
    });
}

}  // namespace
