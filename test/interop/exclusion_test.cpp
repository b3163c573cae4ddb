// SPDX-License-Identifier: BSL-1.0
// One holder at a time, whichever side it is on.
#include "interop_test.hpp"

#include <boost/asio/post.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

using redisson_exclusion = interop_test;

bool is_true(const std::string& answered) { return answered.starts_with("true"); }

TEST_F(redisson_exclusion, java_finds_a_lock_of_conch_busy_until_it_is_released) {
    const std::string name = fresh();
    blocking_mutex m = ours_of(name);
    hold h = m.acquire();
    EXPECT_FALSE(is_true(java("a", "tryLock", name)));
    m.unlock(h);
    EXPECT_TRUE(is_true(java("a", "tryLock", name)));
    java("a", "unlock", name);
}

TEST_F(redisson_exclusion, conch_finds_a_lock_of_java_busy_until_it_is_released) {
    const std::string name = fresh();
    blocking_mutex m = ours_of(name);
    java("a", "lock", name);
    EXPECT_FALSE(m.try_acquire());
    java("a", "unlock", name);
    EXPECT_TRUE(m.try_acquire());
}

TEST_F(redisson_exclusion, a_fenced_lock_of_one_excludes_the_plain_and_fenced_of_the_other) {
    for (const bool fenced : {false, true}) {
        const std::string name = fresh(fenced ? "fenced" : "plain");
        blocking_mutex m = ours_of(name, {.fenced = fenced});
        java("a", "lockAndGetToken", name);
        EXPECT_FALSE(m.try_acquire());
        java("a", "unlockFenced", name);
        hold h = m.try_acquire();
        EXPECT_TRUE(h);
        EXPECT_FALSE(is_true(java("a", "tryLock", name)));
        std::future<answer> waiting;
        EXPECT_TRUE(parked({name}, [&] { waiting = start_java("a", "lockAndGetToken", name); }));
        m.unlock(h);
        value_of(waiting);
        java("a", "unlockFenced", name);
    }
}

// The server routes by hash tags and the channel is named after the lock: both sides have to read
// braces alike.
TEST_F(redisson_exclusion, both_know_a_lock_by_any_name) {
    for (const char* odd : {"with{tag}", "{tag}with", "open{", "shut}", "a}b{c}d", "{}empty",
                            "{a}{b}", "zwölf-äpfel-鍵", "a:b/c*d?e[f]", "\"quoted\\'"}) {
        const std::string name = fresh(odd);
        SCOPED_TRACE(name);
        blocking_mutex m = ours_of(name);
        std::future<hold> ours_waits;
        std::future<answer> theirs_waits;
        java("a", "lock", name, long_lease);
        ASSERT_TRUE(parked({name}, [&] { ours_waits = m.acquire_future(unrenewed(long_lease)); }));
        java("a", "unlock", name);
        hold h = granted(ours_waits);
        ASSERT_TRUE(
            parked({name}, [&] { theirs_waits = start_java("a", "lock", name, long_lease); }));
        m.unlock(h);
        value_of(theirs_waits);
        java("a", "unlock", name);
        EXPECT_FALSE(raw.exists(name));
    }
}

/// Adds to a number on the server by a read and a write, as the driver's "increment" does.
struct server_counter {
    raw_client& raw;
    std::string key;

    std::int64_t value() { return std::stoll(raw.get(key).value_or("0")); }
    asio::awaitable<void> increment() {
        const std::int64_t seen = value();
        for (int i = 0; i < 4; ++i) {
            co_await asio::post(co_await asio::this_coro::executor, asio::deferred);
        }
        raw.must({"SET", key, std::to_string(seen + 1)});
    }
};

asio::awaitable<void> increment_often(server_counter& n, const mutex* m, int times) {
    for (int i = 0; i < times; ++i) {
        hold h;
        if (m != nullptr) {
            h = co_await m->async_lock();
        }
        co_await n.increment();
        if (m != nullptr) {
            co_await h.async_unlock();
        }
    }
}

class redisson_counter : public interop_test {
protected:
    enum class under { no_lock, one, several };
    static constexpr int workers = 4;

    /// What the counter is after all of both sides have added to it, each so often. With a lock,
    /// they begin when both sides wait for it: else one could be done before the other has come.
    std::int64_t count(under what, int times) {
        const std::string name = fresh();
        const std::string other = fresh("other");
        const std::string theirs = what == under::no_lock ? "-"
                                   : what == under::one   ? name
                                                          : "multi:" + other + '+' + name;
        server_counter n{raw, fresh("counter")};
        client c{io, settings_for(both.server().socket_path())};
        const mutex m{c, name};
        const multi_lock m_and_other{m, mutex{c, other}};
        const mutex* const mine = what == under::no_lock ? nullptr
                                  : what == under::one   ? &m
                                                         : &m_and_other;
        hold gate = mine ? ours_of(name).acquire() : hold{};
        std::vector<std::future<answer>> added;
        for (int i = 0; i < workers; ++i) {
            added.push_back(start_java(std::to_string(i), "increment", theirs, n.key, times));
        }
        const auto all = [&]() -> asio::awaitable<void> {
            task_group group{io.get_executor()};
            for (int i = 0; i < workers; ++i) {
                group.spawn(increment_often(n, mine, times));
            }
            const bool both_wait =
                co_await when([&] { return !mine || raw.subscribers(channel_of(name)) == 2; });
            EXPECT_TRUE(both_wait);
            gate.release();
            co_await group.join();
        };
        const auto began = clock::now();
        run_test(io, all(), 3 * patience);
        for (std::future<answer>& one : added) {
            EXPECT_EQ(value_of(one), "done");
        }
        expect_time(std::to_string(2 * workers * times) + " increments, lock: " + theirs,
                    clock::now() - began);
        return n.value();
    }
};

TEST_F(redisson_counter, without_a_lock_threads_and_coroutines_lose_updates) {
    EXPECT_LT(count(under::no_lock, 50), 2 * workers * 50);
}

TEST_F(redisson_counter, threads_and_coroutines_on_one_counter_lose_no_update) {
    EXPECT_EQ(count(under::one, 50), 2 * workers * 50);
}

// Each side names them in another order.
TEST_F(redisson_counter, under_several_locks_at_once_none_is_lost) {
    EXPECT_EQ(count(under::several, 10), 2 * workers * 10);
}

}  // namespace
