// SPDX-License-Identifier: BSL-1.0
// What a program may get wrong is refused clearly, and before anything is sent.
#include "core/sanitizer.hpp"
#include "support/named_types.hpp"
#include "support/redis_test.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

using bad_input_test = redis_test;

TEST_F(bad_input_test, a_name_has_1_byte_to_64_kib) {
    client c{io, settings()};
    const std::string longest(65'536, 'n');
    for (const named_type& t : named_types) {
        const std::string type = t.text;
        EXPECT_EQ(refusal_of(t, c, ""), type + ": the name is empty");
        EXPECT_EQ(refusal_of(t, c, longest + 'n'), type + ": the name is longer than 64 KiB");
        EXPECT_EQ(refusal_of(t, c, "n"), "") << type;
        EXPECT_EQ(refusal_of(t, c, longest), "") << type;
    }
    run_to_end(io);
    EXPECT_EQ(c.stats().connects, 0u);
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, longest};
        hold h = co_await m.async_lock();
        EXPECT_TRUE(raw.exists(longest));
        co_await h.async_unlock();
    });
}

TEST_F(bad_input_test, a_token_key_that_expires_at_once_is_refused) {
    client c{io, settings()};
    EXPECT_THROW((mutex{c, "n", {.fenced = true, .fence_ttl = 0s}}), std::invalid_argument);
    EXPECT_THROW((mutex{c, "n", {.fenced = true, .fence_ttl = -1s}}), std::invalid_argument);
}

struct bad_option {
    lock_options options;
    errc expected;
};

TEST_F(bad_input_test, bad_options_have_a_code_of_their_own_and_send_nothing) {
    const std::vector<bad_option> all{
        {{.wait = -1ns}, errc::invalid_wait},
        {{.wait = -1h}, errc::invalid_wait},
        {{.lease = 0s}, errc::invalid_lease},
        {{.lease = -5s}, errc::invalid_lease},
        {{.lease = 99ms}, errc::invalid_lease},
        {{.lease = 0s, .renew = false}, errc::invalid_lease},
        {{.lease = 24h * 366}, errc::invalid_lease},
        {{.lease = 24h * 366, .renew = false}, errc::invalid_lease},
        {{.lease = duration::max()}, errc::invalid_lease},
        {{.max_hold = 0s}, errc::invalid_max_hold},
        {{.max_hold = -1s}, errc::invalid_max_hold},
        {{.progress_within = -1s}, errc::invalid_progress_within},
        {{.progress_within = 99ms}, errc::invalid_progress_within},
        {{.progress_within = 30 * 24h + 1ms}, errc::invalid_progress_within},
        {{.renew = false, .progress_within = 1s}, errc::invalid_progress_within},
    };
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "refused"};
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto [ec, h] = co_await m.async_lock(all[i].options, as_result);
            EXPECT_EQ(ec, all[i].expected) << "case " << i << ": " << ec.message();
            EXPECT_FALSE(h);
            const auto [tried, none] = co_await m.async_try_lock(all[i].options, as_result);
            EXPECT_EQ(tried, all[i].expected) << "case " << i << ": " << tried.message();
            EXPECT_FALSE(none);
        }
        EXPECT_EQ(c.stats().connects, 0u);
        EXPECT_EQ(c.stats().script_calls, 0u);
        EXPECT_EQ(raw.calls("evalsha"), 0u);
    });
}

TEST_F(bad_input_test, a_negative_wait_for_permits_or_a_latch_is_refused_and_sends_nothing) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const wait_options never{.wait = -1ns};
        const latch gate{c, "gate"};
        const counting_semaphore counted{c, "counted"};
        const semaphore leased{c, "leased"};
        const auto [waited] = co_await gate.async_wait(never, as_result);
        EXPECT_EQ(waited, errc::invalid_wait) << waited.message();
        const auto [took] = co_await counted.async_acquire(2, never, as_result);
        EXPECT_EQ(took, errc::invalid_wait) << took.message();
        const auto [took_leased, h] = co_await leased.async_acquire(2, {.wait = -1ns}, as_result);
        EXPECT_EQ(took_leased, errc::invalid_wait) << took_leased.message();
        EXPECT_FALSE(h);
        const auto [tried, none] = co_await leased.async_try_acquire(2, {.wait = -1h}, as_result);
        EXPECT_EQ(tried, errc::invalid_wait) << tried.message();
        EXPECT_FALSE(none);
    });
    EXPECT_EQ(c.stats().connects, 0u);
    EXPECT_EQ(raw.dbsize(), 0);
}

TEST_F(bad_input_test, fewer_permits_than_32_bits_hold_are_refused_and_change_nothing) {
    constexpr std::int64_t least = std::numeric_limits<std::int32_t>::min();
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const counting_semaphore counted{c, "counted"};
        const semaphore leased{c, "leased"};
        for (const std::int64_t n : {least - 1, std::numeric_limits<std::int64_t>::min() + 1,
                                     std::numeric_limits<std::int64_t>::min()}) {
            const auto [added] = co_await counted.async_add(n, as_result);
            EXPECT_EQ(added, errc::invalid_permits) << n << ": " << added.message();
            const auto [more] = co_await leased.async_add_permits(n, as_result);
            EXPECT_EQ(more, errc::invalid_permits) << n << ": " << more.message();
        }
        EXPECT_EQ(c.stats().connects, 0u) << "nothing is sent";
        co_await counted.async_add(-1);
        co_await counted.async_add(least + 1);
        EXPECT_EQ(raw.get("counted"), std::to_string(least)) << "as few as there may be";
        const auto [sum] = co_await counted.async_add(-1, as_result);
        EXPECT_EQ(sum, errc::invalid_permits) << "only the server knows: " << sum.message();
        EXPECT_EQ(raw.get("counted"), std::to_string(least));
        EXPECT_FALSE(raw.exists("leased"));
    });
}

TEST_F(bad_input_test, permits_of_no_number_that_there_may_be_are_refused_and_send_nothing) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    constexpr std::int64_t beyond = std::numeric_limits<std::int64_t>::max();
    client c{io, settings()};
    const semaphore leased{c, "leased"};
    const counting_semaphore counted{c, "counted"};
    const latch gate{c, "gate"};
    run([&]() -> asio::awaitable<void> {
        for (const std::int64_t n : {-beyond - 1, -beyond, std::int64_t{-1}, most + 1, beyond}) {
            const auto [offered, was_new] = co_await leased.async_try_set_permits(n, as_result);
            const auto [set] = co_await leased.async_set_permits(n, as_result);
            const auto [offered_count, was_free] = co_await counted.async_try_set(n, as_result);
            const auto [set_count] = co_await counted.async_set(n, as_result);
            const auto [tried, took] = co_await counted.async_try_acquire(n, as_result);
            const auto [armed, was_open] = co_await gate.async_try_set_count(n, as_result);
            const auto [lowered] = co_await gate.async_count_down(n, as_result);
            for (const error_code ec :
                 {offered, set, offered_count, set_count, tried, armed, lowered}) {
                EXPECT_EQ(ec, errc::invalid_permits) << n << ": " << ec.message();
            }
            EXPECT_FALSE(was_new || was_free || took || was_open) << n;
        }
        for (const std::uint64_t n :
             {static_cast<std::uint64_t>(beyond) + 1, std::numeric_limits<std::uint64_t>::max()}) {
            const auto [offered, was_new] = co_await leased.async_try_set_permits(n, as_result);
            const auto [set] = co_await leased.async_set_permits(n, as_result);
            const auto [offered_count, was_free] = co_await counted.async_try_set(n, as_result);
            const auto [set_count] = co_await counted.async_set(n, as_result);
            for (const error_code ec : {offered, set, offered_count, set_count}) {
                EXPECT_EQ(ec, errc::invalid_permits) << n << ": " << ec.message();
            }
            EXPECT_FALSE(was_new || was_free) << n;
        }
    });
    EXPECT_EQ(c.stats().connects, 0u);
    EXPECT_EQ(raw.dbsize(), 0);
    run([&]() -> asio::awaitable<void> {
        const bool is_new = co_await leased.async_try_set_permits(most);
        EXPECT_TRUE(is_new);
        co_await counted.async_set(most);
        EXPECT_EQ(raw.get("leased"), std::to_string(most)) << "as many as there may be";
        EXPECT_EQ(raw.get("counted"), std::to_string(most));
    });
}

TEST_F(bad_input_test, a_try_for_more_permits_than_there_are_in_all_is_refused_and_takes_none) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const semaphore leased{c, "leased"};
        co_await leased.async_set_permits(2);
        hold one = co_await leased.async_acquire();
        for (const duration wait : {duration{0s}, duration{10s}}) {
            const auto [ec, h] = co_await leased.async_try_acquire(3, {.wait = wait}, as_result);
            EXPECT_EQ(ec, errc::invalid_permits) << ec.message();
            EXPECT_FALSE(h);
            EXPECT_EQ(raw.get("leased"), "1");
            EXPECT_EQ(raw.must({"ZCARD", "{leased}:timeout"}).number, 1);
        }
        const auto [busy, none] = co_await leased.async_try_acquire(2, as_result);
        EXPECT_FALSE(busy) << "they may be there later: " << busy.message();
        EXPECT_FALSE(none);
        co_await one.async_unlock();
        hold both = co_await leased.async_try_acquire(2);
        EXPECT_TRUE(both);
        co_await both.async_unlock();
    });
}

TEST_F(bad_input_test, several_locks_with_more_permits_than_there_are_is_an_error_and_keeps_none) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const semaphore leased{c, "leased"};
        co_await leased.async_set_permits(2);
        const mutex m{c, "m"};
        const multi_lock all{m, leased.permits(3)};
        const auto [ec, h] = co_await all.async_lock({.wait = 10s}, as_result);
        EXPECT_EQ(ec, errc::invalid_permits) << ec.message();
        EXPECT_FALSE(h);
        const auto [tried, none] = co_await all.async_try_lock(as_result);
        EXPECT_EQ(tried, errc::invalid_permits) << tried.message();
        EXPECT_FALSE(none);
        const bool given_back = co_await when([&] { return !raw.exists("m"); });
        EXPECT_TRUE(given_back);
        EXPECT_EQ(raw.get("leased"), "2");
        EXPECT_FALSE(raw.exists("{leased}:timeout"));
        hold both = co_await multi_lock{m, leased.permits(2)}.async_lock({.wait = 10s});
        EXPECT_TRUE(both.owns_lock());
        co_await both.async_unlock();
    });
}

// More nanoseconds than a duration has: the conversion overflows before the library sees it.
TEST_F(bad_input_test, the_longest_time_in_milliseconds_is_refused_with_what_to_write) {
    if (core::address_sanitizer) {
        GTEST_SKIP() << "the undefined behaviour sanitizer ends it";
    }
    volatile auto most = std::chrono::milliseconds::max().count();
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "refused"};
        const lock_options endless{.wait = std::chrono::milliseconds{most}};
        const auto [ec, h] = co_await m.async_lock(endless, as_result);
        EXPECT_EQ(ec, errc::invalid_wait);
        EXPECT_NE(ec.message().find("conch::forever"), std::string::npos) << ec.message();
    });
}

TEST_F(bad_input_test, options_at_their_limits_are_accepted) {
    const std::vector<lock_options> all{
        {.wait = 0s},
        {.wait = forever},
        {.lease = 100ms},
        {.lease = 20ms, .renew = false},
        {.lease = 24h * 365},
        {.lease = 24h * 365, .max_hold = forever},
        {.lease = 30s, .max_hold = 10ms},
    };
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        for (std::size_t i = 0; i < all.size(); ++i) {
            const mutex m{c, "limit:" + std::to_string(i)};
            const auto [ec, h] = co_await m.async_try_lock(all[i], as_result);
            EXPECT_FALSE(ec) << "case " << i << ": " << ec.message();
        }
    });
}

TEST_F(bad_input_test, settings_out_of_range_are_refused_by_the_constructor) {
    const std::vector<std::function<void(config&)>> mistakes{
        [](config& s) { s.connect_timeout = 0s; },
        [](config& s) { s.response_timeout = -1s; },
        [](config& s) { s.ping_interval = 0s; },
        [](config& s) { s.reconnect_delay_min = -1s; },
        [](config& s) { s.reconnect_delay_max = -1s; },
        [](config& s) { s.operation_timeout = 0s; },
        [](config& s) { s.max_poll_interval = 0s; },
        [](config& s) { s.max_passes = 0; },
        [](config& s) { s.max_pass_time = 0s; },
        [](config& s) { s.max_pending = 0; },
        [](config& s) { s.client_name = "two words"; },
        [](config& s) { s.client_name = "two\nlines"; },
        [](config& s) { s.service = "two words"; },
        [](config& s) { s.service = "a:b"; },
        [](config& s) { s.service = std::string(65, 'a'); },
        [](config& s) {
            s.client_name.clear();
            s.service = "a";
        },
        [](config& s) { s.retry_attempts = 0; },
        [](config& s) { s.database = 1'000'001; },
        [](config& s) { s.host = "two words"; },
        [](config& s) { s.unix_path += std::string{"\0x", 2}; },
        [](config& s) { s.default_lease = 99ms; },
        [](config& s) { s.default_lease = 24h * 365 + 1ns; },
        [](config& s) {
            s.default_lease = 9ms;
            s.default_renew = false;
        },
        [](config& s) { s.reconnect_delay_max = s.reconnect_delay_min - 1ns; },
        [](config& s) { s.reconnect_delay_max = 24h + 1ns; },
        [](config& s) { s.password.clear(); },
        [](config& s) { s.credentials = [] { return credentials{"u", "p"}; }; },
        [](config& s) { s.unix_path = std::string(108, '/'); },
        [](config& s) {
            s.unix_path.clear();
            s.host.clear();
        },
        [](config& s) {
            s.unix_path.clear();
            s.port = 0;
        },
    };
    for (std::size_t i = 0; i < mistakes.size(); ++i) {
        config s = settings();
        mistakes[i](s);
        EXPECT_THROW((client{io, s}), std::invalid_argument) << "case " << i;
    }
    run_to_end(io);
}

TEST_F(bad_input_test, settings_at_their_limits_are_accepted) {
    const std::vector<std::function<void(config&)>> extremes{
        [](config& s) { s.connect_timeout = s.response_timeout = s.operation_timeout = forever; },
        [](config& s) { s.ping_interval = s.max_poll_interval = forever; },
        [](config& s) { s.connect_timeout = 1ns; },
        [](config& s) { s.reconnect_delay_min = s.reconnect_delay_max = 24h; },
        [](config& s) { s.retry_attempts = 1; },
        [](config& s) { s.retry_attempts = std::numeric_limits<unsigned>::max(); },
        [](config& s) { s.default_lease = 100ms; },
        [](config& s) { s.default_lease = 24h * 365; },
        [](config& s) {
            s.default_lease = 10ms;
            s.default_renew = false;
        },
        [](config& s) { s.client_name.clear(); },
        [](config& s) { s.service = std::string(64, 'a'); },
        [](config& s) { s.unix_path = std::string(107, '/'); },
    };
    for (std::size_t i = 0; i < extremes.size(); ++i) {
        config s = settings();
        extremes[i](s);
        EXPECT_NO_THROW((client{io, s})) << "case " << i;
    }
    run_to_end(io);
}

TEST_F(bad_input_test, a_client_works_from_the_url_of_its_server) {
    client c{io, config::from_url(url() + "?db=1")};
    run([&]() -> asio::awaitable<void> { co_await warm_up(c); });
}

}  // namespace
