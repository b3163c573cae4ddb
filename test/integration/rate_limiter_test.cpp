// SPDX-License-Identifier: BSL-1.0
// rate_limiter on a real server.
#include "integration/with_lock_fixture.hpp"
#include "support/rate_algorithms.hpp"

#include <conch/rate_limited.hpp>
#include <conch/rate_limiter.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

/// With each algorithm.
class rate_limiter_test : public redis_test, public testing::WithParamInterface<rate_algorithm> {
protected:
    rate_limiter limit_of(std::uint64_t limit, duration window = 1min) {
        return rate_limiter{redis, "rate", {limit, window}, GetParam()};
    }

    bool paced() const { return GetParam() == rate_algorithm::gcra; }

    client redis{io, settings()};
};

TEST_P(rate_limiter_test, grants_the_limit_and_not_one_more) {
    const rate_limiter five = limit_of(5);
    run([&]() -> asio::awaitable<void> {
        for (std::uint64_t i = 1; i <= 5; ++i) {
            const rate_verdict v = co_await five.async_try_acquire();
            EXPECT_TRUE(v.allowed);
            EXPECT_EQ(v.count, i);
            EXPECT_EQ(v.remaining, 5 - i);
            EXPECT_GT(v.reset_after, paced() ? static_cast<int>(i) * 12s - 10s : 50s);
        }
        const rate_verdict v = co_await five.async_try_acquire();
        EXPECT_FALSE(v.allowed);
        EXPECT_EQ(v.count, 5u);
        EXPECT_EQ(v.limit, 5u);
        EXPECT_EQ(v.remaining, 0u);
        EXPECT_GT(v.retry_after, paced() ? 2s : 50s);
        EXPECT_LE(v.retry_after, v.reset_after);
        EXPECT_LE(v.reset_after, 60s + 1ms);
        EXPECT_GT(raw.pttl("rate"), 50'000);
        EXPECT_LE(raw.pttl("rate"), 60'001);
    });
}

TEST_P(rate_limiter_test, takes_all_permits_of_a_request_or_none) {
    const rate_limiter five = limit_of(5);
    run([&]() -> asio::awaitable<void> {
        const rate_verdict three = co_await five.async_try_acquire(3);
        EXPECT_TRUE(three.allowed);
        const rate_verdict too_many = co_await five.async_try_acquire(3);
        EXPECT_FALSE(too_many.allowed);
        EXPECT_EQ(too_many.remaining, 2u);
        const rate_verdict two = co_await five.async_try_acquire(2);
        EXPECT_TRUE(two.allowed);
        EXPECT_EQ(two.count, 5u);
    });
}

TEST_P(rate_limiter_test, who_waits_is_served_in_the_next_window_in_order) {
    const rate_limiter two = limit_of(2, 150ms);
    std::vector<int> order;
    run([&]() -> asio::awaitable<void> {
        const time_point start = clock::now();
        for (int i = 0; i < 6; ++i) {
            two.async_acquire(i == 2 ? 2 : 1, [&, i](error_code ec, const rate_verdict& v) {
                EXPECT_FALSE(ec) << ec.message();
                EXPECT_TRUE(v.allowed);
                order.push_back(i);
            });
        }
        while (order.size() < 6) {
            co_await asio::post(asio::use_awaitable);
        }
        EXPECT_GE(clock::now() - start, 300ms) << "seven permits are four windows' worth";
    });
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4, 5}));
    EXPECT_LE(redis.stats().script_calls, 40u) << "it polls";
}

TEST_P(rate_limiter_test, a_wait_that_is_too_short_is_told_with_the_time_that_is_missing) {
    const rate_limiter one = limit_of(1);
    run([&]() -> asio::awaitable<void> {
        co_await one.async_acquire(as_result);
        const time_point start = clock::now();
        const auto [ec, v] = co_await one.async_acquire(1, {.wait = 30s}, as_result);
        EXPECT_EQ(ec, errc::timed_out);
        EXPECT_GT(v.retry_after, 30s);
        EXPECT_LT(clock::now() - start, 20s);
    });
}

TEST_P(rate_limiter_test, options_come_with_or_without_a_number_of_permits) {
    const rate_limiter one = limit_of(1);
    run([&]() -> asio::awaitable<void> {
        const rate_verdict first = co_await one.async_acquire({.wait = 1s});
        EXPECT_EQ(first.count, 1u);
        const rate_options soon{.wait = 1s};
        const auto [named, v] = co_await one.async_acquire(soon, as_result);
        EXPECT_EQ(named, errc::timed_out);
        const auto [counted, w] = co_await one.async_acquire(1, soon, as_result);
        EXPECT_EQ(counted, errc::timed_out);
    });
}

TEST_P(rate_limiter_test, empty_braces_are_the_default_options) {
    const rate_limiter three = limit_of(3);
    run([&]() -> asio::awaitable<void> {
        const rate_verdict first = co_await three.async_acquire({});
        EXPECT_EQ(first.count, 1u);
        const auto [ec, second] = co_await three.async_acquire({}, as_result);
        EXPECT_EQ(second.count, 2u);
        const rate_verdict third = co_await three.async_acquire(1, {});
        EXPECT_EQ(third.count, 3u);
    });
}

TEST_P(rate_limiter_test, a_lowered_or_raised_limit_holds_at_once) {
    run([&]() -> asio::awaitable<void> {
        const rate_limiter five = limit_of(5);
        const rate_limiter three = limit_of(3);
        const rate_limiter seven = limit_of(7);
        co_await five.async_try_acquire(4);
        const rate_verdict lowered = co_await three.async_try_acquire();
        EXPECT_FALSE(lowered.allowed);
        EXPECT_EQ(lowered.remaining, 0u);
        const rate_verdict raised = co_await seven.async_try_acquire(3);
        EXPECT_TRUE(raised.allowed);
    });
}

TEST_P(rate_limiter_test, a_shorter_window_holds_within_its_own_length) {
    run([&]() -> asio::awaitable<void> {
        const rate_limiter hourly = limit_of(1, 1h);
        const rate_limiter quick = limit_of(1, 50ms);
        co_await hourly.async_try_acquire();
        const auto [ec, v] = co_await quick.async_acquire(1, {.wait = 20s}, as_result);
        EXPECT_FALSE(ec) << ec.message();
        EXPECT_TRUE(v.allowed);
    });
}

TEST_P(rate_limiter_test, the_key_of_something_else_is_an_error) {
    raw.must({"HSET", "rate", "field", "1"});
    const rate_limiter one = limit_of(1);
    run([&]() -> asio::awaitable<void> {
        const auto [tried, v] = co_await one.async_try_acquire(1, as_result);
        EXPECT_EQ(tried, errc::wrong_type);
        const auto [waited, w] = co_await one.async_acquire(as_result);
        EXPECT_EQ(waited, errc::wrong_type);
    });
}

TEST_P(rate_limiter_test, nothing_is_left_when_the_window_is_over) {
    const rate_limiter one = limit_of(1, 20ms);
    run([&]() -> asio::awaitable<void> {
        co_await one.async_try_acquire();
        while (raw.exists("rate")) {
            co_await asio::post(asio::use_awaitable);
        }
    });
    EXPECT_EQ(redis.stats().waiting_now, 0u);
}

// A log, or a time, is known by its form; a number without a TTL may be anybody's.
TEST_P(rate_limiter_test, a_log_without_expiry_is_repaired_and_a_number_is_refused) {
    run([&]() -> asio::awaitable<void> {
        const rate_limiter one = limit_of(1, 50ms);
        co_await one.async_try_acquire();
        raw.must({"PERSIST", "rate"});
        const auto [ec, v] = co_await one.async_acquire(1, {.wait = 20s}, as_result);
        const bool has_form = GetParam() != rate_algorithm::fixed_window;
        EXPECT_EQ(ec, has_form ? error_code{} : errc::wrong_type);
        EXPECT_EQ(raw.pttl("rate") > 0, has_form);
    });
}

TEST_P(rate_limiter_test, bad_requests_are_refused_before_anything_is_sent) {
    const rate_limiter five = limit_of(5);
    run([&]() -> asio::awaitable<void> {
        const auto [none, v] = co_await five.async_try_acquire(0, as_result);
        EXPECT_EQ(none, errc::invalid_permits);
        const auto [six, w] = co_await five.async_acquire(6, as_result);
        EXPECT_EQ(six, errc::invalid_permits);
        const auto [wait, x] = co_await five.async_acquire(1, {.wait = -1ns}, as_result);
        EXPECT_EQ(wait, errc::invalid_wait);
    });
    EXPECT_EQ(redis.stats().script_calls, 0u);
    EXPECT_THROW(limit_of(0), std::invalid_argument);
    EXPECT_THROW(limit_of(1, 0s), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(algorithms, rate_limiter_test, testing::ValuesIn(rate_algorithms),
                         [](const auto& one) { return name_of(one.param); });

/// Functions that a rate limit is put before.
class rate_limited_test : public redis_test {
protected:
    asio::awaitable<int> price(int item) {
        ++calls;
        co_return item * 10;
    }

    client redis{io, settings()};
    int calls = 0;
};

TEST_F(rate_limited_test, calls_within_the_limit_and_throws_over_it) {
    auto ask =
        rate_limited(redis, "supplier:price", {2, 1min}, [this](int item) { return price(item); });
    run([&]() -> asio::awaitable<void> {
        const int first = co_await ask(1);
        const int second = co_await ask(2);
        EXPECT_EQ(first + second, 30);
        bool refused = false;
        try {
            co_await ask(3);
        } catch (const rate_limit_error& e) {
            refused = true;
            EXPECT_EQ(e.code(), errc::rate_limited);
            EXPECT_EQ(e.verdict().count, 2u);
            EXPECT_GT(e.verdict().retry_after, 50s);
            EXPECT_NE(std::string{e.what()}.find("supplier:price"), std::string::npos);
        }
        EXPECT_TRUE(refused);
        EXPECT_EQ(calls, 2);
    });
}

TEST_F(rate_limited_test, skips_with_an_empty_optional_and_a_log_line) {
    std::vector<std::string> lines;
    config c = settings();
    c.log = [&](log_level level, std::string_view line) {
        if (level == log_level::info && line.starts_with("rate limit")) {
            lines.emplace_back(line);
        }
    };
    client logging{io, c};
    auto ask = rate_limited(logging, "supplier:price", {1, 1min},
                            [this](int item) { return price(item); }, {.on_limit = skip});
    auto quiet =
        rate_limited(logging, "other", {1, 1min},
                     [this]() -> asio::awaitable<void> { co_await price(1); }, {.on_limit = skip});
    run([&]() -> asio::awaitable<void> {
        const std::optional<int> first = co_await ask(4);
        EXPECT_EQ(first, 40);
        EXPECT_TRUE(lines.empty());
        const std::optional<int> second = co_await ask(5);
        EXPECT_FALSE(second.has_value());
        const std::optional<std::monostate> done = co_await quiet();
        EXPECT_TRUE(done.has_value());
        const std::optional<std::monostate> left_out = co_await quiet();
        EXPECT_FALSE(left_out.has_value());
        EXPECT_EQ(calls, 2);
    });
    ASSERT_EQ(lines.size(), 2u);
    constexpr std::string_view words =
        "rate limit supplier:price: refused, 1 of 1 permits in use, next in ";
    ASSERT_TRUE(lines[0].starts_with(words)) << lines[0];
    const int left_ms = std::stoi(lines[0].substr(words.size()));
    EXPECT_GT(left_ms, 30'000);
    EXPECT_LE(left_ms, 60'001);
    EXPECT_TRUE(lines[0].ends_with(" ms"));
}

/// Someone's own class, whose functions take what can't be copied.
struct supplier {
    asio::awaitable<int> ask(std::unique_ptr<int> item) { co_return *item + added; }
    int added = 1;
};

TEST_F(rate_limited_test, member_functions_and_move_only_arguments_will_do) {
    supplier one;
    auto ask = rate_limited(redis, "supplier:price", {1, 1min}, &supplier::ask, {.on_limit = skip});
    run([&]() -> asio::awaitable<void> {
        const std::optional<int> first = co_await ask(&one, std::make_unique<int>(4));
        EXPECT_EQ(first, 5);
        const std::optional<int> second = co_await ask(&one, std::make_unique<int>(4));
        EXPECT_FALSE(second.has_value());
    });
}

TEST_F(rate_limited_test, a_cancellation_ends_the_waiting_and_nothing_is_called) {
    raw.must({"SET", "supplier:price", "1", "PX", "60000"});
    auto ask =
        rate_limited(redis, "supplier:price", {1, 1min}, [this](int item) { return price(item); },
                     {.algorithm = rate_algorithm::fixed_window, .wait = forever});
    asio::cancellation_signal signal;
    std::future<int> f =
        asio::co_spawn(io, ask(1), asio::bind_cancellation_slot(signal.slot(), asio::use_future));
    ASSERT_TRUE(run_until(io, [&] { return redis.stats().script_calls > 0; }));
    signal.emit(asio::cancellation_type::terminal);
    ASSERT_TRUE(run_until(io, [&] { return f.wait_for(0s) == std::future_status::ready; }));
    EXPECT_THROW(f.get(), system_error);
    EXPECT_EQ(calls, 0);
}

TEST_F(rate_limited_test, a_cancellation_goes_to_the_function_that_runs) {
    bool cancelled = false;
    bool runs = false;
    auto ask = rate_limited(redis, "supplier:price", {1, 1min}, [&]() -> asio::awaitable<void> {
        runs = true;
        co_await until_cancelled(&cancelled);
    });
    asio::cancellation_signal signal;
    std::future<void> f =
        asio::co_spawn(io, ask(), asio::bind_cancellation_slot(signal.slot(), asio::use_future));
    ASSERT_TRUE(run_until(io, [&] { return runs; }));
    signal.emit(asio::cancellation_type::terminal);
    ASSERT_TRUE(run_until(io, [&] { return f.wait_for(0s) == std::future_status::ready; }));
    EXPECT_THROW(f.get(), system_error);
    EXPECT_TRUE(cancelled);
}

/// A result that there is no default of, and no copy.
struct quote {
    explicit quote(int amount) : cents{std::make_unique<int>(amount)} {}
    std::unique_ptr<int> cents;
};

TEST_F(rate_limited_test, results_need_no_default) {
    const auto fetch = [](int cents) -> asio::awaitable<quote> { co_return quote{cents}; };
    auto ask = rate_limited(redis, "asked", {1, 1min}, fetch);
    auto maybe = rate_limited(redis, "maybe", {1, 1min}, fetch, {.on_limit = skip});
    run([&]() -> asio::awaitable<void> {
        const quote first = co_await ask(7);
        EXPECT_EQ(*first.cents, 7);
        const std::optional<quote> second = co_await maybe(8);
        EXPECT_EQ(*second.value().cents, 8);
        const std::optional<quote> none = co_await maybe(9);
        EXPECT_FALSE(none.has_value());
    });
}

TEST_F(rate_limited_test, may_wait_for_its_turn) {
    auto ask = rate_limited(redis, "supplier:price", {1, 50ms},
                            [this](int item) { return price(item); }, {.wait = 20s});
    run([&]() -> asio::awaitable<void> {
        const int first = co_await ask(1);
        const int second = co_await ask(2);
        EXPECT_EQ(first + second, 30);
    });
}

TEST_F(rate_limited_test, what_is_neither_allowed_nor_refused_is_thrown_as_it_is) {
    raw.must({"HSET", "supplier:price", "field", "1"});
    auto ask =
        rate_limited(redis, "supplier:price", {1, 1s}, [this](int item) { return price(item); });
    run([&]() -> asio::awaitable<void> {
        error_code why;
        try {
            co_await ask(1);
        } catch (const system_error& e) {
            why = e.code();
        }
        EXPECT_EQ(why, errc::wrong_type);
        EXPECT_EQ(calls, 0);
    });
}

}  // namespace
