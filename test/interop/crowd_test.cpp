// SPDX-License-Identifier: BSL-1.0
// Several JVMs and several processes of conch, all at once at one lock, semaphore or latch. What
// each visitor does there: worker/visitors.cpp.
#include "interop_test.hpp"
#include "support/program.hpp"

#include <boost/asio/use_future.hpp>

#include <deque>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class redisson_crowd : public interop_test {
protected:
    static constexpr int jvms = 2;
    static constexpr int threads = 2;  ///< of each JVM
    static constexpr int processes = 3;
    static constexpr int coroutines = 2;  ///< of each process
    static constexpr int visitors = jvms * threads + processes * coroutines;
    static constexpr int times = 20;

    /// All visit, in turn as one of these kinds; none meets whom it should not. `begun`: is called
    /// as soon as they may.
    void visit(
        const std::vector<std::string>& kinds, const std::string& of, int limit = 1,
        const std::function<void()>& begun = [] {}) {
        const std::string gate = data + "/gate";
        raw.must({"SET", gate, "1"});
        const auto other = both.another_java(java_watchdog);
        std::vector<std::future<answer>> theirs;
        for (redisson* jvm : {&both.java(), other.get()}) {
            for (std::size_t i = 0; i < threads; ++i) {
                theirs.push_back(jvm->start(fresh(std::to_string(i)), std::string{"visit"},
                                            kinds[i % kinds.size()], of, data, limit, times));
            }
        }
        std::deque<program> mine;
        for (std::size_t i = 0; i < processes; ++i) {
            mine.emplace_back(std::vector<std::string>{
                INTEROP_VISITORS_PATH, both.server().socket_path(), kinds[i % kinds.size()], of,
                data, std::to_string(limit), std::to_string(coroutines), std::to_string(times)});
        }
        const std::string channel = "redisson_countdownlatch__channel__{" + gate + '}';
        ASSERT_TRUE(eventually([&] { return raw.subscribers(channel) == jvms + processes; }));
        const auto began = clock::now();
        blocking_latch{ours, gate}.count_down();
        begun();
        for (program& process : mine) {
            const ended& end = process.finish(patience);
            EXPECT_EQ(end.out, "0\n") << end.err;
        }
        for (std::future<answer>& thread : theirs) {
            EXPECT_EQ(value_of(thread), "0");
        }
        expect_time(std::to_string(visitors * times) + " visits: " + kinds.front(),
                    clock::now() - began);
    }

    /// How often the next visitor was of the other side.
    int turns() {
        const reply order = raw.must({"LRANGE", data + "/visitors", "0", "-1"});
        EXPECT_EQ(order.items.size(), static_cast<std::size_t>(visitors * times));
        int n = 0;
        for (std::size_t i = 1; i < order.items.size(); ++i) {
            n += order.items[i].text != order.items[i - 1].text ? 1 : 0;
        }
        std::cout << "[ measured ] turns: " << n << std::endl;
        return n;
    }

    const std::string name = fresh();
    const std::string line = "redisson_lock_queue:{" + name + '}';
    const std::string data = fresh("data");
};

TEST_F(redisson_crowd, at_a_fair_lock_is_let_in_one_by_one_and_by_turns) {
    const fair_mutex m{ours.async(), name};
    hold h = m.async_lock(unrenewed(long_lease), asio::use_future).get();
    visit({"fair"}, name, 1, [&] {
        EXPECT_TRUE(eventually([&] { return raw.must({"LLEN", line}).number == visitors; }));
        h.release();
    });
    EXPECT_EQ(raw.get(data), std::to_string(2 * visitors * times));
    EXPECT_GT(turns(), times);
    EXPECT_FALSE(raw.exists(name) || raw.exists(line));
}

TEST_F(redisson_crowd, at_several_locks_has_all_or_none) {
    visit({"multi"}, name + '+' + fresh("other"));
    EXPECT_EQ(raw.get(data), std::to_string(2 * visitors * times));
    EXPECT_FALSE(raw.exists(name) || raw.exists(fresh("other")));
}

TEST_F(redisson_crowd, of_readers_and_writers_reads_nothing_half_written) {
    visit({"write", "read"}, name);
    // Of three processes two write, of two threads one.
    EXPECT_EQ(raw.get(data), std::to_string(2 * times * (jvms + 2 * coroutines)));
    EXPECT_FALSE(raw.exists(name));
}

TEST_F(redisson_crowd, never_has_more_permits_than_there_are) {
    raw.must({"SET", name, "3"});
    visit({"permits"}, name, 3);
    EXPECT_EQ(raw.get(name), "3");
}

TEST_F(redisson_crowd, never_has_more_leased_permits_than_there_are) {
    raw.must({"SET", name, "3"});
    visit({"leased"}, name, 3);
    EXPECT_EQ(raw.get(name), "3");
    EXPECT_FALSE(raw.exists('{' + name + "}:timeout"));
}

TEST_F(redisson_crowd, at_one_latch_after_the_other_waits_for_all) {
    for (int round = 0; round < times; ++round) {
        raw.must({"SET", name + '/' + std::to_string(round), std::to_string(visitors)});
    }
    visit({"latch"}, name, visitors);
    EXPECT_EQ(raw.get(data), std::to_string(visitors * times));
    EXPECT_FALSE(raw.exists(name + '/' + std::to_string(times - 1)));
}

}  // namespace
