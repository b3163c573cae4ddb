// SPDX-License-Identifier: BSL-1.0
// Permits with leases, whose count gets a time to live, loses it, or is deleted.
#include "integration/permits_fixture.hpp"

namespace {

using namespace conch;
using namespace conch::test;

TEST_F(permits_test, end_with_a_semaphore_that_has_a_time_to_live) {
    raw.must({"SET", "permits", "3", "PX", "60000"});
    run([&]() -> asio::awaitable<void> {
        hold h = co_await s1.async_acquire(2);
        EXPECT_GT(raw.pttl(out), 50'000);
        EXPECT_LE(raw.pttl(out), 60'000);
        co_await s1.async_set_permits(5);
        EXPECT_GT(raw.pttl("permits"), 50'000);
    });
}

TEST_F(permits_test, whose_count_was_deleted_are_as_many_as_somebody_sets_anew) {
    run([&]() -> asio::awaitable<void> {
        co_await s1.async_set_permits(5);
        hold a = co_await s1.async_acquire(2);
        hold b = co_await s1.async_acquire();
        raw.must({"DEL", "permits"});
        co_await a.async_unlock();
        EXPECT_FALSE(raw.exists("permits"));
        const bool was_gone = co_await s2.async_try_set_permits(5);
        EXPECT_TRUE(was_gone);
        co_await b.async_unlock();
        EXPECT_EQ(left(), 5);
    });
}

TEST_F(permits_test, do_not_end_with_a_time_to_live_that_is_no_more) {
    run([&]() -> asio::awaitable<void> {
        co_await s1.async_set_permits(5);
        raw.must({"PEXPIRE", "permits", "60000"});
        hold a = co_await s1.async_acquire(2);
        EXPECT_LE(raw.pttl(out), 60'000);
        raw.must({"PERSIST", "permits"});
        hold b = co_await s1.async_acquire();
        EXPECT_GT(raw.pttl(out), 1'000'000'000'000) << "for ever, more or less";
    });
}

}  // namespace
