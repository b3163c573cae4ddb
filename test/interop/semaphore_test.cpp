// SPDX-License-Identifier: BSL-1.0
// A semaphore that both sides share.
#include "interop_test.hpp"
#include "support/program.hpp"

#include <boost/asio/use_future.hpp>

#include <signal.h>

#include <future>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

class redisson_semaphore : public interop_test {
protected:
    bool listeners(int n) {
        return eventually([&] { return raw.subscribers("redisson_sc:{" + name + "}") == n; });
    }
    bool somebody_listens() { return listeners(1); }
    bool nobody_listens() { return listeners(0); }

    const std::string name = fresh("permits");
    blocking_semaphore s{ours, name};
};

TEST_F(redisson_semaphore, each_side_sees_what_the_other_did) {
    EXPECT_EQ(java("a", "trySetPermits", name, 5), "true");
    EXPECT_FALSE(s.try_set(9));
    EXPECT_EQ(s.available(), 5);
    s.acquire(2);
    EXPECT_EQ(java("a", "availablePermits", name), "3");
    EXPECT_EQ(java("a", "tryAcquirePermits", name, 4), "false");
    EXPECT_EQ(java("a", "tryAcquirePermits", name, 3), "true");
    EXPECT_FALSE(s.try_acquire());
    java("a", "releasePermits", name, 3);
    EXPECT_TRUE(s.try_acquire(3));
    java("a", "addPermits", name, -4);
    EXPECT_EQ(s.available(), -4);
    s.add(6);
    EXPECT_EQ(java("a", "drainPermits", name), "2");
    EXPECT_EQ(s.available(), 0);
    java("a", "releasePermits", name, 7);
    EXPECT_EQ(s.drain(), 7);
    EXPECT_EQ(java("a", "availablePermits", name), "0");
    s.set(1);
    EXPECT_EQ(java("a", "tryAcquirePermits", name, 1), "true");
}

TEST_F(redisson_semaphore, conch_wakes_a_thread_of_java) {
    for (const int how : {0, 1, 2, 3}) {
        raw.must({"DEL", name});
        std::future<answer> waiting = start_java("a", "acquirePermits", name, 2);
        ASSERT_TRUE(somebody_listens());
        switch (how) {
            case 0: s.release(2); break;
            case 1: s.add(2); break;
            case 2: s.set(2); break;
            default: EXPECT_TRUE(s.try_set(2)); break;
        }
        EXPECT_EQ(value_of(waiting), "acquired") << how;
        EXPECT_EQ(s.available(), 0);
        ASSERT_TRUE(nobody_listens());
    }
}

TEST_F(redisson_semaphore, java_wakes_a_waiter_of_conch) {
    const counting_semaphore async{ours.async(), name};
    for (const int how : {0, 1, 2}) {
        raw.must({"DEL", name});
        std::future<void> waiting = async.async_acquire(2, asio::use_future);
        ASSERT_TRUE(somebody_listens());
        EXPECT_EQ(s.available(), 0);  // answered behind all that it asked
        EXPECT_EQ(waiting.wait_for(0s), std::future_status::timeout);
        java("a", how == 0 ? "releasePermits" : how == 1 ? "addPermits" : "trySetPermits", name, 2);
        ASSERT_EQ(waiting.wait_for(soon), std::future_status::ready) << how;
        waiting.get();
        EXPECT_EQ(s.available(), 0);
        ASSERT_TRUE(nobody_listens());
    }
}

TEST_F(redisson_semaphore, what_a_crashed_jvm_took_stays_taken_and_its_waiter_delays_nobody) {
    s.set(3);
    const auto doomed = both.another_java(java_watchdog);
    doomed->start("takes", "acquirePermits", name, 2).get();
    const auto dead = doomed->start("waits", "acquirePermits", name, 2);
    ASSERT_TRUE(somebody_listens());
    const counting_semaphore async{ours.async(), name};
    std::future<void> waiting = async.async_acquire(2, asio::use_future);
    ASSERT_TRUE(listeners(2));
    doomed->crash();
    ASSERT_TRUE(somebody_listens());
    EXPECT_EQ(s.available(), 1) << "what it took has no lease";
    EXPECT_EQ(waiting.wait_for(0s), std::future_status::timeout);
    java("a", "releasePermits", name, 1);
    ASSERT_EQ(waiting.wait_for(soon), std::future_status::ready);
    waiting.get();
    EXPECT_EQ(s.available(), 0);
}

TEST_F(redisson_semaphore, what_a_conch_client_took_stays_taken_and_a_killed_waiter_delays_nobody) {
    s.set(3);
    {
        const blocking_client gone{ours_settings()};
        blocking_semaphore{gone, name}.acquire(3);
    }
    program doomed{{INTEROP_VISITORS_PATH, both.server().socket_path(), "permits", name,
                    fresh("data"), "1", "1", "1"}};
    ASSERT_TRUE(somebody_listens());
    EXPECT_EQ(java("a", "tryAcquirePermits", name, 2), "false");
    std::future<answer> waiting;
    ASSERT_TRUE(java_parked(
        "redisson_sc:{" + name + "}", [&] { waiting = start_java("a", "acquirePermits", name, 2); },
        1));
    doomed.signal(SIGKILL);
    doomed.wait_for_exit();
    ASSERT_TRUE(somebody_listens());
    EXPECT_EQ(java("b", "availablePermits", name), "0") << "what it took has no lease";
    EXPECT_EQ(waiting.wait_for(0s), std::future_status::timeout);
    s.release(2);
    EXPECT_EQ(value_of(waiting), "acquired");
    EXPECT_EQ(s.available(), 0);
}

TEST_F(redisson_semaphore, both_sides_pass_permits_to_and_fro) {
    s.set(2);
    std::future<answer> theirs = start_java("a", "takeAndRelease", name, 100);
    for (int i = 0; i < 100; ++i) {
        s.acquire(1 + i % 2, {.wait = soon});
        s.release(1 + i % 2);
    }
    EXPECT_EQ(value_of(theirs), "done");
    EXPECT_EQ(s.available(), 2);
}

TEST_F(redisson_semaphore, a_name_with_a_hash_tag_is_the_same_on_both_sides) {
    const std::string tagged = fresh("a{b}c");
    blocking_semaphore of_ours{ours, tagged};
    std::future<answer> waiting = start_java("a", "acquirePermits", tagged, 1);
    ASSERT_TRUE(eventually([&] { return raw.subscribers("redisson_sc:" + tagged) == 1; }));
    of_ours.release();
    EXPECT_EQ(value_of(waiting), "acquired");
}

}  // namespace
