// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_INTEROP_INTEROP_TEST_HPP
#define CONCH_TEST_INTEROP_INTEROP_TEST_HPP

#include "cli/private_redis.hpp"
#include "redisson.hpp"
#include "support/raw_client.hpp"
#include "support/redis_test.hpp"
#include "support/run.hpp"

#include <conch/conch.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace conch::test {

/// A wake by anything but the message takes as long as this.
inline constexpr std::chrono::minutes long_lease{2};
/// How rarely conch looks for itself while it waits.
inline constexpr std::chrono::seconds rare_poll{60};
/// No message is that slow on any machine, and no lease or poll that soon.
inline constexpr std::chrono::seconds soon{10};
static_assert(5 * soon < rare_poll && rare_poll < long_lease);
/// Redisson's lease where it is given none: what its watchdog renews.
inline constexpr std::chrono::seconds java_watchdog{4};

/// A conch hold that nothing renews.
inline lock_options unrenewed(duration lease) { return {.lease = lease, .renew = false}; }

/// One redis-server and one JVM for all tests: starting them takes longer than most tests do.
class both_sides : public ::testing::Environment {
public:
    void SetUp() override;
    void TearDown() override;

    cli::private_redis& server() { return *server_; }
    redisson& java() { return *java_; }
    /// Another JVM, to be crashed.
    std::unique_ptr<redisson> another_java(std::chrono::milliseconds watchdog);
    /// One that uses other servers: the URL of one, or those of nodes with commas between them.
    static std::unique_ptr<redisson> java_at(const std::string& urls,
                                             std::chrono::milliseconds watchdog);

private:
    std::unique_ptr<cli::private_redis> server_{};
    std::unique_ptr<redisson> java_{};
};

/// Redisson and conch on one server. Each test has lock names and Java threads of its own.
class interop_test : public ::testing::Test {
protected:
    interop_test();

    /// `name`, made different from those of all other tests; may hold any braces.
    std::string fresh(const std::string& name = "lock") const { return name + '/' + tag_; }
    std::vector<std::string> fresh_names(int count) const;

    blocking_mutex ours_of(const std::string& name, const mutex_options& kind = {}) const {
        return {ours, name, kind};
    }

    /// What Redisson says, from one of its threads. An exception fails the test.
    template <typename... Words>
    std::string java(const std::string& thread, const Words&... words) {
        std::future<answer> asked = start_java(thread, words...);
        return value_of(asked);
    }
    /// The same, without waiting for it.
    template <typename... Words>
    std::future<answer> start_java(const std::string& thread, const Words&... words) {
        return both.java().start(thread + '/' + tag_, words...);
    }
    /// Throws if it is an exception, or takes too long.
    static std::string value_of(std::future<answer>& asked);

    /// The hold that was waited for; throws if it takes too long.
    static hold granted(std::future<hold>& asked);

    /// Runs `start`, and waits until a waiter for each of these locks knows that it is taken and
    /// will be told of its release: it has tried, subscribed, and tried again.
    template <typename Start>
    bool parked(const std::vector<std::string>& names, Start start) {
        raw.reset_calls();
        const std::uint64_t busy_before = ours.stats().busy;
        const std::size_t tries = 2 * names.size();  // conch makes several with one script
        start();
        return eventually([&] {
                   return raw.calls("evalsha") >= tries || ours.stats().busy >= busy_before + tries;
               }) &&
               eventually([&] {
                   return std::ranges::all_of(names, [&](const std::string& name) {
                       return raw.subscribers(channel_of(name)) == 1;
                   });
               });
    }
    /// Runs `start`, by which a thread of Redisson begins to wait, beside `others` connections that
    /// listen: it has asked, by this command, has subscribed, and has asked again. The server must
    /// know its script: that it is unknown would count as well.
    template <typename Start>
    bool java_parked(const std::string& channel, Start start, std::int64_t others = 0,
                     const std::string& command = "evalsha") {
        raw.reset_calls();
        start();
        return eventually([&] { return raw.calls(command) >= 2; }) &&
               eventually([&] { return raw.subscribers(channel) == others + 1; });
    }
    /// What is left of the lease of a lock, and of the permits whose leases end first, by the
    /// server's word, which knows no less than a millisecond.
    std::chrono::milliseconds lease_left(const std::string& name);
    std::chrono::milliseconds permits_left(const std::string& name);
    template <typename Condition>
    bool eventually(Condition condition) {
        return run_until(io, condition);
    }

    /// Of a client that polls so rarely that it is woken by messages, or not at all.
    config ours_settings() const;

    both_sides& both;
    raw_client raw;
    asio::io_context io{};
    blocking_client ours;

private:
    std::string tag_;
};

/// Shows a time, and fails unless it is from `least` to `least + soon`.
void expect_time(const std::string& what, duration measured, duration least = duration::zero());

/// What a JVM held has come to conch just now: when so much of its lease was over that was left
/// after its crash, and not before.
void expect_comes_back(time_point crashed, std::chrono::milliseconds left);

}  // namespace conch::test

#endif
