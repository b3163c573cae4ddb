// SPDX-License-Identifier: BSL-1.0
// A release by one side wakes the waiters of the other by its message: nothing else would, for as
// long as the leases are.
#include "interop_test.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class redisson_wake : public interop_test {
protected:
    static constexpr int count = 40;

    /// Shows how long the wakes took: half of them, at least, less than a second.
    static void expect_woken(const std::string& what, std::vector<duration> latencies) {
        std::ranges::sort(latencies);
        const duration median = latencies[latencies.size() / 2];
        expect_time(what + ", the median", median);
        EXPECT_LT(median, 1s);
        expect_time(what + ", the longest", latencies.back());
    }
    /// However busy the machine is, no wake has to wait for a lease or a poll.
    static void expect_soon(const std::string& name, duration latency) {
        EXPECT_LT(latency, soon) << name << " waited for more than a message";
    }
};

TEST_F(redisson_wake, releases_by_java_wake_conch_by_their_messages) {
    const std::vector<std::string> names = fresh_names(count);
    for (const std::string& name : names) {
        java(name, "lock", name, long_lease);
    }
    std::vector<std::future<hold>> waiting;
    ASSERT_TRUE(parked(names, [&] {
        for (const std::string& name : names) {
            waiting.push_back(ours_of(name).acquire_future(unrenewed(long_lease)));
        }
    }));
    std::vector<duration> latencies;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const stats before = ours.stats();
        const auto released = clock::now();
        java(names[i], "unlock", names[i]);
        EXPECT_TRUE(granted(waiting[i]));
        latencies.push_back(clock::now() - released);
        expect_soon(names[i], latencies.back());
        const stats after = ours.stats();
        EXPECT_GT(after.wakes_by_message, before.wakes_by_message) << names[i];
        EXPECT_EQ(after.wakes_by_subscribe, before.wakes_by_subscribe) << names[i];
        EXPECT_EQ(after.wakes_by_poll, 0u) << names[i];
    }
    expect_woken("from Redisson's unlock() to conch's hold", latencies);
    EXPECT_EQ(ours.stats().contended, static_cast<std::uint64_t>(count));
}

TEST_F(redisson_wake, releases_by_conch_wake_java_by_their_messages) {
    const std::vector<std::string> names = fresh_names(count);
    std::vector<hold> held;
    for (const std::string& name : names) {
        held.push_back(ours_of(name).acquire(unrenewed(long_lease)));
    }
    std::vector<std::future<answer>> waiting;
    ASSERT_TRUE(parked(names, [&] {
        for (const std::string& name : names) {
            waiting.push_back(start_java(name, "lock", name, long_lease));
        }
    }));
    std::vector<duration> latencies;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto released = clock::now();
        ours_of(names[i]).unlock(held[i]);
        EXPECT_EQ(value_of(waiting[i]), "locked");
        latencies.push_back(clock::now() - released);
        expect_soon(names[i], latencies.back());
    }
    expect_woken("from conch's unlock to the end of Redisson's lock()", latencies);
    for (const std::string& name : names) {
        java(name, "unlock", name);
    }
}

// What else might wake a waiter would do so while other locks change hands by their messages.
TEST_F(redisson_wake, without_a_message_nobody_hears_that_a_lock_is_free) {
    const std::vector<std::string> names = fresh_names(3);
    const std::string& told = names[0];
    const std::string& for_conch = names[1];
    const std::string& for_java = names[2];
    for (const std::string& name : {for_conch, for_java}) {
        java("holder", "lock", name, long_lease);
    }
    std::future<hold> ours_waits;
    std::future<answer> theirs_waits;
    ASSERT_TRUE(parked({for_conch, for_java}, [&] {
        ours_waits = ours_of(for_conch).acquire_future(unrenewed(long_lease));
        theirs_waits = start_java("waiter", "lock", for_java, long_lease);
    }));
    raw.must({"DEL", for_conch, for_java});
    for (int i = 0; i < count; ++i) {
        std::future<hold> next;
        java("other", "lock", told, long_lease);
        ASSERT_TRUE(parked({told}, [&] { next = ours_of(told).acquire_future(); }));
        java("other", "unlock", told);
        EXPECT_TRUE(granted(next));
    }
    EXPECT_EQ(ours_waits.wait_for(0s), std::future_status::timeout);
    EXPECT_EQ(theirs_waits.wait_for(0s), std::future_status::timeout);
    for (const std::string& name : {for_conch, for_java}) {
        raw.must({"PUBLISH", channel_of(name), "0"});
    }
    EXPECT_TRUE(granted(ours_waits));
    EXPECT_EQ(value_of(theirs_waits), "locked");
    java("waiter", "unlock", for_java);
}

// A wake that finds the lock taken by the other side must not be the last one.
TEST_F(redisson_wake, waiters_of_both_sides_of_one_lock_all_get_their_turn) {
    const std::string name = fresh();
    blocking_mutex m = ours_of(name);
    hold first = m.acquire(unrenewed(long_lease));
    std::vector<std::future<answer>> theirs;
    std::vector<std::future<hold>> ours_wait;
    constexpr int waiters = 5;
    for (int i = 0; i < waiters; ++i) {
        theirs.push_back(start_java(std::to_string(i), "increment", name, fresh("counter"), 5));
        ours_wait.push_back(m.acquire_future(unrenewed(long_lease)));
    }
    ASSERT_TRUE(eventually([&] {
        return raw.subscribers(channel_of(name)) == 2 && ours.stats().waiting_now == waiters;
    }));
    m.unlock(first);
    for (std::future<hold>& one : ours_wait) {
        hold h = granted(one);
        m.unlock(h);
    }
    for (std::future<answer>& one : theirs) {
        EXPECT_EQ(value_of(one), "done");
    }
    EXPECT_EQ(raw.get(fresh("counter")), std::to_string(5 * waiters));
}

}  // namespace
