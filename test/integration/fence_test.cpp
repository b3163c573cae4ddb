// SPDX-License-Identifier: BSL-1.0
// Fencing tokens: greater with every acquisition, whatever happens to the server's data.
#include "support/redis_test.hpp"

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

using fence_test = redis_test;

asio::awaitable<std::uint64_t> take_token(const mutex& m) {
    hold h = co_await m.async_lock();
    const std::uint64_t token = h.fence();
    co_await h.async_unlock();
    co_return token;
}

TEST_F(fence_test, the_token_is_in_the_key_of_redisson_in_plain_decimal) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "paid", {.fenced = true}};
        const mutex tagged{c, "paid{x}", {.fenced = true}};
        const std::uint64_t token = co_await take_token(m);
        EXPECT_EQ(raw.get("redisson_lock_token:{paid}"), std::to_string(token));
        const std::uint64_t other = co_await take_token(tagged);
        EXPECT_EQ(raw.get("redisson_lock_token:paid{x}"), std::to_string(other));
    });
}

TEST_F(fence_test, a_mutex_without_fencing_takes_no_token) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "plain"};
        const hold h = co_await m.async_lock();
        EXPECT_EQ(h.fence(), 0u);
        EXPECT_FALSE(raw.exists(fence_key_of("plain")));
    });
}

TEST_F(fence_test, tokens_grow_with_each_acquisition_of_any_client) {
    client a{io, settings()};
    client b{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex of_a{a, "grow", {.fenced = true}};
        const mutex of_b{b, "grow", {.fenced = true}};
        std::uint64_t last = 0;
        for (int i = 0; i < 20; ++i) {
            const std::uint64_t token = co_await take_token(i % 2 == 0 ? of_a : of_b);
            EXPECT_GT(token, last);
            last = token;
        }
    });
}

TEST_F(fence_test, tokens_grow_over_a_restart_with_an_empty_data_set) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "grow", {.fenced = true}};
        const std::uint64_t before = co_await take_token(m);
        restart_empty();
        EXPECT_EQ(raw.dbsize(), 0);
        const std::uint64_t after = co_await take_token(m);
        EXPECT_GT(after, before);
    });
}

TEST_F(fence_test, tokens_continue_from_those_of_redisson_and_the_other_way_round) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "shared", {.fenced = true}};
        const std::uint64_t first = co_await take_token(m);
        const auto redissons = raw.must({"INCR", fence_key_of("shared")}).number;
        EXPECT_EQ(redissons, static_cast<std::int64_t>(first) + 1);
        // Far ahead of the clock, where only "the last one, plus one" is right.
        raw.must({"SET", fence_key_of("shared"), "7000000000000001"});
        const std::uint64_t second = co_await take_token(m);
        EXPECT_EQ(second, 7'000'000'000'000'002u);
        EXPECT_EQ(raw.get(fence_key_of("shared")), "7000000000000002");
    });
}

TEST_F(fence_test, the_token_key_expires_if_asked_to_and_tokens_grow_nevertheless) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "brief", {.fenced = true, .fence_ttl = 60s}};
        const std::uint64_t before = co_await take_token(m);
        EXPECT_GT(raw.pttl(fence_key_of("brief")), 0);
        EXPECT_LE(raw.pttl(fence_key_of("brief")), 60'000);
        raw.must({"DEL", fence_key_of("brief")});
        const std::uint64_t after = co_await take_token(m);
        EXPECT_GT(after, before);
    });
}

TEST_F(fence_test, the_token_key_lives_for_seven_days_or_for_ever) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex usual{c, "usual", {.fenced = true}};
        co_await take_token(usual);
        const std::int64_t week = std::chrono::milliseconds{7 * 24h}.count();
        EXPECT_GT(raw.pttl(fence_key_of("usual")), week - 60'000);
        EXPECT_LE(raw.pttl(fence_key_of("usual")), week);
        const mutex shared{c, "shared", {.fenced = true, .fence_ttl = forever}};
        co_await take_token(shared);
        EXPECT_EQ(raw.pttl(fence_key_of("shared")), -1);
    });
}

TEST_F(fence_test, a_busy_try_takes_no_token) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "busy", {.fenced = true}};
        take_as_stranger(raw, "busy");
        const hold h = co_await m.async_try_lock();
        EXPECT_FALSE(h);
        EXPECT_FALSE(raw.exists(fence_key_of("busy")));
    });
}

TEST_F(fence_test, the_status_tells_the_last_token) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "seen", {.fenced = true}};
        const hold h = co_await m.async_lock();
        const lock_status s = co_await m.async_status();
        EXPECT_EQ(s.fence, h.fence());
    });
}

TEST_F(fence_test, a_token_that_can_not_grow_is_refused_and_stays) {
    client c{io, settings()};
    const mutex hash{c, "odd", {.fenced = true}};
    const token_mutex text{c, "odd", {.fenced = true}};
    for (const char* odd : {"9007199254740992", "9007199254740991", "inf", "nan", "1e400", "x", "",
                            "1e3", "0x1F", " 7", "-7", "99999999999999999999", "1.5"}) {
        for (const mutex* m : {&hash, static_cast<const mutex*>(&text)}) {
            SCOPED_TRACE(std::string{m == &hash ? "mutex " : "token_mutex "} + odd);
            const std::string key =
                m == &hash ? fence_key_of("odd") : "conch_token_mutex_fence:{odd}";
            raw.must({"SET", key, odd});
            run([&]() -> asio::awaitable<void> {
                const auto [refused, h] = co_await m->async_lock({.wait = 5s}, as_result);
                EXPECT_EQ(refused, errc::wrong_type);
                const lock_status s = co_await m->async_status();
                EXPECT_FALSE(s.locked);
            });
            EXPECT_EQ(raw.get(key), odd);
            EXPECT_FALSE(raw.exists("odd"));
        }
    }
}

TEST_F(fence_test, the_script_of_the_page_on_guarantees_lets_no_older_fence_write) {
    std::ifstream in{CONCH_PAGES "/guarantees.md"};
    const std::string page{std::istreambuf_iterator<char>{in}, {}};
    const std::size_t begin = page.find("```lua\n") + 7;
    const std::string script = page.substr(begin, page.find("```", begin) - begin);
    const auto write = [&](const char* fence, const char* value) {
        return raw.must({"EVAL", script, "1", "order", fence, value}).number;
    };
    EXPECT_EQ(write("1764000000000000", "paid"), 1);
    EXPECT_EQ(write("1764000000000000", "sent"), 1);
    EXPECT_EQ(write("1763999999999999", "new"), 0);
    EXPECT_EQ(raw.must({"HGET", "order", "value"}).text, "sent");
    EXPECT_EQ(write("1764000000000001", "done"), 1);
}

}  // namespace
