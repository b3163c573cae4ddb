// SPDX-License-Identifier: BSL-1.0
// Virtual time, clocks that drift, and runs that their seeds determine.
#include "sim/simulation.hpp"
#include "sim/unit/lone_client.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <set>
#include <vector>

namespace {

using namespace conch;
using namespace conch::sim;
using conch::sim::test::lone_client;
using namespace std::chrono_literals;

struct diary {
    void write(std::uint64_t what, std::uint64_t) { lines.push_back(what); }
    std::vector<std::uint64_t> lines{};
};

TEST(world_test, events_happen_in_time_and_in_the_order_of_their_planning) {
    world w{1};
    diary d;
    w.plan<&diary::write>(20, &d, 3);
    w.plan<&diary::write>(10, &d, 1);
    w.plan<&diary::write>(10, &d, 2);
    EXPECT_FALSE(w.step(5));
    EXPECT_EQ(w.now(), 5);
    while (w.step(100)) {
    }
    EXPECT_EQ(d.lines, (std::vector<std::uint64_t>{1, 2, 3}));
    EXPECT_EQ(w.now(), 100);
    w.plan<&diary::write>(50, &d, 4);
    EXPECT_TRUE(w.step(100)) << "what is late happens now";
    EXPECT_EQ(w.now(), 100);
}

std::uint64_t hash_of(std::initializer_list<std::uint64_t> notes, instant at = 0) {
    world w{1};
    w.step(at);
    for (const std::uint64_t n : notes) {
        w.note("line", n);
    }
    return w.trace_hash();
}

TEST(world_test, the_trace_hash_tells_what_happened_in_which_order_and_when) {
    EXPECT_EQ(hash_of({1, 2}), hash_of({1, 2}));
    EXPECT_NE(hash_of({1, 2}), hash_of({2, 1}));
    EXPECT_NE(hash_of({1, 2}), hash_of({1}));
    EXPECT_NE(hash_of({1, 2}), hash_of({1, 2}, 1));
    world a{1};
    world b{1};
    a.note("line", 0, 1);
    b.note("lane", 0, 1);
    EXPECT_NE(a.trace_hash(), b.trace_hash());
}

TEST(world_test, a_seed_gives_the_same_run_each_time_and_no_other_seed_does) {
    std::set<std::uint64_t> hashes;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const outcome once = simulation{seed}.run();
        const outcome again = simulation{seed}.run();
        EXPECT_EQ(once.trace_hash, again.trace_hash) << seed;
        EXPECT_EQ(once.events, again.events) << seed;
        EXPECT_GT(once.grants, 0u) << seed;
        hashes.insert(once.trace_hash);
    }
    EXPECT_EQ(hashes.size(), 20u);
}

TEST(client_clock_test, drifts_against_true_time) {
    EXPECT_EQ(lone_client{0}.node.local(100 * seconds), time_point{1h + 100s});
    EXPECT_EQ(lone_client{10'000}.node.local(100 * seconds), time_point{1h + 101s});
    EXPECT_EQ(lone_client{-10'000}.node.local(100 * seconds), time_point{1h + 99s});
}

TEST(client_clock_test, true_time_is_the_first_moment_that_shows_a_time) {
    for (const std::int64_t ppm : {-10'000, -7, 0, 3, 9'999}) {
        const lone_client c{ppm};
        for (const duration shown :
             {0ns, 1ns, 999'999ns, duration{1s}, duration{12'345'678'901ns}, duration{400s}}) {
            const time_point t{1h + shown};
            const instant at = c.node.true_time(t);
            EXPECT_GE(c.node.local(at), t) << ppm << " ppm, " << shown.count();
            if (at > 0) {
                EXPECT_LT(c.node.local(at - 1), t) << ppm << " ppm, " << shown.count();
            }
        }
    }
}

TEST(client_clock_test, a_pause_is_counted_but_not_lived_through) {
    lone_client c{0};
    c.node.pause(5 * seconds);
    EXPECT_FALSE(c.node.running());
    EXPECT_EQ(c.node.paused_until(), 5 * seconds);
    while (c.w.step(5 * seconds)) {
    }
    EXPECT_TRUE(c.node.running());
    EXPECT_EQ(c.node.local_now(), time_point{1h + 5s});
}

TEST(server_clock_test, says_how_much_later_or_sooner_a_lease_may_end) {
    lone_client c{0};
    const std::int64_t before = c.server.wall_clock();
    c.server.step_clock(700'000);
    EXPECT_EQ(c.server.wall_clock(), before + 700'000);
    EXPECT_EQ(c.server.set_back(), 0);
    EXPECT_EQ(c.server.set_ahead(), 700 * millis);
    c.server.step_clock(-1'000'000);
    EXPECT_EQ(c.server.wall_clock(), before - 300'000);
    EXPECT_EQ(c.server.set_back(), 1 * seconds);
    EXPECT_EQ(c.server.set_ahead(), 0);
}

}  // namespace
