// SPDX-License-Identifier: BSL-1.0
// What Redisson has more kinds of than conch: each keeps the keys of one that conch has.
#include "interop_test.hpp"
#include "support/program.hpp"
#include "support/thrown.hpp"

#include <boost/asio/use_future.hpp>

#include <signal.h>

#include <algorithm>
#include <future>
#include <map>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

class redisson_kinds : public interop_test {
protected:
    bool theirs_is_free(const std::string& lock) {
        if (!java("try", "tryLock", lock).starts_with("true")) {
            return false;
        }
        java("try", "unlock", lock);
        return true;
    }
    static bool is_free(const mutex& m) {
        hold h = m.async_try_lock(asio::use_future).get();
        const bool was = h.owns_lock();
        if (was) {
            h.async_unlock(asio::use_future).get();
        }
        return was;
    }
    static error_code refusal(const mutex& m) {
        return thrown([&] {
            const hold h = m.async_lock({.wait = 5s}, asio::use_future).get();
            EXPECT_FALSE(h);
        });
    }
    void expect_exclusion(const mutex& m, const std::string& theirs) {
        SCOPED_TRACE(theirs);
        hold h = m.async_lock(asio::use_future).get();
        EXPECT_FALSE(theirs_is_free(theirs));
        h.async_unlock(asio::use_future).get();
        EXPECT_TRUE(theirs_is_free(theirs));
        java("a", "lock", theirs);
        EXPECT_FALSE(is_free(m));
        java("a", "unlock", theirs);
        EXPECT_TRUE(is_free(m));
    }

    const std::string name = fresh();
    const mutex m{ours.async(), name};
};

TEST_F(redisson_kinds, spin_and_non_reentrant_locks_are_the_same_lock) {
    expect_exclusion(m, "spin:" + name);
    expect_exclusion(m, "nonReentrant:" + name);
    const fair_mutex fair{ours.async(), name};
    expect_exclusion(fair, "nonReentrantFair:" + name);
    // A holder keeps a hash, of whatever kind its lock is.
    expect_exclusion(m, "fair:" + name);
    expect_exclusion(fair, "nonReentrant:" + name);
}

TEST_F(redisson_kinds, a_spin_lock_finds_the_release_of_conch) {
    hold h = m.async_lock(asio::use_future).get();
    raw.reset_calls();
    std::future<answer> waits = start_java("a", "lock", "spin:" + name);
    ASSERT_TRUE(eventually([&] { return raw.calls("evalsha") + raw.calls("eval") > 0; }));
    h.async_unlock(asio::use_future).get();
    EXPECT_EQ(value_of(waits), "locked");
    java("a", "unlock", "spin:" + name);
}

TEST_F(redisson_kinds, conch_finds_the_release_of_a_spin_lock_at_its_poll) {
    config c = settings_for(both.server().socket_path());
    c.max_poll_interval = 300ms;
    const blocking_client polling{c};
    java("a", "lock", "spin:" + name, long_lease);
    blocking_mutex waits{polling, name};
    std::future<hold> asked = waits.acquire_future();
    ASSERT_TRUE(eventually([&] { return raw.subscribers(channel_of(name)) == 1; }));
    java("a", "unlock", "spin:" + name);
    EXPECT_TRUE(granted(asked));
}

// The page for those who come from Redisson warns of this.
TEST_F(redisson_kinds, a_read_write_lock_of_java_on_the_name_of_a_mutex_excludes_nobody) {
    for (const bool reads : {true, false}) {
        SCOPED_TRACE(reads ? "read" : "write");
        const std::string theirs = (reads ? "read:" : "write:") + name;
        hold h = m.async_lock(unrenewed(long_lease), asio::use_future).get();
        EXPECT_TRUE(java("a", "tryLock", theirs, 0, long_lease).starts_with("true"));
        EXPECT_EQ(raw.hlen(name), 3) << "conch's field, Java's, and its mode";
        java("a", "unlock", theirs);
        EXPECT_EQ(raw.exists(name), !reads) << "that of the read lock deletes conch's";
        const error_code ec = thrown([&] { h.async_unlock(asio::use_future).get(); });
        EXPECT_EQ(ec, reads ? make_error_code(errc::lock_lost) : error_code{}) << ec.message();
        if (!reads) {
            EXPECT_EQ(raw.hgetall(name), (std::map<std::string, std::string>{{"mode", "read"}}));
            EXPECT_EQ(refusal(m), errc::wrong_type) << "until that ends";
            EXPECT_GT(raw.pttl(name), 0);
        }
    }
}

TEST_F(redisson_kinds, a_mutex_on_the_name_of_a_read_write_lock_of_java_is_an_error) {
    for (const char* const side : {"read:", "write:"}) {
        SCOPED_TRACE(side);
        java("a", "lock", side + name, long_lease);
        const auto before = raw.hgetall(name);
        for (const mutex& each : {m, mutex{fair_mutex{ours.async(), name}}}) {
            const error_code ec = refusal(each);
            EXPECT_EQ(ec, errc::wrong_type) << ec.message();
        }
        EXPECT_EQ(raw.hgetall(name), before);
        EXPECT_EQ(java("a", "isHeldByCurrentThread", side + name), "true");
        java("a", "unlock", side + name);
        EXPECT_TRUE(is_free(m));
    }
}

TEST_F(redisson_kinds, a_read_write_lock_of_conch_on_the_name_of_a_mutex_of_java_is_an_error) {
    const shared_mutex rw{ours.async(), name};
    java("a", "lock", name, long_lease);
    const auto before = raw.hgetall(name);
    for (const mutex& each : {rw.reader(), rw.writer()}) {
        const error_code ec = refusal(each);
        EXPECT_EQ(ec, errc::wrong_type) << ec.message();
    }
    EXPECT_EQ(raw.hgetall(name), before);
    java("a", "unlock", name);
    EXPECT_FALSE(raw.exists(name));
}

// What Redisson does with its own locks of two kinds, it does with those of conch.
TEST_F(redisson_kinds, a_lock_of_java_on_the_name_of_a_read_write_lock_is_kept_out) {
    const shared_mutex rw{ours.async(), name};
    for (const mutex& each : {rw.reader(), rw.writer()}) {
        hold h = each.async_lock(unrenewed(long_lease), asio::use_future).get();
        EXPECT_FALSE(theirs_is_free(name));
        EXPECT_FALSE(theirs_is_free("fair:" + name));
        EXPECT_TRUE(h.owns_lock());
        h.async_unlock(asio::use_future).get();
        EXPECT_FALSE(raw.exists(name));
    }
}

class redisson_several : public redisson_kinds {
protected:
    const std::string second = fresh("second");
    const mutex m2{ours.async(), second};
    const multi_lock several{m, m2};
    /// In another order than ours.
    const std::string theirs = "multi:" + second + '+' + name;
};

TEST_F(redisson_several, exclude_each_other_and_whoever_has_one_of_them) {
    expect_exclusion(several, theirs);
    expect_exclusion(several, name);
    expect_exclusion(several, second);
    expect_exclusion(m, theirs);
    expect_exclusion(m2, theirs);
    EXPECT_FALSE(raw.exists(name) || raw.exists(second));
}

TEST_F(redisson_several, may_be_of_several_kinds) {
    const fair_mutex fair{ours.async(), fresh("fair")};
    const shared_mutex shared{ours.async(), fresh("shared")};
    const multi_lock mixed{m, fair, shared.writer()};
    const std::string their_fair = "fair:" + std::string{fair.name()};
    const std::string their_shared{shared.name()};
    expect_exclusion(mixed, "multi:write:" + their_shared + '+' + their_fair + '+' + name);
    expect_exclusion(mixed, their_fair);
    expect_exclusion(mixed, "write:" + their_shared);
    expect_exclusion(mixed, "read:" + their_shared);
    EXPECT_FALSE(raw.exists(name) || raw.exists(std::string{fair.name()}) ||
                 raw.exists(their_shared));
}

TEST_F(redisson_several, each_side_wakes_the_other) {
    java("a", "lock", theirs, long_lease);
    std::future<hold> ours_waits;
    ours_waits = several.async_lock(unrenewed(long_lease), asio::use_future);
    // It stands in line at the one that it found busy first.
    ASSERT_TRUE(eventually([&] {
        return raw.subscribers(channel_of(name)) + raw.subscribers(channel_of(second)) == 1;
    }));
    java("a", "unlock", theirs);
    hold h = granted(ours_waits);
    std::future<answer> theirs_waits = start_java("a", "lock", theirs, long_lease);
    ASSERT_TRUE(eventually([&] { return raw.subscribers(channel_of(second)) == 1; }));
    h.async_unlock(asio::use_future).get();
    EXPECT_EQ(value_of(theirs_waits), "locked");
    java("a", "unlock", theirs);
}

TEST_F(redisson_several, the_watchdogs_of_both_keep_them_past_three_leases) {
    const mutex of_java{ours.async(), fresh("of-java")};
    const mutex of_java_too{ours.async(), fresh("of-java-too")};
    const multi_lock java_has{of_java, of_java_too};
    const std::string has =
        "multi:" + std::string{of_java_too.name()} + '+' + std::string{of_java.name()};
    const std::chrono::milliseconds past_three = java_watchdog * 7 / 2;
    hold h = several.async_lock({.lease = java_watchdog}, asio::use_future).get();
    java("has", "lock", has);
    std::future<answer> tried = start_java("tries", "tryLock", theirs, past_three, long_lease);
    hold none = java_has.async_try_lock({.wait = past_three}, asio::use_future).get();
    EXPECT_FALSE(none);
    EXPECT_TRUE(value_of(tried).starts_with("false"));
    EXPECT_TRUE(h.owns_lock());
    EXPECT_EQ(java("has", "isHeldByCurrentThread", std::string{of_java.name()}), "true");
    java("has", "unlock", has);
    EXPECT_TRUE(is_free(java_has));
    h.async_unlock(asio::use_future).get();
    EXPECT_TRUE(theirs_is_free(theirs));
}

TEST_F(redisson_several, of_a_conch_process_that_was_killed_come_back_to_java) {
    program holder{{CONCH_PROGRAM_PATH, "run", "--lease", "2", "-l", second, name, "--", "sh", "-c",
                    "echo in; exec cat"},
                   {{"CONCH_REDIS", both.server().url()}}};
    holder.wait_for("in\n");
    EXPECT_FALSE(theirs_is_free(second));
    std::future<answer> waits = start_java("a", "lock", theirs, long_lease);
    ASSERT_TRUE(eventually([&] { return raw.subscribers(channel_of(second)) == 1; }));
    holder.signal(SIGKILL);
    holder.wait_for_exit();
    const auto killed = clock::now();
    const std::chrono::milliseconds left = std::max(lease_left(name), lease_left(second));
    EXPECT_GT(left, 0ms);
    EXPECT_EQ(value_of(waits), "locked");
    expect_time("from the kill of conch to Redisson's hold, of a lease", clock::now() - killed,
                left - 2ms);
    EXPECT_FALSE(is_free(several));
    java("a", "unlock", theirs);
}

TEST_F(redisson_several, of_a_jvm_that_crashed_come_back) {
    auto doomed = both.another_java(java_watchdog);
    doomed->start("a", "lock", theirs).get();
    std::future<hold> waits = several.async_lock({.wait = 60s}, asio::use_future);
    // In line at the one that it found busy first.
    ASSERT_TRUE(eventually([&] {
        return raw.subscribers(channel_of(name)) + raw.subscribers(channel_of(second)) == 1;
    }));
    doomed->crash();
    const auto crashed = clock::now();
    const std::chrono::milliseconds left = std::max(lease_left(name), lease_left(second));
    const hold h = granted(waits);
    expect_comes_back(crashed, left);
    EXPECT_TRUE(h);
}

}  // namespace
