// SPDX-License-Identifier: BSL-1.0
#include "core/byte_buffer.hpp"
#include "core/pool.hpp"
#include "core/random.hpp"
#include "core/run_queue.hpp"
#include "core/task.hpp"
#include "core/time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace conch::core;
using conch::duration;
using conch::time_point;

constexpr time_point noon{12h};

// Time.

TEST(core_time, adding_saturates_at_never) {
    EXPECT_EQ(after(noon, 1s), noon + 1s);
    EXPECT_EQ(after(noon, duration::zero()), noon);
    EXPECT_EQ(after(noon, duration::max()), never);
    EXPECT_EQ(after(never, 1ns), never);
    EXPECT_EQ(after(never, duration::zero()), never);
    EXPECT_EQ(after(noon, never - noon), never);
    EXPECT_EQ(after(noon, never - noon - 1ns), never - 1ns);
}

TEST(core_time, milliseconds_are_rounded_up) {
    EXPECT_EQ(ceil_millis(0ns), 0);
    EXPECT_EQ(ceil_millis(1ns), 1);
    EXPECT_EQ(ceil_millis(1ms), 1);
    EXPECT_EQ(ceil_millis(1ms + 1ns), 2);
    EXPECT_EQ(ceil_millis(30s), 30'000);
    EXPECT_EQ(ceil_millis(duration::max()), 9'223'372'036'855);
}

TEST(core_time, a_lease_is_worth_a_fortieth_and_two_milliseconds_less) {
    EXPECT_EQ(lease_end(noon, 40s), noon + 39s - 2ms);
    EXPECT_EQ(lease_end(noon, 10ms), noon + 7750us);
    EXPECT_EQ(lease_end(never - 1s, 40s), never);
    for (const conch::duration left : {0ns, 1ns, 39ns, 12'345'678'901ns, conch::duration{1h}}) {
        EXPECT_GE(lease_end(noon, lease_for(left)), noon + left) << left.count();
        EXPECT_LE(lease_end(noon, lease_for(left)), noon + left + 1ns) << left.count();
    }
}

// Random.

TEST(core_random, jitter_lies_between_the_half_and_the_whole) {
    conch::core::random dice{1};
    duration least = 1h;
    duration most = 0s;
    for (int i = 0; i < 10'000; ++i) {
        const duration d = dice.jitter(1s);
        least = std::min(least, d);
        most = std::max(most, d);
    }
    EXPECT_GE(least, 500ms);
    EXPECT_LT(least, 510ms);
    EXPECT_LE(most, 1s);
    EXPECT_GT(most, 990ms);
    EXPECT_EQ(dice.jitter(0s), 0s);
    EXPECT_EQ(dice.jitter(1ns), 1ns);
}

TEST(core_random, one_seed_gives_one_sequence) {
    conch::core::random a{7};
    conch::core::random b{7};
    conch::core::random c{8};
    const auto first = a.next();
    EXPECT_EQ(first, b.next());
    EXPECT_NE(first, c.next());
    EXPECT_NE(first, a.next());
}

// Bytes.

void put(byte_buffer& b, std::string_view bytes) {
    const auto room = b.prepare(bytes.size());
    ASSERT_GE(room.size(), bytes.size());
    bytes.copy(room.data(), bytes.size());
    b.commit(bytes.size());
}

TEST(core_byte_buffer, what_was_committed_can_be_read_until_it_is_consumed) {
    byte_buffer b;
    EXPECT_EQ(b.data(), "");
    put(b, "hello ");
    put(b, "world");
    EXPECT_EQ(b.data(), "hello world");
    b.consume(6);
    EXPECT_EQ(b.data(), "world");
    b.consume(5);
    EXPECT_EQ(b.data(), "");
}

TEST(core_byte_buffer, what_was_prepared_and_not_committed_is_no_data) {
    byte_buffer b;
    b.prepare(10);
    EXPECT_EQ(b.data(), "");
}

TEST(core_byte_buffer, it_grows_and_keeps_what_is_unread) {
    byte_buffer b;
    std::string all;
    for (int i = 0; i < 100; ++i) {
        const std::string piece(10'000, static_cast<char>('a' + i % 26));
        put(b, piece);
        all += piece;
        b.consume(3000);
        all.erase(0, 3000);
        ASSERT_EQ(b.data(), all);
    }
}

TEST(core_byte_buffer, clearing_it_drops_the_data_and_the_extra_memory) {
    byte_buffer b;
    put(b, std::string(1'000'000, 'x'));
    b.clear();
    EXPECT_EQ(b.data(), "");
    EXPECT_LE(b.prepare(1).size(), 64u << 10);
}

// Pools.

struct counted {
    explicit counted(int& c, int v = 0) : count{c}, value{v} { ++count; }
    ~counted() { --count; }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    int& count;
    int value;
};

TEST(core_pool, it_makes_and_destroys_objects_and_counts_them) {
    int alive = 0;
    pool<counted> p;
    counted& a = p.make(alive, 1);
    counted& b = p.make(alive, 2);
    EXPECT_EQ(alive, 2);
    EXPECT_EQ(p.live(), 2u);
    EXPECT_EQ(a.value, 1);
    p.free(a);
    EXPECT_EQ(alive, 1);
    EXPECT_EQ(b.value, 2);
    p.free(b);
    EXPECT_EQ(p.live(), 0u);
}

TEST(core_pool, it_survives_more_objects_than_it_keeps) {
    int alive = 0;
    pool<counted> p;
    for (int round = 0; round < 3; ++round) {
        std::vector<counted*> all;
        for (int i = 0; i < 1000; ++i) {
            all.push_back(&p.make(alive, i));
        }
        for (int i = 0; i < 1000; ++i) {
            ASSERT_EQ(all[static_cast<std::size_t>(i)]->value, i);
            p.free(*all[static_cast<std::size_t>(i)]);
        }
    }
    EXPECT_EQ(alive, 0);
}

// Tasks and the queue that resumes them.

constexpr auto nap = &sleeper::sleep;

struct talk {
    run_queue queue{};
    sleeper bed{};
    std::vector<int> said{};
    bool over = false;
};

task converse(talk& t) {
    for (int i = 0; !t.over; ++i) {
        t.said.push_back(i);
        co_await (t.bed.*nap)();
    }
    t.said.push_back(-1);
}

TEST(core_task, it_runs_until_it_first_awaits) {
    talk t;
    converse(t);
    EXPECT_EQ(t.said, std::vector<int>{0});
    EXPECT_TRUE(t.bed.asleep());
    t.over = true;
    t.queue.wake(t.bed);
    t.queue.run();
}

TEST(core_task, waking_resumes_it_from_the_queue_and_not_at_once) {
    talk t;
    converse(t);
    t.queue.wake(t.bed);
    EXPECT_EQ(t.said.size(), 1u);
    EXPECT_FALSE(t.queue.empty());
    t.queue.run();
    EXPECT_EQ(t.said, (std::vector<int>{0, 1}));
    t.over = true;
    t.queue.wake(t.bed);
    t.queue.run();
    EXPECT_EQ(t.said.back(), -1);
}

TEST(core_task, waking_it_twice_resumes_it_once) {
    talk t;
    converse(t);
    t.queue.wake(t.bed);
    t.queue.wake(t.bed);
    t.queue.run();
    EXPECT_EQ(t.said, (std::vector<int>{0, 1}));
    t.over = true;
    t.queue.wake(t.bed);
    t.queue.run();
}

TEST(core_run_queue, waking_a_bed_where_nobody_sleeps_does_nothing) {
    run_queue q;
    sleeper bed;
    q.wake(bed);
    EXPECT_TRUE(q.empty());
    q.run();
}

// Says its number each time that it is woken; ends when that is negative.
struct sayer {
    talk& home;
    int number;
    sleeper bed{};
};

task say_when_woken(sayer& s) {
    while (s.number >= 0) {
        co_await (s.bed.*nap)();
        s.home.said.push_back(s.number);
    }
}

TEST(core_run_queue, the_first_to_be_woken_is_resumed_first) {
    talk t;
    sayer a{t, 1};
    sayer b{t, 2};
    sayer c{t, 3};
    for (sayer* s : {&a, &b, &c}) {
        say_when_woken(*s);
    }
    for (sayer* s : {&b, &c, &a}) {
        t.queue.wake(s->bed);
    }
    t.queue.run();
    EXPECT_EQ(t.said, (std::vector<int>{2, 3, 1}));
    EXPECT_TRUE(t.queue.empty());
    for (sayer* s : {&a, &b, &c}) {
        s->number = -1;
        t.queue.wake(s->bed);
    }
    t.queue.run();
}

}  // namespace
