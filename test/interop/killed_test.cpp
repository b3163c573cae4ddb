// SPDX-License-Identifier: BSL-1.0
// A conch process that is killed, whatever it held: what it had comes to a thread of Redisson that
// waits for it, when the lease ends, and not before.
#include "interop_test.hpp"
#include "support/program.hpp"

#include <signal.h>

#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

/// What the conch process has, and what Redisson wants.
struct left_behind {
    const char* name;
    std::vector<std::string> options;
    const char* java;     ///< the kind of Redisson's lock
    const char* channel;  ///< what the channel that its thread listens to begins with
};

void PrintTo(const left_behind& what, std::ostream* out) { *out << what.name; }

class redisson_killed : public interop_test, public testing::WithParamInterface<left_behind> {
protected:
    bool permits() const { return std::string{GetParam().java} == "leased"; }
    std::vector<std::string> command() const {
        std::vector<std::string> words{CONCH_PROGRAM_PATH, "run", "--lease", "2"};
        words.insert(words.end(), GetParam().options.begin(), GetParam().options.end());
        for (const char* word : {name.c_str(), "--", "sh", "-c", "echo in; exec cat"}) {
            words.emplace_back(word);
        }
        return words;
    }
    std::future<answer> start_waiting() {
        return permits()
                   ? start_java("waits", "leased", name, std::string{"acquire"}, 1, long_lease)
                   : start_java("waits", "lock", theirs, long_lease);
    }
    /// Since the process' last renewal.
    std::chrono::milliseconds left_of_it() {
        return permits() ? permits_left(name) : lease_left(name);
    }
    bool somebody_listens() {
        return eventually([&] {
            return std::ranges::any_of(raw.channels(), [&](const std::string& each) {
                return each.starts_with(GetParam().channel) &&
                       each.find('{' + name + '}') != each.npos;
            });
        });
    }

    const std::string name = fresh();
    const std::string theirs = std::string{GetParam().java} + ':' + name;
};

INSTANTIATE_TEST_SUITE_P(
    after, redisson_killed,
    testing::Values(left_behind{"a_writer_a_writer", {"--rw"}, "write", "redisson_rwlock:"},
                    left_behind{"a_writer_a_reader", {"--rw"}, "read", "redisson_rwlock:"},
                    left_behind{"a_reader_a_writer", {"--shared"}, "write", "redisson_rwlock:"},
                    left_behind{
                        "a_fair_lock_the_next", {"--fair"}, "fair", "redisson_lock__channel:"},
                    left_behind{"permits_a_taker", {"--at-most", "1"}, "leased", "redisson_sc:"}),
    [](const auto& which) { return std::string{which.param.name}; });

TEST_P(redisson_killed, comes_in_when_the_lease_ends_and_not_before) {
    program holder{command(), {{"CONCH_REDIS", both.server().url()}}};
    holder.wait_for("in\n");
    std::future<answer> waiting = start_waiting();
    ASSERT_TRUE(somebody_listens());
    const std::chrono::milliseconds before = left_of_it();
    ASSERT_TRUE(eventually([&] { return left_of_it() > before; })) << "it is not renewed";
    holder.signal(SIGKILL);
    holder.wait_for_exit();
    const auto killed = clock::now();
    const std::chrono::milliseconds left = left_of_it();
    EXPECT_GT(left, 0ms);
    const std::string got = value_of(waiting);
    expect_time("from the kill of conch to Redisson's hold, of a lease", clock::now() - killed,
                left - 2ms);
    if (permits()) {
        EXPECT_EQ(java("waits", "leased", name, std::string{"counts"}), "0 1 1");
        java("waits", "leased", name, std::string{"release"}, got);
        EXPECT_EQ(java("waits", "leased", name, std::string{"counts"}), "1 0 1");
    } else {
        EXPECT_EQ(got, "locked");
        EXPECT_EQ(java("waits", "holdCount", theirs), "1");
        java("waits", "unlock", theirs);
        EXPECT_FALSE(raw.exists(name));
    }
}

/// A conch process that is killed while it stands in the line of a fair lock: it has its place for
/// three of its polls, of a second each, and who stands behind it comes in when that is over.
class redisson_killed_in_line : public interop_test {
protected:
    static constexpr std::chrono::seconds place{3};

    void in_line(std::int64_t n) {
        const std::string line = "redisson_lock_queue:{" + name + '}';
        ASSERT_TRUE(eventually([&] { return raw.must({"LLEN", line}).number == n; }));
    }
    program waiting_process() const {
        return program{{CONCH_PROGRAM_PATH, "run", "--fair", name, "--", "echo", "in"},
                       {{"CONCH_REDIS", both.server().url()}}};
    }
    /// Kills it where it stands, then gives the lock back.
    template <typename Behind>
    void kill_and_release(program& doomed, hold& h, const Behind& behind) {
        doomed.signal(SIGKILL);
        const auto killed = clock::now();
        const std::string its_connections = ':' + std::to_string(doomed.pid()) + ':';
        ASSERT_TRUE(eventually([&] {
            return raw.must({"CLIENT", "LIST"}).text.find(its_connections) == std::string::npos;
        })) << "the lock would be given to it";
        EXPECT_EQ(behind.wait_for(0s), std::future_status::timeout) << "the lock is held";
        h.async_unlock(asio::use_future).get();
        EXPECT_TRUE(behind.wait_for(place + soon) == std::future_status::ready);
        expect_time("from the kill of a waiter to the hold of the next", clock::now() - killed);
        EXPECT_EQ(doomed.finish().out, "");
    }

    const std::string name = fresh();
    const std::string fair = "fair:" + name;
    const fair_mutex m{ours.async(), name};
    hold held = m.async_lock(unrenewed(long_lease), asio::use_future).get();
};

TEST_F(redisson_killed_in_line, is_passed_by_a_waiter_of_conch_behind_it) {
    program doomed = waiting_process();
    in_line(1);
    std::future<hold> next = m.async_lock(unrenewed(long_lease), asio::use_future);
    in_line(2);
    kill_and_release(doomed, held, next);
    hold h = granted(next);
    EXPECT_TRUE(h);
    h.async_unlock(asio::use_future).get();
    EXPECT_FALSE(raw.exists(name));
    in_line(0);
}

TEST_F(redisson_killed_in_line, is_passed_by_a_waiter_of_java_behind_it) {
    program doomed = waiting_process();
    in_line(1);
    std::future<answer> next = start_java("next", "lock", fair, long_lease);
    in_line(2);
    kill_and_release(doomed, held, next);
    EXPECT_EQ(value_of(next), "locked");
    java("next", "unlock", fair);
    EXPECT_FALSE(raw.exists(name));
    in_line(0);
}

}  // namespace
