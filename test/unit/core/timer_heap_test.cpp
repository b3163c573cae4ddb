// SPDX-License-Identifier: BSL-1.0
#include "core/random.hpp"
#include "core/timer_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

namespace {

using namespace std::chrono_literals;
using conch::time_point;
using conch::core::timer;
using conch::core::timer_heap;

constexpr time_point at(int ms) { return time_point{ms * 1ms}; }

struct timer_heap_test : testing::Test {
    timer_heap heap{};
    timer a{nullptr, nullptr};
    timer b{nullptr, nullptr};
    timer c{nullptr, nullptr};

    std::vector<timer*> pop_all() {
        std::vector<timer*> out;
        while (timer* t = heap.pop_due(conch::core::never)) {
            out.push_back(t);
        }
        return out;
    }
};

TEST_F(timer_heap_test, an_empty_one_is_never_due) {
    EXPECT_TRUE(heap.empty());
    EXPECT_EQ(heap.next(), conch::core::never);
    EXPECT_EQ(heap.pop_due(conch::core::never), nullptr);
}

TEST_F(timer_heap_test, the_soonest_comes_first) {
    heap.set(b, at(2));
    heap.set(c, at(3));
    heap.set(a, at(1));
    EXPECT_EQ(heap.next(), at(1));
    EXPECT_EQ(pop_all(), (std::vector<timer*>{&a, &b, &c}));
    EXPECT_TRUE(heap.empty());
}

TEST_F(timer_heap_test, one_is_due_at_its_time_and_not_before) {
    heap.set(a, at(5));
    EXPECT_EQ(heap.pop_due(at(5) - 1ns), nullptr);
    EXPECT_EQ(heap.pop_due(at(5)), &a);
    EXPECT_FALSE(a.armed());
}

TEST_F(timer_heap_test, one_can_be_moved_to_an_earlier_time) {
    heap.set(a, at(1));
    heap.set(b, at(2));
    heap.set(c, at(3));
    heap.set(c, at(0));
    EXPECT_EQ(heap.size(), 3u);
    EXPECT_EQ(pop_all(), (std::vector<timer*>{&c, &a, &b}));
}

TEST_F(timer_heap_test, one_can_be_moved_to_a_later_time) {
    heap.set(a, at(1));
    heap.set(b, at(2));
    heap.set(c, at(3));
    heap.set(a, at(9));
    EXPECT_EQ(pop_all(), (std::vector<timer*>{&b, &c, &a}));
}

TEST_F(timer_heap_test, one_in_the_middle_can_be_cancelled) {
    heap.set(a, at(1));
    heap.set(b, at(2));
    heap.set(c, at(3));
    heap.cancel(b);
    EXPECT_FALSE(b.armed());
    EXPECT_EQ(pop_all(), (std::vector<timer*>{&a, &c}));
}

TEST_F(timer_heap_test, the_last_moves_up_where_the_cancelled_ones_branch_was_later) {
    std::deque<timer> more;
    for (const int ms : {1, 10, 2, 11, 12, 3, 4}) {
        heap.set(more.emplace_back(nullptr, nullptr), at(ms));
    }
    heap.cancel(more[3]);  // 11, below 10; the last is 4
    const auto order = pop_all();
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end(),
                               [](const timer* l, const timer* r) { return l->at < r->at; }));
    EXPECT_EQ(order.size(), 6u);
}

TEST_F(timer_heap_test, cancelling_what_is_not_armed_does_nothing) {
    heap.set(a, at(1));
    heap.cancel(b);
    EXPECT_EQ(heap.size(), 1u);
}

TEST_F(timer_heap_test, it_agrees_with_an_ordered_map_whatever_is_done) {
    conch::core::random dice{20'260};
    std::deque<timer> timers;
    for (int i = 0; i < 60; ++i) {
        timers.emplace_back(nullptr, nullptr);
    }
    std::map<timer*, time_point> model;
    for (int step = 0; step < 50'000; ++step) {
        timer& t = timers[dice.next() % timers.size()];
        if (dice.next() % 4 == 0) {
            heap.cancel(t);
            model.erase(&t);
        } else if (dice.next() % 8 == 0) {
            const time_point now = at(static_cast<int>(dice.next() % 100));
            if (timer* due = heap.pop_due(now)) {
                ASSERT_LE(model.at(due), now);
                for (const auto& [other, when] : model) {
                    ASSERT_LE(model.at(due), when);
                }
                model.erase(due);
            } else {
                for (const auto& [other, when] : model) {
                    ASSERT_GT(when, now);
                }
            }
        } else {
            const time_point when = at(static_cast<int>(dice.next() % 100));
            heap.set(t, when);
            model[&t] = when;
        }
        ASSERT_EQ(heap.size(), model.size());
        ASSERT_EQ(t.armed(), model.contains(&t));
    }
}

}  // namespace
