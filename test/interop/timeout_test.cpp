// SPDX-License-Identifier: BSL-1.0
// A bounded wait ends at its end: late by as much as a machine is busy, never early, whatever wakes
// the waiter meanwhile.
#include "interop_test.hpp"

#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class redisson_timeout : public interop_test {
protected:
    static constexpr std::chrono::milliseconds wait = 1500ms;

    /// Wakes the waiter for nothing, again and again; false if it did not try each time.
    bool disturb(const std::string& name) {
        for (int i = 0; i < 5; ++i) {
            raw.reset_calls();
            raw.must({"PUBLISH", channel_of(name), "0"});
            if (!eventually([&] { return raw.calls("evalsha") >= 1; })) {
                return false;
            }
        }
        return true;
    }
};

/// How long Redisson says that a try took that got nothing.
duration length_of_failure(const std::string& answered) {
    const std::string failed = "false ";
    if (!answered.starts_with(failed)) {
        ADD_FAILURE() << answered;
        return duration::zero();
    }
    return std::chrono::microseconds{std::stoll(answered.substr(failed.size()))};
}

TEST_F(redisson_timeout, java_does_not_give_up_early_on_a_lock_of_conch) {
    const std::string name = fresh();
    const hold h = ours_of(name).acquire(unrenewed(long_lease));
    std::future<answer> tried;
    ASSERT_TRUE(
        parked({name}, [&] { tried = start_java("a", "tryLock", name, wait, long_lease); }));
    EXPECT_TRUE(disturb(name));
    // Redisson counts in whole milliseconds.
    expect_time("Redisson's tryLock(1500 ms)", length_of_failure(value_of(tried)), wait - 1ms);
}

TEST_F(redisson_timeout, conch_does_not_give_up_early_on_a_lock_of_java) {
    const std::string name = fresh();
    java("a", "lock", name, long_lease);
    blocking_mutex m = ours_of(name);
    std::future<hold> waiting;
    const auto began = clock::now();
    ASSERT_TRUE(parked({name}, [&] { waiting = m.acquire_future({.wait = wait}); }));
    EXPECT_TRUE(disturb(name));
    try {
        const hold none = granted(waiting);
        ADD_FAILURE() << "granted";
    } catch (const system_error& e) {
        EXPECT_EQ(e.code(), errc::timed_out);
    }
    expect_time("conch's wait of 1500 ms", clock::now() - began, wait);
    java("a", "unlock", name);
}

TEST_F(redisson_timeout, waits_of_all_lengths_end_no_earlier_than_asked) {
    const std::string of_java = fresh("theirs");
    const std::string of_conch = fresh("ours");
    java("holder", "lock", of_java, long_lease);
    const hold h = ours_of(of_conch).acquire(unrenewed(long_lease));
    blocking_mutex m = ours_of(of_java);
    for (const auto each : {1ms, 2ms, 5ms, 10ms, 20ms, 50ms, 100ms, 200ms, 400ms}) {
        const std::string asked = std::to_string(each.count()) + " ms";
        std::future<answer> tried = start_java("a", "tryLock", of_conch, each, long_lease);
        const auto began = clock::now();
        EXPECT_FALSE(m.try_acquire({.wait = each}));
        expect_time("conch, asked for " + asked, clock::now() - began, each);
        expect_time("Redisson, asked for " + asked, length_of_failure(value_of(tried)), each - 1ms);
    }
    java("holder", "unlock", of_java);
}

}  // namespace
