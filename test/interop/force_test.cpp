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

/// What else than a mutex each side may take away.
class redisson_force_kinds : public redisson_force {
protected:
    template <typename Lock>
    static bool forced(const Lock& m) {
        return m.async_force_unlock(asio::use_future).get();
    }
    bool listeners(const std::string& channel) {
        return eventually([&] { return raw.subscribers(channel) == 1; });
    }
    /// Who is first in line listens, and has asked since.
    bool heads_the_line() {
        std::string field;
        return eventually([&] {
                   field = raw.must({"LINDEX", "redisson_lock_queue:{" + name + '}', "0"}).text;
                   return !field.empty();
               }) &&
               listeners(channel_of(name) + ':' + field) &&
               eventually([&] { return raw.calls("evalsha") + raw.calls("eval") >= 2; });
    }
    void expect_refused(const std::string& thread, const std::string& lock) {
        std::future<answer> refused = start_java(thread, "unlock", lock);
        ASSERT_EQ(refused.wait_for(patience), std::future_status::ready);
        EXPECT_TRUE(refused.get().text.starts_with("IllegalMonitorStateException"));
    }

    const std::string name = fresh();
    const std::string fair = "fair:" + name;
    const std::string read = "read:" + name;
    const std::string write = "write:" + name;
    const std::string rw_channel = "redisson_rwlock:{" + name + '}';
    const fair_mutex m{ours.async(), name};
    const shared_mutex rw{ours.async(), name};
};

TEST_F(redisson_force_kinds, conch_takes_a_fair_lock_away_and_java_that_is_first_in_line_has_it) {
    java("a", "lock", fair, long_lease);
    EXPECT_TRUE(java("b", "tryLock", fair, 1).starts_with("false"));
    raw.reset_calls();
    std::future<answer> waiting = start_java("b", "lock", fair, long_lease);
    ASSERT_TRUE(heads_the_line());
    const auto began = clock::now();
    EXPECT_TRUE(forced(m));
    EXPECT_EQ(value_of(waiting), "locked");
    expect_time("from conch's forced release to Redisson's fair lock", clock::now() - began);
    EXPECT_EQ(java("b", "isHeldByCurrentThread", fair), "true");
    expect_refused("a", fair);
    EXPECT_EQ(java("b", "isHeldByCurrentThread", fair), "true");
    java("b", "unlock", fair);
    EXPECT_FALSE(forced(m));
    EXPECT_FALSE(raw.exists(name));
}

TEST_F(redisson_force_kinds, java_takes_a_fair_lock_away_and_conch_that_is_first_in_line_has_it) {
    const hold h = m.async_lock(unrenewed(long_lease), asio::use_future).get();
    raw.reset_calls();
    std::future<hold> waiting = m.async_lock(unrenewed(long_lease), asio::use_future);
    ASSERT_TRUE(heads_the_line());
    std::future<error_code> lost = start_wait_lost(h);
    const auto began = clock::now();
    EXPECT_EQ(java("a", "forceUnlock", fair), "true");
    hold next = granted(waiting);
    expect_time("from Redisson's forceUnlock() to conch's fair lock", clock::now() - began);
    EXPECT_EQ(reason_of(lost), errc::lock_lost);
    EXPECT_TRUE(next.owns_lock());
    EXPECT_EQ(raw.hlen(name), 1);
    next.async_unlock(asio::use_future).get();
    EXPECT_EQ(java("a", "forceUnlock", fair), "false");
}

TEST_F(redisson_force_kinds, java_takes_a_writer_or_a_reader_of_conch_away) {
    for (const bool writes : {true, false}) {
        SCOPED_TRACE(writes ? "a writer" : "a reader");
        const mutex& side = writes ? rw.writer() : rw.reader();
        const hold h = side.async_lock(unrenewed(long_lease), asio::use_future).get();
        std::future<hold> waiting = rw.async_lock(unrenewed(long_lease), asio::use_future);
        ASSERT_TRUE(listeners(rw_channel));
        std::future<error_code> lost = start_wait_lost(h);
        EXPECT_EQ(java("a", "forceUnlock", writes ? read : write), "false") << "of the other side";
        EXPECT_TRUE(h.owns_lock());
        EXPECT_EQ(waiting.wait_for(0s), std::future_status::timeout);
        const auto began = clock::now();
        EXPECT_EQ(java("a", "forceUnlock", writes ? write : read), "true");
        hold next = granted(waiting);
        expect_time("from Redisson's forceUnlock() to a writer of conch", clock::now() - began);
        EXPECT_EQ(reason_of(lost), errc::lock_lost);
        next.async_unlock(asio::use_future).get();
        EXPECT_FALSE(raw.exists(name));
    }
}

TEST_F(redisson_force_kinds, conch_takes_readers_of_both_away_and_a_writer_of_java_has_it) {
    java("a", "lock", read, long_lease);
    const hold h = rw.async_lock_shared({.lease = 3s}, asio::use_future).get();
    EXPECT_TRUE(java("b", "tryLock", write).starts_with("false"));
    std::future<answer> waiting;
    ASSERT_TRUE(
        java_parked(rw_channel, [&] { waiting = start_java("b", "lock", write, long_lease); }));
    std::future<error_code> lost = start_wait_lost(h);
    const auto began = clock::now();
    EXPECT_TRUE(forced(rw));
    EXPECT_EQ(value_of(waiting), "locked");
    expect_time("from conch's forced release to a writer of Redisson", clock::now() - began);
    EXPECT_EQ(reason_of(lost), errc::lock_lost);
    EXPECT_EQ(java("a", "isHeldByCurrentThread", read), "false");
    expect_refused("a", read);
    EXPECT_EQ(java("b", "isHeldByCurrentThread", write), "true");
    java("b", "unlock", write);
    EXPECT_FALSE(raw.exists(name));
}

TEST_F(redisson_force_kinds, conch_takes_a_writer_of_java_away_and_a_reader_of_java_has_it) {
    java("a", "lock", write, long_lease);
    EXPECT_TRUE(java("b", "tryLock", read).starts_with("false"));
    std::future<answer> waiting;
    ASSERT_TRUE(
        java_parked(rw_channel, [&] { waiting = start_java("b", "lock", read, long_lease); }));
    EXPECT_TRUE(forced(rw));
    // Redisson's READ_UNLOCK wakes those that sleep already: who is about to misses it.
    if (waiting.wait_for(2s) != std::future_status::ready) {
        rw.async_lock(asio::use_future).get().async_unlock(asio::use_future).get();
    }
    EXPECT_EQ(value_of(waiting), "locked");
    EXPECT_EQ(java("a", "isHeldByCurrentThread", write), "false");
    expect_refused("a", write);
    EXPECT_EQ(java("b", "holdCount", read), "1");
    java("b", "unlock", read);
    EXPECT_FALSE(raw.exists(name));
}

// Redisson has no forced release of them.
TEST_F(redisson_force_kinds, conch_takes_permits_of_java_away_and_java_that_waits_has_them) {
    const semaphore s{ours.async(), name};
    const auto theirs = [&](const char* call, const auto&... words) {
        return java("a", "leased", name, std::string{call}, words...);
    };
    EXPECT_EQ(theirs("trySetPermits", 2), "true");
    const std::string ids = theirs("acquire", 2, std::chrono::milliseconds{long_lease});
    EXPECT_EQ(theirs("tryAcquire", 1), "");
    std::future<answer> waiting;
    ASSERT_TRUE(java_parked("redisson_sc:{" + name + '}', [&] {
        waiting = start_java("b", "leased", name, std::string{"acquire"}, 1);
    }));
    const auto began = clock::now();
    EXPECT_TRUE(forced(s.permits(1)));
    EXPECT_EQ(value_of(waiting).size(), 32U);
    expect_time("from conch's forced release to Redisson's permit", clock::now() - began);
    EXPECT_EQ(theirs("counts"), "1 1 2");
    std::future<answer> refused = start_java("a", "leased", name, std::string{"release"}, ids);
    ASSERT_EQ(refused.wait_for(patience), std::future_status::ready);
    EXPECT_FALSE(refused.get().ok);
    EXPECT_EQ(theirs("counts"), "1 1 2");
}

}  // namespace
