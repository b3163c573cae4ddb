// SPDX-License-Identifier: BSL-1.0
// Redisson and conch in one cluster: they exclude and wake each other in every shard, by the
// messages of that shard.
#include "interop_test.hpp"

#include "deployment/cluster_group.hpp"

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
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
