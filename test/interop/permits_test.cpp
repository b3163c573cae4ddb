// SPDX-License-Identifier: BSL-1.0
// Permits with leases that both sides share: Redisson's RPermitExpirableSemaphore.
#include "interop_test.hpp"

#include <boost/asio/use_future.hpp>

#include <future>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

class redisson_permits : public interop_test {
protected:
    template <typename... Words>
    std::string theirs(const std::string& call, const Words&... words) {
        return java("a", "leased", name, call, words...);
    }
    template <typename... Words>
    std::future<answer> start_theirs(const std::string& call, const Words&... words) {
        return start_java("a", "leased", name, call, words...);
    }
    hold take(int permits, const lock_options& o = unrenewed(long_lease)) {
        return s.async_acquire(permits, o, asio::use_future).get();
    }
    void give_back(hold& h) { h.async_unlock(asio::use_future).get(); }
    std::int64_t available() { return s.async_available(asio::use_future).get(); }
    bool listeners(int n) {
        return eventually([&] { return raw.subscribers("redisson_sc:{" + name + "}") == n; });
    }

    const std::string name = fresh("leased");
    const semaphore s{ours.async(), name};
};

TEST_F(redisson_permits, each_side_sees_what_the_other_did) {
    EXPECT_EQ(theirs("trySetPermits", 5), "true");
    EXPECT_FALSE(s.async_try_set_permits(9, asio::use_future).get());
    hold h = take(2);
    EXPECT_EQ(theirs("counts"), "3 2 5");
    const std::string ids = theirs("tryAcquire", 3);
    EXPECT_EQ(ids.size(), 3U * 32 + 2);
    EXPECT_EQ(available(), 0);
    EXPECT_EQ(s.async_acquired(asio::use_future).get(), 5);
    EXPECT_FALSE(s.async_try_acquire(asio::use_future).get());
    EXPECT_EQ(theirs("tryAcquire", 1), "");
    theirs("release", ids);
    EXPECT_EQ(available(), 3);
    give_back(h);
    EXPECT_EQ(theirs("counts"), "5 0 5");
    theirs("addPermits", -1);
    EXPECT_EQ(s.async_total(asio::use_future).get(), 4);
    s.async_set_permits(6, asio::use_future).get();
    EXPECT_EQ(theirs("counts"), "6 0 6");
    theirs("setPermits", 2);
    EXPECT_EQ(available(), 2);
}

TEST_F(redisson_permits, conch_wakes_a_thread_of_java) {
    for (const int how : {0, 1, 2}) {
        raw.must({"DEL", name, "{" + name + "}:timeout"});
        hold h;
        if (how == 0) {
            s.async_set_permits(2, asio::use_future).get();
            h = take(2);
        }
        std::future<answer> waiting = start_theirs("acquire", 2);
        ASSERT_TRUE(listeners(1));
        switch (how) {
            case 0: give_back(h); break;
            case 1: s.async_add_permits(2, asio::use_future).get(); break;
            default: EXPECT_TRUE(s.async_try_set_permits(2, asio::use_future).get()); break;
        }
        EXPECT_EQ(value_of(waiting).size(), 65U) << how;
        EXPECT_EQ(available(), 0);
        ASSERT_TRUE(listeners(0));
    }
}

TEST_F(redisson_permits, java_wakes_a_waiter_of_conch) {
    EXPECT_EQ(theirs("trySetPermits", 2), "true");
    const std::string ids = theirs("acquire", 2, std::chrono::milliseconds{long_lease});
    std::future<hold> waiting = s.async_acquire(2, asio::use_future);
    ASSERT_TRUE(listeners(1));
    EXPECT_EQ(available(), 0);  // answered behind all that it asked
    EXPECT_EQ(waiting.wait_for(0s), std::future_status::timeout);
    theirs("release", ids);
    ASSERT_EQ(waiting.wait_for(soon), std::future_status::ready);
    hold h = waiting.get();
    EXPECT_EQ(theirs("counts"), "0 2 2");
}

TEST_F(redisson_permits, of_a_crashed_jvm_come_back_to_conch) {
    EXPECT_EQ(theirs("trySetPermits", 2), "true");
    const auto doomed = both.another_java(java_watchdog);
    std::future<answer> taken =
        doomed->start("a", "leased", name, std::string{"acquire"}, 2, std::chrono::seconds{3});
    EXPECT_EQ(value_of(taken).size(), 65U);
    std::future<hold> waiting = s.async_acquire(2, asio::use_future);
    ASSERT_TRUE(listeners(1));
    doomed->crash();
    const auto crashed = clock::now();
    const std::chrono::milliseconds left = permits_left(name);
    hold h = granted(waiting);
    expect_comes_back(crashed, left);
    EXPECT_TRUE(h.owns_lock());
    EXPECT_EQ(theirs("counts"), "0 2 2");
}

TEST_F(redisson_permits, of_a_crashed_conch_come_back_to_java) {
    s.async_set_permits(2, asio::use_future).get();
    take(2, unrenewed(std::chrono::seconds{2})).detach();  // as a process leaves it that ends
    EXPECT_EQ(theirs("counts"), "0 2 2");
    std::future<answer> waiting = start_theirs("acquire", 2);
    ASSERT_TRUE(listeners(1));
    const auto began = clock::now();
    const std::chrono::milliseconds left = permits_left(name);
    EXPECT_GT(left, 0ms);
    EXPECT_EQ(value_of(waiting).size(), 65U);
    expect_time("until Redisson takes what conch has left, of a lease", clock::now() - began,
                left - 2ms);
    EXPECT_EQ(available(), 0);
}

TEST_F(redisson_permits, that_conch_renews_are_not_taken_by_java) {
    s.async_set_permits(2, asio::use_future).get();
    hold h = take(2, {.lease = std::chrono::milliseconds{500}});
    const time_point enough = clock::now() + std::chrono::milliseconds{1750};
    while (clock::now() < enough) {
        EXPECT_EQ(theirs("tryAcquire", 1), "");
    }
    EXPECT_TRUE(h.owns_lock());
    EXPECT_GE(ours.stats().renewals, 3u);
    give_back(h);
    EXPECT_EQ(theirs("tryAcquire", 2).size(), 65U);
}

TEST_F(redisson_permits, both_sides_pass_them_to_and_fro) {
    s.async_set_permits(2, asio::use_future).get();
    std::future<answer> other = start_theirs("takeAndRelease", 100);
    for (int i = 0; i < 100; ++i) {
        hold h = take(1 + i % 2, {.wait = soon});
        give_back(h);
    }
    EXPECT_EQ(value_of(other), "done");
    EXPECT_EQ(theirs("counts"), "2 0 2");
}

TEST_F(redisson_permits, a_name_with_a_hash_tag_is_the_same_on_both_sides) {
    const std::string tagged = fresh("a{b}c");
    const semaphore of_ours{ours.async(), tagged};
    std::future<answer> waiting = start_java("a", "leased", tagged, std::string{"acquire"}, 1);
    ASSERT_TRUE(eventually([&] { return raw.subscribers("redisson_sc:" + tagged) == 1; }));
    of_ours.async_set_permits(1, asio::use_future).get();
    EXPECT_EQ(value_of(waiting).size(), 32U);
    EXPECT_EQ(java("a", "leased", tagged, std::string{"counts"}), "0 1 1");
}

}  // namespace
