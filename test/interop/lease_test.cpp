// SPDX-License-Identifier: BSL-1.0
// Leases: renewed for as long as their holder lives, passed on when they end, and not before.
#include "interop_test.hpp"
#include "support/program.hpp"

#include <signal.h>

#include <memory>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

using redisson_lease = interop_test;

TEST_F(redisson_lease, the_watchdogs_of_both_keep_their_locks_past_three_leases) {
    const std::string theirs = fresh("theirs");
    const std::string mine = fresh("mine");
    const std::chrono::milliseconds past_three = java_watchdog * 7 / 2;
    blocking_mutex of_java = ours_of(theirs);
    blocking_mutex of_conch = ours_of(mine);
    java("a", "lock", theirs);
    hold h = of_conch.acquire({.lease = java_watchdog});
    std::future<answer> tried = start_java("b", "tryLock", mine, past_three, long_lease);
    EXPECT_FALSE(of_java.try_acquire({.wait = past_three}));
    EXPECT_TRUE(value_of(tried).starts_with("false"));
    EXPECT_EQ(java("a", "holdCount", theirs), "1");
    EXPECT_TRUE(h.owns_lock());
    EXPECT_EQ(java("a", "isLocked", mine), "true");
    java("a", "unlock", theirs);
    EXPECT_NO_THROW(of_conch.unlock(h));
}

TEST_F(redisson_lease, conch_gets_the_lock_when_a_lease_of_java_ends_and_not_before) {
    const std::string name = fresh();
    constexpr std::chrono::milliseconds lease = 700ms;
    const auto began = clock::now();
    EXPECT_TRUE(java("a", "tryLock", name, 0s, lease).starts_with("true"));
    const hold h = ours_of(name).acquire();
    expect_time("a lease of 700 ms of Redisson", clock::now() - began, lease);
}

// conch gives up, and releases, a little before the server would: at valid_until().
TEST_F(redisson_lease, java_gets_the_lock_when_a_hold_of_conch_is_over_and_not_before) {
    const std::string name = fresh();
    const hold h = ours_of(name).acquire(unrenewed(700ms));
    EXPECT_EQ(java("a", "lock", name), "locked");
    expect_time("from the end of conch's hold to Redisson's", clock::now() - h.valid_until());
    EXPECT_FALSE(h.owns_lock());
    java("a", "unlock", name);
}

TEST_F(redisson_lease, java_gets_the_lock_when_a_lease_that_conch_left_behind_ends_and_not_before) {
    const std::string name = fresh();
    constexpr std::chrono::milliseconds lease = 700ms;
    const auto began = clock::now();
    hold h = ours_of(name).acquire(unrenewed(lease));
    h.detach();
    EXPECT_EQ(java("a", "lock", name), "locked");
    expect_time("a lease of 700 ms of conch", clock::now() - began, lease);
    java("a", "unlock", name);
}

TEST_F(redisson_lease, the_lock_of_a_crashed_jvm_passes_to_conch) {
    const std::string name = fresh();
    const std::unique_ptr<redisson> other = both.another_java(2s);
    std::future<answer> locked = other->start("a", "lock", name);
    EXPECT_EQ(value_of(locked), "locked");
    std::future<hold> waiting;
    blocking_mutex m = ours_of(name);
    ASSERT_TRUE(parked({name}, [&] { waiting = m.acquire_future(); }));
    other->start("b", "crash");
    const auto crashed = clock::now();
    hold h = granted(waiting);
    expect_time("from the crash of a JVM to conch's hold", clock::now() - crashed);
    m.unlock(h);
}

TEST_F(redisson_lease, the_lock_of_a_crashed_conch_passes_to_java) {
    const std::string name = fresh();
    program holder{
        {CONCH_PROGRAM_PATH, "run", "--lease", "2", name, "--", "sh", "-c", "echo in; exec cat"},
        {{"CONCH_REDIS", both.server().url()}}};
    holder.wait_for("in\n");
    std::future<answer> waiting;
    ASSERT_TRUE(parked({name}, [&] { waiting = start_java("a", "lock", name, long_lease); }));
    holder.signal(SIGKILL);
    const auto crashed = clock::now();
    EXPECT_EQ(value_of(waiting), "locked");
    expect_time("from the crash of conch to the end of Redisson's lock()", clock::now() - crashed);
    java("a", "unlock", name);
}

}  // namespace
