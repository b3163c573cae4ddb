// SPDX-License-Identifier: BSL-1.0
// blocking_rate_limiter: for threads without an event loop.
#include "support/redis_test.hpp"
#include "support/thrown.hpp"

#include <conch/blocking.hpp>

#include <atomic>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;
using boost::system::errc::resource_deadlock_would_occur;

class blocking_rate : public redis_test {
protected:
    blocking_client redis{settings()};
    blocking_rate_limiter five{redis, "rate", {5, 1min}};
    blocking_rate_limiter one{redis, "one", {1, 1min}};
};

TEST_F(blocking_rate, grants_the_limit_and_refuses_more) {
    EXPECT_EQ(five.name(), "rate");
    EXPECT_TRUE(five.try_acquire().allowed);
    const rate_verdict granted = five.acquire(3);
    EXPECT_TRUE(granted.allowed);
    EXPECT_EQ(granted.count, 4u);
    EXPECT_EQ(granted.remaining, 1u);
    const rate_verdict refused = five.try_acquire(2);
    EXPECT_FALSE(refused.allowed);
    EXPECT_EQ(refused.count, 4u);
    EXPECT_GT(refused.retry_after, 10s);
    EXPECT_EQ(five.acquire().count, 5u);
    EXPECT_FALSE(five.try_acquire().allowed);
}

TEST_F(blocking_rate, waits_until_a_permit_is_free) {
    blocking_rate_limiter soon{redis, "soon", {1, 300ms}};
    const time_point start = clock::now();
    EXPECT_TRUE(soon.acquire().allowed);
    EXPECT_TRUE(soon.acquire({.wait = 30s}).allowed);
    EXPECT_TRUE(soon.acquire(1, {.wait = 30s}).allowed);
    EXPECT_GE(clock::now() - start, 590ms) << "three permits are three windows' worth";
    EXPECT_LT(clock::now() - start, 20s);
}

TEST_F(blocking_rate, spreads_the_permits_where_it_is_told_so) {
    blocking_rate_limiter paced{redis, "paced", {10, 10min, 2}, rate_algorithm::gcra};
    EXPECT_TRUE(paced.try_acquire(2).allowed);
    const rate_verdict refused = paced.try_acquire();
    EXPECT_FALSE(refused.allowed);
    EXPECT_EQ(refused.limit, 2u) << "the burst";
    EXPECT_LE(refused.retry_after, 1min);
}

TEST_F(blocking_rate, a_wait_that_is_too_short_times_out_and_names_the_limit) {
    one.acquire();
    const time_point start = clock::now();
    try {
        one.acquire({.wait = 30s});
        ADD_FAILURE() << "there was none";
    } catch (const system_error& e) {
        EXPECT_EQ(e.code(), errc::timed_out);
        EXPECT_TRUE(std::string{e.what()}.starts_with("rate limit \"one\"")) << e.what();
    }
    EXPECT_LT(clock::now() - start, 20s) << "it is known at once";
    EXPECT_EQ(thrown([&] { one.acquire(1, {.wait = 0s}); }), errc::timed_out);
}

TEST_F(blocking_rate, refuses_what_can_not_be_asked_for) {
    EXPECT_EQ(thrown([&] { five.try_acquire(0); }), errc::invalid_permits);
    EXPECT_EQ(thrown([&] { five.try_acquire(-1); }), errc::invalid_permits);
    EXPECT_EQ(thrown([&] { five.try_acquire(6); }), errc::invalid_permits);
    EXPECT_EQ(thrown([&] { five.acquire(-1); }), errc::invalid_permits);
    EXPECT_EQ(thrown([&] { five.acquire(6u); }), errc::invalid_permits);
    EXPECT_EQ(thrown([&] { five.acquire({.wait = -1s}); }), errc::invalid_wait);
    EXPECT_THROW(blocking_rate_limiter(redis, "", {}), std::invalid_argument);
    EXPECT_THROW(blocking_rate_limiter(redis, "none", {.limit = 0}), std::invalid_argument);
    EXPECT_EQ(raw.dbsize(), 0);
}

TEST_F(blocking_rate, threads_and_clients_share_the_limit) {
    blocking_client other{settings("other")};
    blocking_rate_limiter theirs{other, "rate", {5, 1min}};
    std::atomic<int> granted{0};
    std::vector<std::future<void>> threads;
    for (int t = 0; t < 8; ++t) {
        threads.push_back(std::async(std::launch::async, [&, t] {
            for (int i = 0; i < 5; ++i) {
                granted += (t % 2 == 0 ? five : theirs).try_acquire().allowed ? 1 : 0;
            }
        }));
    }
    for (std::future<void>& t : threads) {
        t.get();
    }
    EXPECT_EQ(granted, 5);
}

TEST_F(blocking_rate, shutdown_ends_a_wait_and_answers_what_comes_later) {
    one.acquire();
    raw.reset_calls();
    auto blocked = std::async(std::launch::async, [&] { return thrown([&] { one.acquire(); }); });
    ASSERT_TRUE(run_until(io, [&] { return raw.calls("evalsha") == 1; }));
    EXPECT_EQ(blocked.wait_for(0s), std::future_status::timeout);
    redis.shutdown();
    ASSERT_EQ(blocked.wait_for(patience), std::future_status::ready);
    EXPECT_EQ(blocked.get(), errc::client_closed);
    EXPECT_EQ(thrown([&] { one.acquire(); }), errc::client_closed);
    EXPECT_EQ(thrown([&] { one.try_acquire(); }), errc::client_closed);
}

TEST_F(blocking_rate, a_call_on_the_clients_own_thread_throws) {
    std::promise<std::vector<error_code>> told;
    boost::asio::post(redis.async().get_executor(), [&] {
        told.set_value({thrown([&] { five.acquire(); }), thrown([&] { five.try_acquire(); })});
    });
    for (const error_code& ec : told.get_future().get()) {
        EXPECT_EQ(ec, resource_deadlock_would_occur);
    }
}

TEST_F(blocking_rate, without_a_server_the_call_says_so) {
    config nowhere = settings();
    nowhere.unix_path += ".none";
    nowhere.operation_timeout = 100ms;
    blocking_client lonely{nowhere};
    blocking_rate_limiter limit{lonely, "rate", {5, 1min}};
    EXPECT_EQ(thrown([&] { limit.try_acquire(); }), errc::not_connected);
    EXPECT_EQ(thrown([&] { limit.acquire({.wait = 50ms}); }), errc::not_connected);
}

}  // namespace
