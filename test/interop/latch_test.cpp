// SPDX-License-Identifier: BSL-1.0
// A latch that both sides share.
#include "interop_test.hpp"
#include "support/program.hpp"

#include <boost/asio/use_future.hpp>

#include <signal.h>

#include <future>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

class redisson_latch : public interop_test {
protected:
    static std::string channel_of_latch(const std::string& of) {
        return "redisson_countdownlatch__channel__{" + of + "}";
    }
    bool listeners(int n, const std::string& of) {
        return eventually([&] { return raw.subscribers(channel_of_latch(of)) == n; });
    }
    bool somebody_listens() { return listeners(1, name); }
    bool nobody_listens() { return listeners(0, name); }

    const std::string name = fresh("start");
    blocking_latch l{ours, name};
    const latch async{ours.async(), name};
};

TEST_F(redisson_latch, each_side_sees_what_the_other_did) {
    EXPECT_EQ(java("a", "await", name), "open") << "as nobody has set it";
    l.wait();
    EXPECT_EQ(java("a", "trySetCount", name, 3), "true");
    EXPECT_FALSE(l.try_set_count(9));
    EXPECT_EQ(l.count(), 3);
    l.count_down();
    EXPECT_EQ(java("a", "getCount", name), "2");
    java("a", "countDown", name);
    EXPECT_EQ(l.count(), 1);
    l.count_down();
    EXPECT_EQ(java("a", "getCount", name), "0");
    EXPECT_FALSE(raw.exists(name));
    EXPECT_TRUE(l.try_set_count(2));
    EXPECT_EQ(java("a", "trySetCount", name, 5), "false");
    EXPECT_EQ(java("a", "getCount", name), "2");
    java("a", "countDown", name);
    java("a", "countDown", name);
    l.wait();
    EXPECT_EQ(java("a", "await", name), "open");
}

TEST_F(redisson_latch, conch_opens_it_for_a_thread_of_java) {
    for (const int by : {1, 2, 7}) {  // and it is set again each time
        EXPECT_TRUE(l.try_set_count(2));
        std::future<answer> waiting = start_java("a", "await", name);
        ASSERT_TRUE(somebody_listens());
        l.count_down(by);
        if (by == 1) {
            EXPECT_EQ(java("b", "getCount", name), "1");
            EXPECT_EQ(waiting.wait_for(0s), std::future_status::timeout);
            l.count_down();
        }
        EXPECT_EQ(value_of(waiting), "open") << by;
        ASSERT_TRUE(nobody_listens());
    }
}

TEST_F(redisson_latch, java_opens_it_for_a_waiter_of_conch) {
    for (const char* how :
         {"countDown", "countDown", "delete"}) {  // and it sets it again each time
        EXPECT_EQ(java("a", "trySetCount", name, 1), "true");
        std::future<void> waiting = async.async_wait(asio::use_future);
        ASSERT_TRUE(somebody_listens());
        EXPECT_EQ(l.count(), 1);  // answered behind all that it asked
        EXPECT_EQ(waiting.wait_for(0s), std::future_status::timeout);
        java("a", how, name);
        ASSERT_EQ(waiting.wait_for(soon), std::future_status::ready) << how;
        waiting.get();
        ASSERT_TRUE(nobody_listens());
    }
}

TEST_F(redisson_latch, a_crashed_jvm_has_counted_and_its_waiter_delays_nobody) {
    EXPECT_TRUE(l.try_set_count(3));
    const auto doomed = both.another_java(java_watchdog);
    doomed->start("a", "countDown", name).get();
    const auto dead = doomed->start("a", "await", name);
    ASSERT_TRUE(somebody_listens());
    std::future<void> waiting = async.async_wait(asio::use_future);
    ASSERT_TRUE(listeners(2, name));
    doomed->crash();
    ASSERT_TRUE(somebody_listens());
    EXPECT_EQ(l.count(), 2);
    EXPECT_EQ(waiting.wait_for(0s), std::future_status::timeout);
    java("a", "countDown", name);
    java("a", "countDown", name);
    ASSERT_EQ(waiting.wait_for(soon), std::future_status::ready);
    waiting.get();
}

TEST_F(redisson_latch, a_killed_process_of_conch_has_counted_and_delays_nobody) {
    const std::string first = name + "/0";  // so does a visitor name it
    blocking_latch of_first{ours, first};
    EXPECT_TRUE(of_first.try_set_count(3));
    program doomed{{INTEROP_VISITORS_PATH, both.server().socket_path(), "latch", name,
                    fresh("data"), "1", "1", "1"}};
    ASSERT_TRUE(listeners(1, first)) << "it has counted, and waits";
    std::future<answer> waiting;
    ASSERT_TRUE(java_parked(
        channel_of_latch(first), [&] { waiting = start_java("a", "await", first); }, 1, "get"));
    doomed.signal(SIGKILL);
    doomed.wait_for_exit();
    ASSERT_TRUE(listeners(1, first));
    EXPECT_EQ(java("b", "getCount", first), "2");
    EXPECT_EQ(waiting.wait_for(0s), std::future_status::timeout);
    of_first.count_down(2);
    EXPECT_EQ(value_of(waiting), "open");
}

TEST_F(redisson_latch, a_name_with_a_hash_tag_is_the_same_on_both_sides) {
    const std::string tagged = fresh("a{b}c");
    blocking_latch of_ours{ours, tagged};
    EXPECT_EQ(java("a", "trySetCount", tagged, 1), "true");
    std::future<answer> waiting = start_java("a", "await", tagged);
    ASSERT_TRUE(eventually([&] { return raw.subscribers(channel_of_latch(tagged)) == 1; }));
    of_ours.count_down();
    EXPECT_EQ(value_of(waiting), "open");
}

}  // namespace
