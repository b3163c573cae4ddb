// SPDX-License-Identifier: BSL-1.0
// Two processes that wait for each other: one is told, in words that name both, and the other goes
// on.
#include "support/child_process.hpp"
#include "support/redis_test.hpp"

#include <conch/blocking.hpp>

#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>

namespace {

using namespace conch;
using namespace conch::test;

/// The lock that a process takes first, its service, and what it tells.
struct party {
    const char* name;
    const char* service;
    std::atomic<bool> may_wait{false};
    std::atomic<pid_t> pid{0};
    std::atomic<std::uint64_t> deadlocks{0};
    char words[1024]{};  ///< `last_deadlock()`
};

struct two_parties {
    party first{.name = "a", .service = "orders"};
    party second{.name = "b", .service = "bills"};
};

class deadlock_processes : public redis_test {
protected:
    /// Reports 'h' when it holds its own lock; then 'g' or 'd': it was granted the other's as well,
    /// or told of a deadlock. It lets go of its own lock then.
    void work(party& mine, const party& other, const child_process::report& tell) {
        config c = settings();
        c.deadlock_detection = true;
        c.service = mine.service;
        blocking_client redis{c};
        blocking_mutex own{redis, mine.name};
        blocking_mutex wanted{redis, other.name};
        const owner job;
        hold held = own.acquire({.owner = &job});
        mine.pid = ::getpid();
        tell('h');
        while (!mine.may_wait) {
            std::this_thread::yield();
        }
        try {
            const hold also = wanted.acquire({.owner = &job});
            tell('g');
        } catch (const system_error& e) {
            redis.last_deadlock().copy(mine.words, sizeof mine.words - 1);
            tell(e.code() == errc::deadlock ? 'd' : 'x');
        }
        mine.deadlocks = redis.stats().deadlocks;
        own.unlock(held);
    }
    child_process start(party& mine, const party& other) {
        return child_process{[&](const child_process::report& tell) {
            work(mine, other, tell);
            return 0;
        }};
    }
    bool somebody_tells_of_a_wait() {
        return run_until(io, [&] { return raw.must({"KEYS", "conch_wait:*"}).items.size() == 1; });
    }
    bool nothing_is_left() {
        return run_until(io, [&] { return raw.dbsize() == 0; });
    }
    static std::string process(const party& p) {
        std::array<char, 256> host{};
        ::gethostname(host.data(), host.size() - 1);
        return "conch:" + std::string{p.service} + ':' + host.data() + ':' + std::to_string(p.pid) +
               ':';
    }
    /// "a" is held by FIRST:..., which waits for "b", held by SECOND:..., which waits for "a".
    static void expect_cycle(const std::string& words, const party& holder, const party& told) {
        const auto quoted_name = [](const party& p) { return '"' + std::string{p.name} + '"'; };
        const std::string head = quoted_name(holder) + " is held by " + process(holder);
        EXPECT_TRUE(words.starts_with(head)) << words << "\nnot: " << head;
        const std::string middle =
            ", which waits for " + quoted_name(told) + ", held by " + process(told);
        EXPECT_NE(words.find(middle), words.npos) << words << "\nnot: " << middle;
        EXPECT_TRUE(words.ends_with(", which waits for " + quoted_name(holder))) << words;
    }

    shared_value<two_parties> both{};
};

TEST_F(deadlock_processes, the_one_that_closes_the_cycle_is_told_and_the_other_goes_on) {
    child_process older = start(both->first, both->second);
    child_process younger = start(both->second, both->first);
    ASSERT_TRUE(older.reported('h'));
    ASSERT_TRUE(younger.reported('h'));
    both->first.may_wait = true;
    ASSERT_TRUE(somebody_tells_of_a_wait());
    both->second.may_wait = true;
    EXPECT_TRUE(younger.reported('d'));
    EXPECT_TRUE(older.reported('g'));
    EXPECT_EQ(younger.join(), 0);
    EXPECT_EQ(older.join(), 0);
    EXPECT_EQ(both->second.deadlocks, 1u);
    EXPECT_EQ(both->first.deadlocks, 0u);
    expect_cycle(both->second.words, both->first, both->second);
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(deadlock_processes, one_of_two_that_begin_to_wait_at_once_is_told) {
    child_process first = start(both->first, both->second);
    child_process second = start(both->second, both->first);
    ASSERT_TRUE(first.reported('h'));
    ASSERT_TRUE(second.reported('h'));
    both->first.may_wait = true;
    both->second.may_wait = true;
    EXPECT_EQ(first.join(), 0);
    EXPECT_EQ(second.join(), 0);
    EXPECT_EQ(both->first.deadlocks + both->second.deadlocks, 1u);
    const bool first_is_told = both->first.deadlocks == 1;
    const party& told = first_is_told ? both->first : both->second;
    const party& other = first_is_told ? both->second : both->first;
    expect_cycle(told.words, other, told);
    EXPECT_EQ(std::string{other.words}, "");
    EXPECT_TRUE(nothing_is_left());
}

}  // namespace
