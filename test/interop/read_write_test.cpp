// SPDX-License-Identifier: BSL-1.0
// A read-write lock that both sides share.
#include "interop_test.hpp"

#include <boost/asio/use_future.hpp>

#include <future>
#include <string>
#include <utility>

namespace {

using namespace conch;
using namespace conch::test;

class redisson_read_write : public interop_test {
protected:
    hold acquired(const mutex& side) {
        return side.async_lock({.lease = long_lease}, asio::use_future).get();
    }
    hold tried(const mutex& side) { return side.async_try_lock({}, asio::use_future).get(); }
    void release(hold& h) { h.async_unlock(asio::use_future).get(); }
    bool java_gets(const std::string& lock) {
        return java("a", "tryLock", lock).starts_with("true");
    }

    bool somebody_listens() {
        return eventually([&] { return raw.subscribers("redisson_rwlock:{" + name + "}") == 1; });
    }
    bool nobody_listens() {
        return eventually([&] { return raw.subscribers("redisson_rwlock:{" + name + "}") == 0; });
    }

    const std::string name = fresh();
    const std::string read = "read:" + name;
    const std::string write = "write:" + name;
    const shared_mutex m{ours.async(), name};
};

TEST_F(redisson_read_write, readers_of_both_hold_it_together) {
    java("a", "lock", read);
    hold h = tried(m.reader());
    EXPECT_TRUE(h);
    EXPECT_FALSE(tried(m.writer()));
    java("a", "unlock", read);
    EXPECT_FALSE(java_gets(write));
    EXPECT_TRUE(java_gets(read));
    java("a", "unlock", read);
    release(h);
    EXPECT_TRUE(java_gets(write));
    java("a", "unlock", write);
}

TEST_F(redisson_read_write, a_writer_of_one_excludes_all_of_the_other) {
    hold h = acquired(m.writer());
    EXPECT_FALSE(java_gets(read));
    EXPECT_FALSE(java_gets(write));
    release(h);
    java("a", "lock", write);
    EXPECT_FALSE(tried(m.reader()));
    EXPECT_FALSE(tried(m.writer()));
    java("a", "unlock", write);
    EXPECT_TRUE(tried(m.writer()));
}

TEST_F(redisson_read_write, each_wakes_whoever_it_has_kept_out) {
    for (const bool holder_writes : {false, true}) {
        for (const bool waiter_writes : {false, true}) {
            if (!holder_writes && !waiter_writes) {
                continue;
            }
            SCOPED_TRACE(std::string{holder_writes ? "a writer" : "a reader"} + " and " +
                         (waiter_writes ? "a writer" : "a reader"));
            hold h = acquired(holder_writes ? m.writer() : m.reader());
            const std::string theirs = waiter_writes ? write : read;
            ASSERT_TRUE(nobody_listens()) << "no more";
            std::future<answer> they_wait = start_java("b", "lock", theirs, long_lease);
            ASSERT_TRUE(somebody_listens());
            release(h);
            // Redisson's READ_UNLOCK wakes those that sleep already: who is about to misses it.
            if (they_wait.wait_for(2s) != std::future_status::ready) {
                h = acquired(holder_writes ? m.writer() : m.reader());
                release(h);
            }
            EXPECT_EQ(value_of(they_wait), "locked");
            java("b", "unlock", theirs);

            const std::string their_hold = holder_writes ? write : read;
            java("a", "lock", their_hold, long_lease);
            const mutex& side = waiter_writes ? m.writer() : m.reader();
            ASSERT_TRUE(nobody_listens()) << "no more";
            std::future<hold> we_wait = side.async_lock({.lease = long_lease}, asio::use_future);
            ASSERT_TRUE(somebody_listens());
            java("a", "unlock", their_hold);
            h = granted(we_wait);
            release(h);
        }
    }
}

TEST_F(redisson_read_write, a_writer_that_waits_keeps_new_readers_of_conch_out_but_none_of_java) {
    blocking_client another{settings_for(both.server().socket_path())};
    const shared_mutex elsewhere{another.async(), name};
    java("a", "lock", read, long_lease);
    std::future<hold> writes = m.writer().async_lock({.lease = long_lease}, asio::use_future);
    ASSERT_TRUE(somebody_listens());
    EXPECT_FALSE(tried(m.reader()));
    EXPECT_FALSE(tried(elsewhere.reader()));
    EXPECT_TRUE(java("b", "tryLock", read).starts_with("true"));
    java("a", "unlock", read);
    EXPECT_EQ(writes.wait_for(100ms), std::future_status::timeout) << "b reads";
    java("b", "unlock", read);
    hold h = granted(writes);
    release(h);
    EXPECT_TRUE(tried(elsewhere.reader()));
}

TEST_F(redisson_read_write,
       a_writer_that_becomes_a_reader_wakes_those_of_java_and_keeps_writers_out) {
    hold h;
    std::future<answer> reads;
    const auto woken = [&] { return reads.wait_for(2s) == std::future_status::ready; };
    for (int times = 1;; ++times) {
        h = acquired(m.writer());
        reads = start_java("b", "lock", read, long_lease);
        ASSERT_TRUE(somebody_listens());
        h.async_downgrade(asio::use_future).get();
        if (woken()) {
            break;
        }
        // Redisson's READ_UNLOCK wakes those that sleep already: who is about to misses it.
        ASSERT_LT(times, 5) << "never by the message: the lease is longer than the test";
        release(h);
        EXPECT_EQ(value_of(reads), "locked");
        java("b", "unlock", read);
    }
    EXPECT_EQ(value_of(reads), "locked");
    EXPECT_EQ(java("b", "holdCount", read), "1");
    EXPECT_FALSE(java_gets(write));
    EXPECT_EQ(java("a", "isLocked", write), "false");
    EXPECT_EQ(java("a", "isLocked", read), "true");
    java("b", "unlock", read);
    EXPECT_TRUE(h.owns_lock());
    EXPECT_FALSE(java_gets(write)) << "it still reads";
    std::future<answer> writes = start_java("b", "lock", write, long_lease);
    ASSERT_TRUE(somebody_listens());
    release(h);
    EXPECT_EQ(value_of(writes), "locked");
    java("b", "unlock", write);
    EXPECT_FALSE(raw.exists(name));
}

TEST_F(redisson_read_write, a_reader_of_java_outlives_a_writer_that_became_one) {
    hold h = acquired(m.writer());
    h.async_downgrade(asio::use_future).get();
    EXPECT_TRUE(java_gets(read));
    release(h);
    EXPECT_FALSE(tried(m.writer()));
    java("a", "unlock", read);
    EXPECT_TRUE(tried(m.writer()));
}

TEST_F(redisson_read_write, what_a_crashed_jvm_held_comes_back) {
    const std::pair<std::string, mutex> all[] = {
        {read, m.writer()}, {write, m.writer()}, {write, m.reader()}};
    for (const auto& [held, wanted] : all) {
        SCOPED_TRACE(held);
        auto doomed = both.another_java(2s);
        doomed->start("holds", "lock", held).get();
        std::future<hold> waits = wanted.async_lock({.wait = 60s}, asio::use_future);
        ASSERT_TRUE(somebody_listens());
        doomed->crash();
        const auto crashed = clock::now();
        const std::chrono::milliseconds left = lease_left(name);
        hold h = granted(waits);
        expect_comes_back(crashed, left);
        EXPECT_TRUE(h);
        release(h);
        ASSERT_TRUE(nobody_listens());
    }
}

TEST_F(redisson_read_write, the_watchdogs_of_readers_keep_writers_out_past_three_leases) {
    const std::chrono::milliseconds past_three = java_watchdog * 7 / 2;
    java("reads", "lock", read);
    hold h = m.async_lock_shared({.lease = java_watchdog}, asio::use_future).get();
    std::future<answer> tried = start_java("writes", "tryLock", write, past_three, long_lease);
    hold none = m.async_try_lock({.wait = past_three}, asio::use_future).get();
    EXPECT_FALSE(none);
    EXPECT_TRUE(value_of(tried).starts_with("false"));
    EXPECT_TRUE(h.owns_lock());
    EXPECT_EQ(java("reads", "isHeldByCurrentThread", read), "true");
    release(h);
    java("reads", "unlock", read);
    EXPECT_TRUE(java_gets(write));
    java("a", "unlock", write);
}

TEST_F(redisson_read_write, the_watchdog_of_a_writer_keeps_readers_of_conch_out_past_three_leases) {
    const std::chrono::milliseconds past_three = java_watchdog * 7 / 2;
    blocking_client others{ours_settings()};
    const shared_mutex of_others{others.async(), name};
    java("writes", "lock", write);
    std::future<hold> reads = m.async_lock_shared(unrenewed(long_lease), asio::use_future);
    std::future<hold> reads_too =
        of_others.async_lock_shared(unrenewed(long_lease), asio::use_future);
    hold none = m.async_try_lock_shared({.wait = past_three}, asio::use_future).get();
    EXPECT_FALSE(none);
    EXPECT_EQ(java("writes", "isHeldByCurrentThread", write), "true");
    for (std::future<hold>* each : {&reads, &reads_too}) {
        EXPECT_EQ(each->wait_for(0s), std::future_status::timeout) << "it came to a writer";
    }
    const auto released = clock::now();
    java("writes", "unlock", write);
    hold h = granted(reads);
    hold too = granted(reads_too);
    expect_time("from Redisson's unlock() to readers of conch", clock::now() - released);
    EXPECT_TRUE(h.owns_lock() && too.owns_lock()) << "they read together";
    EXPECT_FALSE(java_gets(write));
    EXPECT_TRUE(java_gets(read));
    java("a", "unlock", read);
    release(h);
    EXPECT_FALSE(java_gets(write));
    release(too);
    EXPECT_TRUE(java_gets(write));
    java("a", "unlock", write);
}

TEST_F(redisson_read_write, the_watchdog_of_a_writer_keeps_both_of_java_out_past_three_leases) {
    const std::chrono::milliseconds past_three = java_watchdog * 7 / 2;
    hold h = m.async_lock({.lease = java_watchdog}, asio::use_future).get();
    std::future<answer> writes = start_java("writes", "tryLock", write, past_three, long_lease);
    std::future<answer> reads = start_java("reads", "tryLock", read, past_three, long_lease);
    EXPECT_TRUE(value_of(writes).starts_with("false"));
    EXPECT_TRUE(value_of(reads).starts_with("false"));
    EXPECT_TRUE(h.owns_lock());
    EXPECT_GE(ours.stats().renewals, 3u) << "its lease was longer than the waits";
    release(h);
    EXPECT_TRUE(java_gets(read));
    java("a", "unlock", read);
    EXPECT_TRUE(java_gets(write));
    java("a", "unlock", write);
}

TEST_F(redisson_read_write, each_side_sees_who_has_it) {
    hold h = acquired(m.writer());
    EXPECT_EQ(java("a", "isLocked", write), "true");
    EXPECT_EQ(java("a", "isHeldByCurrentThread", write), "false");
    release(h);
    EXPECT_EQ(java("a", "isLocked", write), "false");
    java("a", "lock", read, long_lease);
    const lock_status s = m.async_status(asio::use_future).get();
    EXPECT_TRUE(s.locked);
    EXPECT_EQ(java("a", "holdCount", read), "1");
    java("a", "unlock", read);
    EXPECT_FALSE(raw.exists(name));
}

TEST_F(redisson_read_write, a_reader_of_java_that_goes_leaves_those_of_conch_their_time) {
    hold h = acquired(m.reader());
    java("a", "lock", read, std::chrono::milliseconds{500});
    java("a", "unlock", read);
    EXPECT_TRUE(h.owns_lock());
    EXPECT_FALSE(java_gets(write));
    release(h);
}

TEST_F(redisson_read_write, a_reader_of_conch_that_goes_leaves_those_of_java_their_time) {
    hold h = acquired(m.reader());
    java("a", "lock", read);
    release(h);
    EXPECT_FALSE(tried(m.writer()));
    java("a", "unlock", read);
    EXPECT_TRUE(tried(m.writer()));
}

}  // namespace
