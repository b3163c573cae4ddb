// SPDX-License-Identifier: BSL-1.0
// What each side sees of a lock that the other holds.
#include "interop_test.hpp"

#include <chrono>
#include <regex>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

using redisson_view = interop_test;

// Redisson's owner fields, which tools read.
const std::regex owner_field{"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[0-9]+"};

TEST_F(redisson_view, conch_sees_how_deep_java_is_in_a_lock) {
    const std::string name = fresh();
    blocking_mutex m = ours_of(name);
    EXPECT_FALSE(m.status().locked);
    java("a", "lock", name, long_lease);
    java("a", "lock", name, long_lease);
    const lock_status twice = m.status();
    EXPECT_TRUE(twice.locked);
    EXPECT_EQ(twice.depth, 2u);
    EXPECT_EQ(java("a", "holdCount", name), "2");
    java("a", "unlock", name);
    EXPECT_EQ(m.status().depth, 1u);
    EXPECT_FALSE(m.try_acquire()) << "one level is left";
    java("a", "unlock", name);
    EXPECT_FALSE(m.status().locked);
}

TEST_F(redisson_view, conch_sees_which_java_thread_has_a_lock_and_for_how_long) {
    const std::string name = fresh();
    java("a", "lock", name, long_lease);
    const lock_status s = ours_of(name).status();
    EXPECT_TRUE(std::regex_match(s.holder, owner_field)) << s.holder;
    ASSERT_TRUE(s.ttl.has_value());
    EXPECT_LE(*s.ttl, long_lease);
    EXPECT_GT(*s.ttl, long_lease / 2);
    EXPECT_EQ(java("a", "isHeldByCurrentThread", name), "true");
    EXPECT_EQ(java("b", "isHeldByCurrentThread", name), "false");
    java("a", "unlock", name);
}

TEST_F(redisson_view, java_sees_that_conch_has_a_lock_and_for_how_long) {
    const std::string name = fresh();
    blocking_mutex m = ours_of(name);
    EXPECT_EQ(java("a", "isLocked", name), "false");
    EXPECT_EQ(java("a", "remainTimeToLive", name), "-2");
    hold h = m.acquire(unrenewed(long_lease));
    EXPECT_EQ(java("a", "isLocked", name), "true");
    EXPECT_EQ(java("a", "isHeldByCurrentThread", name), "false");
    EXPECT_EQ(java("a", "holdCount", name), "0") << "Redisson counts for the asking thread alone";
    const std::chrono::milliseconds left{std::stoll(java("a", "remainTimeToLive", name))};
    EXPECT_LE(left, long_lease);
    EXPECT_GT(left, long_lease / 2);
    m.unlock(h);
    EXPECT_EQ(java("a", "isLocked", name), "false");
    EXPECT_EQ(java("a", "remainTimeToLive", name), "-2");
}

TEST_F(redisson_view, a_nested_hold_of_conch_counts_as_java_counts) {
    const std::string name = fresh();
    blocking_mutex m = ours_of(name);
    const owner me;
    lock_options mine = unrenewed(long_lease);
    mine.owner = &me;
    hold outer = m.acquire(mine);
    hold inner = m.acquire(mine);
    const auto fields = raw.hgetall(name);
    ASSERT_EQ(fields.size(), 1u);
    EXPECT_TRUE(std::regex_match(fields.begin()->first, owner_field)) << fields.begin()->first;
    EXPECT_EQ(fields.begin()->second, "2");
    m.unlock(inner);
    EXPECT_EQ(raw.hgetall(name).begin()->second, "1");
    EXPECT_EQ(java("a", "isLocked", name), "true");
    m.unlock(outer);
    EXPECT_EQ(java("a", "isLocked", name), "false");
}

// Its getHoldCount() counts for the asking thread alone; where that looks is the lock's own map.
TEST_F(redisson_view, java_sees_how_deep_conch_is_in_a_lock) {
    const std::string name = fresh();
    blocking_mutex m = ours_of(name);
    const owner me;
    lock_options mine = unrenewed(long_lease);
    mine.owner = &me;
    EXPECT_EQ(java("a", "counts", name), "[]");
    hold outer = m.acquire(mine);
    EXPECT_EQ(java("a", "counts", name), "[1]");
    hold inner = m.acquire(mine);
    EXPECT_EQ(java("a", "counts", name), "[2]");
    m.unlock(inner);
    EXPECT_EQ(java("a", "counts", name), "[1]");
    m.unlock(outer);
    EXPECT_EQ(java("a", "counts", name), "[]");
}

TEST_F(redisson_view, java_may_not_unlock_what_conch_holds) {
    const std::string name = fresh();
    blocking_mutex m = ours_of(name);
    hold h = m.acquire(unrenewed(long_lease));
    std::future<answer> refused = start_java("a", "unlock", name);
    ASSERT_EQ(refused.wait_for(patience), std::future_status::ready);
    EXPECT_TRUE(refused.get().text.starts_with("IllegalMonitorStateException"));
    EXPECT_EQ(java("a", "isLocked", name), "true");
    EXPECT_NO_THROW(m.unlock(h));
}

TEST_F(redisson_view, fencing_tokens_grow_across_both_sides) {
    const std::string name = fresh();
    blocking_mutex m = ours_of(name, {.fenced = true});
    std::uint64_t last = 0;
    for (int round = 0; round < 20; ++round) {
        const std::uint64_t theirs = std::stoull(java("a", "lockAndGetToken", name));
        EXPECT_GT(theirs, last);
        EXPECT_EQ(m.status().fence, theirs);
        java("a", "unlockFenced", name);
        hold h = m.acquire();
        EXPECT_GT(h.fence(), theirs);
        EXPECT_EQ(java("a", "getToken", name), std::to_string(h.fence()));
        last = h.fence();
        m.unlock(h);
    }
}

}  // namespace
