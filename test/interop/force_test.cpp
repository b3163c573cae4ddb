// SPDX-License-Identifier: BSL-1.0
// Forced release: each side may take a lock away from the other, which finds out.
#include "interop_test.hpp"

#include <boost/asio/use_future.hpp>

#include <string>

namespace {

using namespace conch;
using namespace conch::test;

class redisson_force : public interop_test {
protected:
    /// Why the hold was lost; throws if it is not, in time.
    static error_code reason_of(std::future<error_code>& lost) {
        if (lost.wait_for(patience) != std::future_status::ready) {
            throw std::runtime_error{"the hold is not lost"};
        }
        return lost.get();
    }
    static std::future<error_code> start_wait_lost(const hold& h) {
        return h.async_wait_lost(asio::use_future([](error_code ec) { return ec; }));
    }
};

TEST_F(redisson_force, java_takes_a_lock_away_from_conch_which_finds_out_at_its_next_renewal) {
    const std::string name = fresh();
    blocking_mutex m = ours_of(name);
    hold h = m.acquire({.lease = 3s});
    std::future<error_code> lost = start_wait_lost(h);
    EXPECT_EQ(java("a", "forceUnlock", name), "true");
    EXPECT_EQ(reason_of(lost), errc::lock_lost);
    EXPECT_FALSE(h.owns_lock());
    EXPECT_THROW(m.unlock(h), system_error);
    EXPECT_EQ(ours.stats().lost_taken, 1u);
}

TEST_F(redisson_force, java_takes_a_lock_away_from_conch_whose_own_waiter_gets_it_at_once) {
    const std::string name = fresh();
    blocking_mutex m = ours_of(name);
    const hold h = m.acquire(unrenewed(long_lease));
    std::future<hold> waiting = m.acquire_future(unrenewed(long_lease));
    ASSERT_TRUE(eventually([&] { return raw.subscribers(channel_of(name)) == 1; }));
    std::future<error_code> lost = start_wait_lost(h);
    const auto began = clock::now();
    EXPECT_EQ(java("a", "forceUnlock", name), "true");
    EXPECT_EQ(reason_of(lost), errc::lock_lost);
    expect_time("from Redisson's forceUnlock() to the loss of conch's hold", clock::now() - began);
    EXPECT_TRUE(granted(waiting));
    expect_time("and to the next", clock::now() - began);
}

TEST_F(redisson_force, java_finds_nothing_to_force_where_conch_has_released) {
    const std::string name = fresh();
    blocking_mutex m = ours_of(name);
    hold h = m.acquire();
    m.unlock(h);
    EXPECT_EQ(java("a", "forceUnlock", name), "false");
}

TEST_F(redisson_force, conch_takes_a_lock_away_from_java_at_any_depth) {
    const std::string name = fresh();
    blocking_mutex m = ours_of(name);
    java("a", "lock", name, long_lease);
    java("a", "lock", name, long_lease);
    EXPECT_TRUE(m.force_unlock());
    EXPECT_EQ(java("a", "isLocked", name), "false");
    EXPECT_EQ(java("a", "isHeldByCurrentThread", name), "false");
    std::future<answer> refused = start_java("a", "unlock", name);
    ASSERT_EQ(refused.wait_for(patience), std::future_status::ready);
    EXPECT_TRUE(refused.get().text.starts_with("IllegalMonitorStateException"));
    EXPECT_FALSE(m.force_unlock());
}

TEST_F(redisson_force, a_forced_release_by_conch_wakes_java) {
    const std::string name = fresh();
    blocking_mutex m = ours_of(name);
    java("a", "lock", name, long_lease);
    std::future<answer> waiting;
    ASSERT_TRUE(parked({name}, [&] { waiting = start_java("b", "lock", name, long_lease); }));
    const auto began = clock::now();
    EXPECT_TRUE(m.force_unlock());
    EXPECT_EQ(value_of(waiting), "locked");
    expect_time("from conch's forced release to the end of Redisson's lock()",
                clock::now() - began);
    EXPECT_EQ(java("b", "isHeldByCurrentThread", name), "true");
    java("b", "unlock", name);
}

TEST_F(redisson_force, a_late_unlock_leaves_the_lock_of_the_next_holder_alone) {
    const std::string name = fresh();
    blocking_mutex m = ours_of(name);
    hold h = m.acquire(unrenewed(long_lease));
    EXPECT_EQ(java("a", "forceUnlock", name), "true");
    java("a", "lock", name, long_lease);
    EXPECT_THROW(m.unlock(h), system_error);
    EXPECT_EQ(java("a", "isHeldByCurrentThread", name), "true");

    EXPECT_TRUE(m.force_unlock());
    hold next = m.acquire(unrenewed(long_lease));
    std::future<answer> refused = start_java("a", "unlock", name);
    EXPECT_EQ(refused.wait_for(patience), std::future_status::ready);
    EXPECT_NO_THROW(m.unlock(next));
}

// A watchdog that went on renewing would keep the next holder's lock alive for ever.
TEST_F(redisson_force, the_watchdog_of_java_does_not_renew_what_conch_has_taken_over) {
    const std::string name = fresh();
    blocking_mutex m = ours_of(name);
    java("a", "lock", name);
    EXPECT_TRUE(m.force_unlock());
    hold h = m.acquire(unrenewed(java_watchdog * 3 / 4));
    h.detach();
    EXPECT_TRUE(eventually([&] { return !raw.exists(name); }));
}

TEST_F(redisson_force, conch_does_not_renew_what_java_has_taken_over) {
    const std::string name = fresh();
    const hold h = ours_of(name).acquire({.lease = 3s});
    EXPECT_EQ(java("a", "forceUnlock", name), "true");
    EXPECT_TRUE(java("a", "tryLock", name, 0s, 2s).starts_with("true"));
    EXPECT_TRUE(eventually([&] { return !raw.exists(name); }));
    EXPECT_EQ(h.lost_reason(), errc::lock_lost);
}

}  // namespace
