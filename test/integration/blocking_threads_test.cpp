// SPDX-License-Identifier: BSL-1.0
// The threads that a blocking client has, and what it does where it can't have one.
#include "support/child_process.hpp"
#include "support/redis_test.hpp"

#include <conch/blocking.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <iterator>
#include <optional>
#include <system_error>

namespace {

using namespace conch;
using namespace conch::test;
using report = child_process::report;

std::ptrdiff_t count_threads() {
    return std::distance(std::filesystem::directory_iterator{"/proc/self/task"}, {});
}

/// From now on, as a user who has no other processes and may have so many threads. Only root may.
void allow_threads(rlim_t count) {
    constexpr uid_t nobody_else = 54321;
    const rlimit limit{count, count};
    if (::setrlimit(RLIMIT_NPROC, &limit) != 0 || ::setuid(nobody_else) != 0) {
        throw std::system_error{errno, std::generic_category()};
    }
}

using blocking_threads = redis_test;

TEST_F(blocking_threads, a_client_has_one_and_no_call_adds_to_it) {
    const auto before = count_threads();
    std::optional<blocking_client> redis{std::in_place, settings()};
    {
        blocking_mutex m{*redis, "lock"};
        m.lock();
        m.unlock();
        EXPECT_TRUE(m.try_lock_for(10s));
        EXPECT_TRUE(m.status().locked);
        EXPECT_TRUE(m.force_unlock());
        m.unlock();
        hold h = m.acquire_future().get();
        EXPECT_FALSE(h.stop_token().stop_requested());
        m.unlock(h);
        hold none;
        EXPECT_TRUE(none.stop_token().stop_requested());
        EXPECT_THROW(m.unlock(none), system_error);
        EXPECT_EQ(count_threads(), before + 1);
        redis->shutdown();
        EXPECT_EQ(count_threads(), before + 1);
    }
    redis.reset();
    EXPECT_TRUE(run_until(io, [&] { return count_threads() == before; }));
}

TEST_F(blocking_threads, a_client_that_can_have_none_throws_from_its_constructor) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can become another user";
    }
    child_process child{[&](const report&) {
        allow_threads(1);
        try {
            const blocking_client redis{settings()};
        } catch (const std::system_error& e) {
            return e.code() == std::errc::resource_unavailable_try_again ? 0 : 1;
        }
        return 2;
    }};
    EXPECT_EQ(child.join(), 0);
}

TEST_F(blocking_threads, a_client_that_has_its_own_needs_no_other) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can become another user";
    }
    child_process child{[&](const report&) {
        blocking_client redis{settings()};
        blocking_mutex m{redis, "lock"};
        std::promise<void> connected;  // the user to be may not connect
        mutex{redis.async(), "lock"}.async_status(
            [&](error_code, const lock_status&) { connected.set_value(); });
        connected.get_future().get();
        allow_threads(2);
        m.lock();
        m.unlock();
        return m.unlock_error() ? 1 : 0;
    }};
    EXPECT_EQ(child.join(), 0);
}

TEST_F(blocking_threads, a_client_that_can_not_look_up_its_host_says_so) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can become another user";
    }
    child_process child{[&](const report&) {
        config by_name = settings();
        by_name.unix_path.clear();
        by_name.host = "localhost";
        by_name.operation_timeout = 100ms;
        blocking_client redis{by_name};
        blocking_mutex m{redis, "lock"};
        allow_threads(2);
        try {
            m.lock();
        } catch (const system_error& e) {
            return e.code() == errc::not_connected ? 0 : 1;
        }
        return 2;
    }};
    EXPECT_EQ(child.join(), 0);
}

}  // namespace
