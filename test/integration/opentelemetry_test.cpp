// SPDX-License-Identifier: BSL-1.0
// The metrics that OpenTelemetry exports of the locks of a program, and who may end when.
#include "integration/opentelemetry_fixture.hpp"
#include "support/program.hpp"

#include <optional>
#include <stdexcept>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

TEST_F(opentelemetry_test, what_locks_do_is_exported_as_metrics) {
    client redis{io, observed()};
    const mutex m{redis, "orders:7"};
    hold held;
    run([&]() -> asio::awaitable<void> {
        held = co_await m.async_lock();
        const hold none = co_await m.async_try_lock();
        EXPECT_FALSE(none);
        const rate_limiter calls{redis, "calls:out", {.limit = 5, .window = 1min}};
        const rate_verdict v = co_await calls.async_try_acquire(3);
        EXPECT_TRUE(v.allowed);
    });
    EXPECT_EQ(collected("conch.lock.wait"),
              (metric_values{{"lock=orders outcome=busy", 1}, {"lock=orders outcome=granted", 1}}));
    EXPECT_EQ(collected("conch.locks.held").at("lock=orders"), 1);
    EXPECT_EQ(collected("conch.locks.held_long").at("lock=orders"), 0);
    EXPECT_EQ(collected("conch.lock.waiters").at("lock=orders"), 0);
    EXPECT_EQ(collected("conch.connection.up"), (metric_values{{"", 1}}));
    EXPECT_EQ(collected("conch.connection.down"), (metric_values{{"", 0}}));
    const metric_values acquired = collected("conch.lock.acquired");
    EXPECT_EQ(acquired.at("contended=false lock=orders"), 1);
    EXPECT_EQ(acquired.at("contended=true lock=orders"), 0);
    EXPECT_EQ(collected("conch.lock.lost").at("lock=orders reason=lock_lost"), 0);
    EXPECT_EQ(collected("conch.rate.permits"), (metric_values{{"limit=calls outcome=granted", 3}}));
    run([&]() -> asio::awaitable<void> { co_await held.async_unlock(); });
    EXPECT_EQ(collected("conch.locks.held").at("lock=orders"), 0);
    EXPECT_EQ(collected("conch.lock.hold"), (metric_values{{"end=released lock=orders", 1}}));
}

TEST_F(opentelemetry_test, histograms_have_the_buckets_of_conch) {
    const auto told = opentelemetry_observer(counted, options());
    for (const duration late : {duration{}, duration{1ms}, duration{2h}}) {
        told->renewed({.name = "orders:7", .late = late});
    }
    int points = 0;
    collect("conch.renewal.lateness", [&](const std::string&, const metrics_sdk::PointType& p) {
        const auto& h = api::nostd::get<metrics_sdk::HistogramPointData>(p);
        ++points;
        ASSERT_EQ(h.boundaries_.size(), duration_histogram::bounds.size());
        EXPECT_EQ(h.boundaries_.front(), 0.0001);
        EXPECT_EQ(h.boundaries_.back(), 3600);
        EXPECT_EQ(h.counts_.at(0), 1U);
        EXPECT_EQ(h.counts_.at(3), 1U) << "a bound belongs to its bucket, as in conch::metrics";
        EXPECT_EQ(h.counts_.back(), 1U);
        EXPECT_EQ(api::nostd::get<double>(h.sum_), 7200.001);
    });
    EXPECT_EQ(points, 1);
}

TEST_F(opentelemetry_test, classes_beyond_the_limit_are_other) {
    const auto told = opentelemetry_observer(counted, options());
    for (const char* const name : {"a:1", "b:1", "c:1", "d:1"}) {
        told->hold_began({.name = name, .number = 1});
        told->held({.name = name, .number = 1});
    }
    EXPECT_EQ(collected("conch.lock.hold"), (metric_values{{"end=released lock=a", 1},
                                                           {"end=released lock=b", 1},
                                                           {"end=released lock=other", 2}}));
    EXPECT_EQ(collected("conch.locks.held").size(), 3U);
    EXPECT_EQ(attribute(exported("conch.hold").at(3), "conch.lock.class"), "other");
}

TEST_F(opentelemetry_test, the_providers_may_be_shut_down_before_the_client) {
    client redis{io, observed()};
    const mutex m{redis, "orders:7"};
    hold held;
    run([&]() -> asio::awaitable<void> { held = co_await m.async_lock(); });
    EXPECT_EQ(exported("conch.wait").size(), 1U);
    tracers.reset();
    meters->Shutdown();
    meters.reset();
    collector.reset();
    run([&]() -> asio::awaitable<void> {
        co_await held.async_unlock();
        held = co_await m.async_lock();
    });
    EXPECT_EQ(counted->snapshot().classes.at(0).acquired_uncontended, 2U);
}

TEST_F(opentelemetry_test, the_client_may_end_before_the_providers) {
    std::optional<asio::io_context> own{std::in_place};
    {
        client redis{*own, observed()};
        const mutex m{redis, "orders:7"};
        hold held;
        run_test(*own, [&]() -> asio::awaitable<void> { held = co_await m.async_lock(); }());
    }
    own.reset();
    EXPECT_EQ(attribute(one("conch.hold"), "conch.hold.end"), "closed");
    EXPECT_EQ(collected("conch.lock.hold"), (metric_values{{"end=closed lock=orders", 1}}));
    EXPECT_TRUE(collected("conch.locks.held").empty()) << "nobody looks any more";
}

TEST_F(opentelemetry_test, there_must_be_metrics) {
    EXPECT_THROW(opentelemetry_observer(nullptr, options()), std::invalid_argument);
}

TEST_F(opentelemetry_test, the_example_exports) {
    program example{{std::string{EXAMPLES_FOLDER} + "/example_opentelemetry", url()}};
    for (const char* const name : {"conch.wait", "conch.hold", "conch.lock.wait"}) {
        EXPECT_NO_THROW(example.wait_for(name));
    }
}

}  // namespace
