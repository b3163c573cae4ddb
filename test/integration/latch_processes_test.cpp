// SPDX-License-Identifier: BSL-1.0
// One latch for many processes, while connections break: each count-down counts once, and all who
// wait go on.
#include "support/child_process.hpp"
#include "support/proxy.hpp"
#include "support/redis_test.hpp"

#include <conch/blocking.hpp>

#include <atomic>
#include <deque>
#include <string>
#include <thread>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

constexpr int processes = 8;
constexpr int rounds = 30;

/// What the processes have done.
struct latch_tally {
    std::atomic<int> arrived[rounds]{};
    std::atomic<int> early{0};  ///< went on before all had arrived
    std::atomic<int> failures{0};
};

/// The socket that the processes use.
struct latch_socket {
    std::atomic<bool> ready{false};
    char path[108]{};
};

class latch_processes : public redis_test {
protected:
    // Of each round the latch has another name: nobody waits for one that is set again.
    int work() {
        while (!way->ready) {
            std::this_thread::yield();
        }
        config c = settings("worker");
        c.unix_path = way->path;
        c.operation_timeout = 20s;
        c.max_poll_interval = 20s;
        c.ping_interval = 1s;
        blocking_client redis{c};
        try {
            for (int i = 0; i < rounds; ++i) {
                blocking_latch all{redis, "round:" + std::to_string(i)};
                ++book->arrived[i];
                all.count_down();
                all.wait({.wait = 20s});
                book->early += book->arrived[i] == processes ? 0 : 1;
            }
        } catch (const system_error&) {
            ++book->failures;
        }
        return 0;
    }

    void start(std::deque<child_process>& children) {
        for (int i = 0; i < rounds; ++i) {
            raw.must({"SET", "round:" + std::to_string(i), std::to_string(processes)});
        }
        for (int i = 0; i < processes; ++i) {
            children.emplace_back([&](const auto&) { return work(); });
        }
    }

    void use(const std::string& path) {
        path.copy(way->path, sizeof way->path - 1);
        way->ready = true;
    }

    void judge(std::deque<child_process>& children) {
        for (child_process& child : children) {
            EXPECT_EQ(child.join(60s), 0);
        }
        EXPECT_EQ(book->failures, 0);
        EXPECT_EQ(book->early, 0);
        for (int i = 0; i < rounds; ++i) {
            EXPECT_FALSE(raw.exists("round:" + std::to_string(i))) << i;
        }
    }

    shared_value<latch_tally> book;
    shared_value<latch_socket> way;
};

TEST_F(latch_processes, eight_of_them_meet_in_each_round) {
    std::deque<child_process> children;
    start(children);
    use(server.socket_path());
    judge(children);
}

TEST_F(latch_processes, and_while_connections_break_at_any_point) {
    std::deque<child_process> children;
    start(children);  // before the threads of the wire
    proxy wire{server.socket_path()};
    use(wire.socket_path());
    for (int round = 0; round + 1 < rounds; ++round) {
        for (const time_point late = clock::now() + 1s;
             book->arrived[round] < processes / 2 && clock::now() < late;) {
            std::this_thread::yield();
        }
        round % 2 == 0 ? wire.swallow_replies() : wire.swallow_requests();
        const std::size_t passed = wire.passed();
        for (int i = 0; i < 1000 && wire.passed() < passed + 500; ++i) {
            std::this_thread::yield();
        }
        round % 3 == 0 ? wire.reset() : wire.cut();
    }
    judge(children);
}

}  // namespace
