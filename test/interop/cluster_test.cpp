// SPDX-License-Identifier: BSL-1.0
// Redisson and conch in one cluster: they exclude and wake each other in every shard, by the
// messages of that shard.
#include "interop_test.hpp"

#include "deployment/cluster_group.hpp"

#include <boost/asio/use_future.hpp>

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

/// The cluster and its JVM, for all tests of this file.
struct cluster_sides {
    cluster_group group{};
    std::unique_ptr<redisson> java{both_sides::java_at(urls(), java_watchdog)};

    std::string urls() {
        std::string out;
        for (std::size_t i = 0; i < group.size(); ++i) {
            out += (i == 0 ? "redis://127.0.0.1:" : ",redis://127.0.0.1:") +
                   std::to_string(group.node(i).port());
        }
        return out;
    }
};

class redisson_cluster : public testing::Test {
protected:
    static void SetUpTestSuite() { both = std::make_unique<cluster_sides>(); }
    static void TearDownTestSuite() { both.reset(); }

    static config push_only() {
        config c = both->group.settings();
        c.max_poll_interval = rare_poll;
        return c;
    }

    /// A lock in each shard, of this test alone.
    static std::vector<std::string> names() {
        const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
        std::vector<std::string> out;
        for (std::size_t i = 0; i < cluster_group::master_count; ++i) {
            out.push_back(both->group.name_in(i, test + '/'));
        }
        return out;
    }

    template <typename... Words>
    static std::future<answer> start_java(const std::string& thread, const Words&... words) {
        return both->java->start(thread, words...);
    }
    template <typename... Words>
    static std::string java(const std::string& thread, const Words&... words) {
        std::future<answer> asked = start_java(thread, words...);
        return value_of(asked);
    }
    static std::string value_of(std::future<answer>& asked) {
        if (asked.wait_for(patience) != std::future_status::ready) {
            throw std::runtime_error{"Redisson does not answer"};
        }
        answer a = asked.get();
        return a.ok ? a.text : throw std::runtime_error{"Redisson threw " + a.text};
    }
    static hold granted(std::future<hold>& asked) {
        if (asked.wait_for(patience) != std::future_status::ready) {
            throw std::runtime_error{"conch is not granted the lock"};
        }
        return asked.get();
    }

    /// Runs `start`, and waits until its waiter has tried, listens to the messages of the shard,
    /// and has tried again: a message is what wakes it.
    template <typename Start>
    void park(const std::string& name, Start start) {
        raw_client raw = both->group.raw_at(name);
        raw.reset_calls();
        start();
        asio::io_context io;
        const bool parked = run_until(io, [&] {
            const reply listeners = raw.must({"PUBSUB", "SHARDNUMSUB", channel_of(name)});
            return listeners.items.at(1).number == 1 && raw.calls("evalsha") >= 2;
        });
        EXPECT_TRUE(parked) << name;
    }

    /// So many listen to the messages of this channel, which the shard of that name has.
    static bool listeners(const std::string& name, const std::string& channel, int n) {
        raw_client raw = both->group.raw_at(name);
        asio::io_context io;
        return run_until(io, [&] {
            return raw.must({"PUBSUB", "SHARDNUMSUB", channel}).items.at(1).number == n;
        });
    }
    /// Who waits for it is woken by the message of `change`, and nobody else listens. What a thread
    /// of Java answers then.
    template <typename Start, typename Change>
    static std::string expect_wake(const std::string& name, const std::string& channel, Start start,
                                   Change change) {
        EXPECT_TRUE(listeners(name, channel, 0)) << channel;
        auto waiting = start();
        EXPECT_TRUE(listeners(name, channel, 1)) << channel;
        change();
        if (waiting.wait_for(soon) != std::future_status::ready) {
            throw std::runtime_error{"nobody is woken by " + channel};
        }
        if constexpr (std::is_same_v<decltype(waiting), std::future<answer>>) {
            return value_of(waiting);
        } else {
            static_cast<void>(waiting.get());
            return {};
        }
    }

    static std::unique_ptr<cluster_sides> both;

    /// Polls so rarely that it is woken by messages, or not at all.
    blocking_client ours{push_only()};
};

std::unique_ptr<cluster_sides> redisson_cluster::both;

TEST_F(redisson_cluster, each_finds_a_lock_of_the_other_busy_in_every_shard) {
    for (const std::string& name : names()) {
        SCOPED_TRACE(name);
        blocking_mutex m{ours, name};
        hold h = m.acquire(unrenewed(long_lease));
        EXPECT_TRUE(java("a", "tryLock", name).starts_with("false"));
        m.unlock(h);
        java("a", "lock", name, long_lease);
        EXPECT_FALSE(m.try_acquire());
        java("a", "unlock", name);
        EXPECT_TRUE(m.try_acquire());
    }
}

TEST_F(redisson_cluster, releases_by_java_wake_conch_by_messages_of_the_shard) {
    for (const std::string& name : names()) {
        SCOPED_TRACE(name);
        blocking_mutex m{ours, name};
        java("a", "lock", name, long_lease);
        std::future<hold> waiting;
        park(name, [&] { waiting = m.acquire_future(unrenewed(long_lease)); });
        const auto released = clock::now();
        java("a", "unlock", name);
        hold h = granted(waiting);
        expect_time("from Redisson's unlock() to conch's hold", clock::now() - released);
        m.unlock(h);
    }
    EXPECT_EQ(ours.stats().wakes_by_message, 3u);
    EXPECT_EQ(ours.stats().wakes_by_poll, 0u);
}

TEST_F(redisson_cluster, releases_by_conch_wake_java_by_messages_of_the_shard) {
    for (const std::string& name : names()) {
        SCOPED_TRACE(name);
        blocking_mutex m{ours, name};
        hold h = m.acquire(unrenewed(long_lease));
        std::future<answer> waiting;
        park(name, [&] { waiting = start_java("a", "lock", name, long_lease); });
        const auto released = clock::now();
        m.unlock(h);
        EXPECT_EQ(value_of(waiting), "locked");
        expect_time("from conch's unlock to the end of Redisson's lock()", clock::now() - released);
        java("a", "unlock", name);
    }
}

TEST_F(redisson_cluster, fencing_tokens_grow_across_both_sides_in_every_shard) {
    for (const std::string& name : names()) {
        SCOPED_TRACE(name);
        blocking_mutex m{ours, name, {.fenced = true}};
        std::uint64_t last = 0;
        for (int round = 0; round < 3; ++round) {
            const std::uint64_t theirs = std::stoull(java("a", "lockAndGetToken", name));
            EXPECT_GT(theirs, last);
            EXPECT_FALSE(m.try_acquire());
            java("a", "unlockFenced", name);
            hold h = m.acquire();
            EXPECT_GT(h.fence(), theirs);
            last = h.fence();
            m.unlock(h);
        }
    }
}

// None of Redisson's threads waits while the slot moves: it would not listen again.
TEST_F(redisson_cluster, a_lock_whose_slot_moves_excludes_and_wakes_as_before) {
    const std::string name = names().front();
    const unsigned slot = slot_of(name);
    blocking_mutex m{ours, name};
    hold h = m.acquire(unrenewed(long_lease));
    both->group.migrate(slot, 1);
    EXPECT_TRUE(java("b", "tryLock", name).starts_with("false"));
    m.unlock(h);
    EXPECT_EQ(java("a", "lock", name, long_lease), "locked");
    std::future<hold> ours_waits;
    park(name, [&] { ours_waits = m.acquire_future(unrenewed(long_lease)); });
    both->group.migrate(slot, 0);
    java("a", "unlock", name);
    EXPECT_TRUE(granted(ours_waits));
    EXPECT_EQ(ours.stats().wakes_by_poll, 0u);
}

TEST_F(redisson_cluster, each_opens_a_latch_for_the_other_in_every_shard) {
    for (const std::string& name : names()) {
        SCOPED_TRACE(name);
        const latch l{ours.async(), name};
        const std::string channel = "redisson_countdownlatch__channel__{" + name + '}';
        EXPECT_EQ(java("a", "trySetCount", name, 1), "true");
        expect_wake(
            name, channel, [&] { return l.async_wait(asio::use_future); },
            [&] { java("a", "countDown", name); });
        EXPECT_TRUE(l.async_try_set_count(1, asio::use_future).get());
        expect_wake(
            name, channel, [&] { return start_java("b", "await", name); },
            [&] { l.async_count_down(asio::use_future).get(); });
    }
}

TEST_F(redisson_cluster, each_gives_permits_to_the_other_in_every_shard) {
    for (const std::string& name : names()) {
        SCOPED_TRACE(name);
        const counting_semaphore s{ours.async(), name};
        const std::string channel = "redisson_sc:{" + name + '}';
        expect_wake(
            name, channel, [&] { return s.async_acquire(2, asio::use_future); },
            [&] { java("a", "releasePermits", name, 2); });
        expect_wake(
            name, channel, [&] { return start_java("b", "acquirePermits", name, 2); },
            [&] { s.async_release(2, asio::use_future).get(); });
        EXPECT_EQ(s.async_available(asio::use_future).get(), 0);
    }
}

TEST_F(redisson_cluster, each_gives_back_leased_permits_that_the_other_takes_in_every_shard) {
    const std::string acquire = "acquire";
    const std::string release = "release";
    for (const std::string& name : names()) {
        SCOPED_TRACE(name);
        const semaphore s{ours.async(), name};
        const std::string channel = "redisson_sc:{" + name + '}';
        s.async_set_permits(2, asio::use_future).get();
        hold h = s.async_acquire(2, unrenewed(long_lease), asio::use_future).get();
        const std::string ids = expect_wake(
            name, channel, [&] { return start_java("b", "leased", name, acquire, 2, long_lease); },
            [&] { h.async_unlock(asio::use_future).get(); });
        EXPECT_FALSE(s.async_try_acquire(asio::use_future).get());
        expect_wake(
            name, channel, [&] { return s.async_acquire(2, asio::use_future); },
            [&] { java("b", "leased", name, release, ids); });
    }
}

TEST_F(redisson_cluster, each_is_told_that_a_read_write_lock_is_free_in_every_shard) {
    for (const std::string& name : names()) {
        SCOPED_TRACE(name);
        const shared_mutex m{ours.async(), name};
        const std::string channel = "redisson_rwlock:{" + name + '}';
        java("a", "lock", "read:" + name, long_lease);
        hold beside = m.async_lock_shared(unrenewed(long_lease), asio::use_future).get();
        beside.async_unlock(asio::use_future).get();
        expect_wake(
            name, channel, [&] { return m.async_lock(asio::use_future); },
            [&] { java("a", "unlock", "read:" + name); });
        const auto write = [&] {
            return m.async_lock(unrenewed(long_lease), asio::use_future).get();
        };
        hold h = write();
        EXPECT_TRUE(listeners(name, channel, 0)) << channel;
        std::future<answer> reads = start_java("b", "lock", "read:" + name, long_lease);
        EXPECT_TRUE(listeners(name, channel, 1)) << channel;
        h.async_unlock(asio::use_future).get();
        // Redisson's READ_UNLOCK wakes those that sleep already: who is about to misses it.
        if (reads.wait_for(std::chrono::seconds{2}) != std::future_status::ready) {
            h = write();
            h.async_unlock(asio::use_future).get();
        }
        EXPECT_EQ(value_of(reads), "locked");
        java("b", "unlock", "read:" + name);
    }
}

TEST_F(redisson_cluster, both_stand_in_the_line_of_a_fair_lock_in_every_shard) {
    for (const std::string& name : names()) {
        SCOPED_TRACE(name);
        const fair_mutex m{ours.async(), name};
        raw_client raw = both->group.raw_at(name);
        asio::io_context io;
        const auto in_line = [&](int n) {
            return run_until(io, [&] {
                return raw.must({"LLEN", "redisson_lock_queue:{" + name + '}'}).number == n;
            });
        };
        hold h = m.async_lock(unrenewed(long_lease), asio::use_future).get();
        std::future<answer> first = start_java("a", "lock", "fair:" + name, long_lease);
        ASSERT_TRUE(in_line(1));
        std::future<hold> second = m.async_lock(unrenewed(long_lease), asio::use_future);
        ASSERT_TRUE(in_line(2));
        std::future<answer> third = start_java("b", "lock", "fair:" + name, long_lease);
        ASSERT_TRUE(in_line(3));
        h.async_unlock(asio::use_future).get();
        EXPECT_EQ(value_of(first), "locked");
        java("a", "unlock", "fair:" + name);
        h = granted(second);
        h.async_unlock(asio::use_future).get();
        EXPECT_EQ(value_of(third), "locked");
        java("b", "unlock", "fair:" + name);
    }
    EXPECT_EQ(ours.stats().wakes_by_poll, 0u);
}

TEST_F(redisson_cluster, each_takes_the_locks_of_all_shards_at_once_or_none) {
    std::vector<mutex> all;
    std::string theirs;
    for (const std::string& name : names()) {
        all.emplace_back(ours.async(), name);
        theirs = (theirs.empty() ? "multi:" : theirs + '+') + name;
    }
    const multi_lock several{
        std::vector<std::reference_wrapper<const mutex>>{all.begin(), all.end()}};
    const auto take_all = [&] {
        std::future<hold> asked = several.async_lock(asio::use_future);
        return granted(asked);
    };
    const auto expect_kept_out = [&](const std::string& lock) {
        java("a", "lock", lock, long_lease);
        EXPECT_FALSE(several.async_try_lock({}, asio::use_future).get()) << lock;
        java("a", "unlock", lock);
        take_all().async_unlock(asio::use_future).get();  // that was the only reason
    };

    expect_kept_out(theirs);
    hold h = take_all();
    EXPECT_TRUE(java("a", "tryLock", theirs).starts_with("false"));
    for (const mutex& one : all) {
        EXPECT_TRUE(java("a", "tryLock", std::string{one.name()}).starts_with("false"));
    }
    h.async_unlock(asio::use_future).get();
    for (const mutex& one : all) {
        expect_kept_out(std::string{one.name()});
    }
    EXPECT_TRUE(java("a", "tryLock", theirs).starts_with("true"));
    java("a", "unlock", theirs);
}

TEST_F(redisson_cluster, threads_of_both_sides_on_one_counter_lose_no_update) {
    constexpr int workers = 3;
    constexpr int times = 30;
    const std::string name = names().back();
    const std::string counter = "counter{" + name + '}';
    std::vector<std::future<answer>> theirs;
    for (int i = 0; i < workers; ++i) {
        theirs.push_back(start_java(std::to_string(i), "increment", name, counter, times));
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < workers; ++i) {
        threads.emplace_back([&] {
            raw_client raw = both->group.raw_at(counter);
            blocking_mutex m{ours, name};
            for (int n = 0; n < times; ++n) {
                hold h = m.acquire();
                const auto seen = std::stoll(raw.get(counter).value_or("0"));
                raw.must({"SET", counter, std::to_string(seen + 1)});
                m.unlock(h);
            }
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    for (std::future<answer>& one : theirs) {
        EXPECT_EQ(value_of(one), "done");
    }
    EXPECT_EQ(both->group.raw_at(counter).get(counter), std::to_string(2 * workers * times));
}

}  // namespace
