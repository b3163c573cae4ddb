// SPDX-License-Identifier: BSL-1.0
// A fair lock, in whose line waiters of both sides stand. conch polls so rarely, and the leases are
// so long, that only messages bring the line forward.
#include "interop_test.hpp"

#include "wire/script.hpp"

#include <boost/asio/use_future.hpp>

#include <future>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class redisson_fair : public interop_test {
protected:
    /// Returns when so many stand in line.
    void in_line(std::int64_t n) {
        ASSERT_TRUE(eventually([&] { return raw.must({"LLEN", line}).number == n; }));
    }
    std::future<hold> start_ours(const lock_options& o = unrenewed(long_lease)) {
        return m.async_lock(o, asio::use_future);
    }
    std::future<answer> start_theirs(const std::string& thread) {
        return start_java(thread, "lock", fair, long_lease);
    }
    hold ours_now(const lock_options& o = unrenewed(long_lease)) {
        std::future<hold> asked = start_ours(o);
        return granted(asked);
    }
    static void release(hold& h) { h.async_unlock(asio::use_future).get(); }
    template <typename Future>
    static bool waits(Future& f) {
        return f.wait_for(std::chrono::milliseconds{0}) == std::future_status::timeout;
    }

    const std::string name = fresh();
    const std::string fair = "fair:" + name;
    const std::string line = "redisson_lock_queue:{" + name + "}";
    const fair_mutex m{ours.async(), name};
};

TEST_F(redisson_fair, excludes_each_other) {
    hold h = ours_now();
    EXPECT_TRUE(java("a", "tryLock", fair).starts_with("false"));
    release(h);
    EXPECT_TRUE(java("a", "tryLock", fair).starts_with("true"));
    EXPECT_FALSE(m.async_try_lock(asio::use_future).get());
    java("a", "unlock", fair);
    h = m.async_try_lock(asio::use_future).get();
    EXPECT_TRUE(h);
    release(h);
}

TEST_F(redisson_fair, waiters_of_both_are_served_in_their_order) {
    hold h = ours_now();
    std::future<answer> first = start_theirs("first");
    in_line(1);
    std::future<hold> second = start_ours();
    in_line(2);
    std::future<hold> third = start_ours();
    in_line(3);
    std::future<answer> fourth = start_theirs("fourth");
    in_line(4);
    std::future<answer> fifth = start_theirs("fifth");
    in_line(5);
    release(h);
    EXPECT_EQ(value_of(first), "locked");
    EXPECT_TRUE(waits(second));
    java("first", "unlock", fair);
    h = granted(second);
    EXPECT_TRUE(waits(third));
    release(h);
    h = granted(third);
    EXPECT_TRUE(waits(fourth));
    EXPECT_TRUE(waits(fifth));
    release(h);
    EXPECT_EQ(value_of(fourth), "locked");
    EXPECT_TRUE(waits(fifth));
    java("fourth", "unlock", fair);
    EXPECT_EQ(value_of(fifth), "locked");
    java("fifth", "unlock", fair);
    EXPECT_TRUE(eventually([&] { return !raw.exists(line) && !raw.exists(name); }));
}

TEST_F(redisson_fair, a_waiter_of_java_that_died_is_passed_when_redisson_says_so) {
    auto doomed = both.another_java(java_watchdog);
    hold h = ours_now(unrenewed(3s));
    std::future<answer> dead = doomed->start("dead", "tryLock", fair, 2000);
    in_line(1);
    std::future<hold> next = start_ours({.wait = 60s});
    in_line(2);
    doomed->crash();
    raw.reset_calls();
    release(h);
    hold mine = granted(next);
    EXPECT_TRUE(mine);
    EXPECT_LE(raw.calls("evalsha") + raw.calls("eval"), 5u)
        << "the release, and a try at each time that is known: of the lease, and of the place";
    release(mine);
}

TEST_F(redisson_fair, a_waiter_of_conch_that_died_is_passed_when_its_place_is_over) {
    hold h = ours_now();
    // As a client does that then dies: a place of four seconds.
    raw.must({"EVAL", std::string{wire::get_script(wire::script_id::fair_acquire).body}, "4", name,
              line, "redisson_lock_timeout:{" + name + "}", "conch_fair_lease:{" + name + "}",
              owner_of_redisson, "30000", "0", "4000", "1"});
    in_line(1);
    // It tries again once it listens; then it waits for the whole lease of our hold.
    raw.reset_calls();
    std::future<answer> next = start_theirs("next");
    ASSERT_TRUE(eventually([&] { return raw.calls("evalsha") + raw.calls("eval") >= 2; }));
    release(h);
    EXPECT_EQ(value_of(next), "locked");
    java("next", "unlock", fair);
}

TEST_F(redisson_fair, the_lock_of_a_crashed_jvm_goes_to_the_first_in_line) {
    auto doomed = both.another_java(2s);
    doomed->start("holds", "lock", fair).get();
    std::future<hold> next = start_ours({.wait = 60s});
    in_line(1);
    std::future<answer> last = start_theirs("last");
    in_line(2);
    doomed->crash();
    const auto crashed = clock::now();
    const std::chrono::milliseconds left = lease_left(name);
    hold mine = granted(next);
    expect_comes_back(crashed, left);
    EXPECT_TRUE(mine);
    EXPECT_TRUE(waits(last));
    release(mine);
    EXPECT_EQ(value_of(last), "locked");
    java("last", "unlock", fair);
}

TEST_F(redisson_fair, the_lock_of_a_conch_process_that_died_goes_to_java) {
    // As a client does that then dies.
    raw.must({"EVAL", std::string{wire::get_script(wire::script_id::fair_acquire).body}, "4", name,
              line, "redisson_lock_timeout:{" + name + "}", "conch_fair_lease:{" + name + "}",
              owner_of_redisson, "1500", "0", "0", "1"});
    std::future<answer> next = start_theirs("next");
    in_line(1);
    const auto began = clock::now();
    const std::chrono::milliseconds left = lease_left(name);
    EXPECT_GT(left, 0ms);
    EXPECT_EQ(value_of(next), "locked");
    expect_time("until Redisson takes what conch has left, of a lease", clock::now() - began,
                left - 2ms);
    java("next", "unlock", fair);
}

TEST_F(redisson_fair, the_watchdogs_of_both_keep_it_past_three_leases) {
    const std::string other = fresh("other");
    const fair_mutex of_java{ours.async(), other};
    const std::chrono::milliseconds past_three = java_watchdog * 7 / 2;
    hold h = ours_now({.lease = java_watchdog});
    java("holds", "lock", "fair:" + other);
    std::future<answer> tried = start_java("tries", "tryLock", fair, past_three, long_lease);
    hold none = of_java.async_try_lock({.wait = past_three}, asio::use_future).get();
    EXPECT_FALSE(none);
    EXPECT_TRUE(value_of(tried).starts_with("false"));
    EXPECT_TRUE(h.owns_lock());
    EXPECT_EQ(java("holds", "isHeldByCurrentThread", "fair:" + other), "true");
    java("holds", "unlock", "fair:" + other);
    release(h);
}

TEST_F(redisson_fair, each_side_sees_who_has_it) {
    EXPECT_EQ(java("a", "isLocked", fair), "false");
    hold h = ours_now();
    EXPECT_EQ(java("a", "isLocked", fair), "true");
    EXPECT_EQ(java("a", "isHeldByCurrentThread", fair), "false");
    release(h);
    java("a", "lock", fair, long_lease);
    java("a", "lock", fair, long_lease);
    const lock_status s = m.async_status(asio::use_future).get();
    EXPECT_TRUE(s.locked);
    EXPECT_EQ(s.depth, 2U);
    EXPECT_EQ(java("a", "holdCount", fair), "2");
    java("a", "unlock", fair);
    java("a", "unlock", fair);
    EXPECT_EQ(java("a", "isLocked", fair), "false");
}

TEST_F(redisson_fair, a_waiter_of_java_that_gives_up_lets_those_behind_it_have_their_turns) {
    constexpr std::chrono::milliseconds wait = 2s;
    hold h = ours_now();
    std::future<answer> gives_up = start_java("gives-up", "tryLock", fair, wait, long_lease);
    in_line(1);
    std::future<hold> next = start_ours();
    in_line(2);
    std::future<answer> last = start_theirs("last");
    in_line(3);
    EXPECT_TRUE(value_of(gives_up).starts_with("false"));
    in_line(2);
    EXPECT_TRUE(waits(next));
    release(h);
    h = granted(next);
    EXPECT_TRUE(waits(last));
    release(h);
    EXPECT_EQ(value_of(last), "locked");
    java("last", "unlock", fair);
}

TEST_F(redisson_fair, a_waiter_of_conch_that_gives_up_lets_java_have_its_turn) {
    hold h = ours_now();
    std::future<hold> gives_up = m.async_lock({.wait = 300ms}, asio::use_future);
    in_line(1);
    std::future<answer> next = start_theirs("next");
    EXPECT_THROW(static_cast<void>(granted(gives_up)), system_error);
    in_line(1);
    release(h);
    EXPECT_EQ(value_of(next), "locked");
    java("next", "unlock", fair);
}

}  // namespace
