// SPDX-License-Identifier: BSL-1.0
#include "driver/strand_queue.hpp"
#include "driver/handler_memory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

using conch::impl::event;
using conch::impl::handler_memory;
using conch::impl::strand_queue;

struct note : event {
    explicit note(std::vector<int>& l, int n, function f = &note::write) noexcept
        : event{f}, log{l}, number{n} {}
    static void write(event& e) {
        auto& self = static_cast<note&>(e);
        self.log.push_back(self.number);
    }
    std::vector<int>& log;
    int number;
};

// While it runs, others come.
struct busy_note : note {
    busy_note(std::vector<int>& l, int n, strand_queue& w, std::vector<note*> o)
        : note{l, n, &busy_note::pass_others}, where{w}, others{std::move(o)} {}
    static void pass_others(event& e) {
        auto& self = static_cast<busy_note&>(e);
        for (note* other : self.others) {
            self.where.pass(*other);
        }
        write(e);
    }
    strand_queue& where;
    std::vector<note*> others;
};

TEST(strand_queue, events_that_come_while_one_runs_run_behind_it_in_their_order) {
    strand_queue l;
    std::vector<int> log;
    note second{log, 2}, third{log, 3};
    busy_note first{log, 1, l, {&second, &third}};
    l.pass(first);
    EXPECT_EQ(log, (std::vector{1, 2, 3}));
}

TEST(strand_queue, an_event_that_waits_already_is_not_queued_again) {
    strand_queue l;
    std::vector<int> log;
    note second{log, 2};
    busy_note first{log, 1, l, {&second, &second}};
    l.pass(first);
    EXPECT_EQ(log, (std::vector{1, 2}));
}

TEST(strand_queue, an_event_may_be_passed_again_once_it_runs) {
    strand_queue l;
    std::vector<int> log;
    note again{log, 1};
    l.pass(again);
    l.pass(again);
    EXPECT_EQ(log, (std::vector{1, 1}));
}

TEST(strand_queue, an_event_that_throws_ends_the_program) {
    strand_queue l;
    event bad{[](event&) { throw std::runtime_error{"half a turn"}; }};
    EXPECT_DEATH(l.pass(bad), "half a turn");
}

TEST(strand_queue, events_of_several_threads_run_one_at_a_time_and_none_is_lost) {
    struct counted : event {
        counted(int& s, std::atomic<int>& i) noexcept : event{&counted::count}, sum{s}, inside{i} {}
        static void count(event& e) {
            auto& self = static_cast<counted&>(e);
            EXPECT_EQ(self.inside.fetch_add(1), 0);
            ++self.sum;
            self.inside.fetch_sub(1);
            self.ran.store(true, std::memory_order_release);
            self.ran.notify_one();
        }
        int& sum;
        std::atomic<int>& inside;
        std::atomic<bool> ran{false};
    };
    constexpr int threads = 4, times = 2000;
    strand_queue l;
    int sum = 0;
    std::atomic<int> inside{0};
    std::latch start{threads};
    std::deque<counted> events;
    for (int t = 0; t < threads; ++t) {
        events.emplace_back(sum, inside);
    }
    {
        std::vector<std::jthread> all;
        for (counted& own : events) {
            all.emplace_back([&] {
                start.arrive_and_wait();
                for (int i = 0; i < times; ++i) {
                    own.ran.store(false);
                    l.pass(own);
                    own.ran.wait(false, std::memory_order_acquire);
                }
            });
        }
    }
    EXPECT_EQ(sum, threads * times);
}

TEST(handler_memory, one_operation_after_the_other_has_the_same_memory) {
    handler_memory m;
    void* const first = m.allocate(100);
    m.deallocate(first);
    void* const second = m.allocate(200);
    EXPECT_EQ(second, first);
    m.deallocate(second);
}

TEST(handler_memory, a_second_operation_at_the_same_time_has_other_memory) {
    handler_memory m;
    void* const first = m.allocate(100);
    void* const second = m.allocate(100);
    EXPECT_NE(second, first);
    m.deallocate(second);
    void* const third = m.allocate(100);
    EXPECT_NE(third, first) << "the first is still in use";
    m.deallocate(third);
    m.deallocate(first);
}

TEST(handler_memory, a_large_operation_has_other_memory) {
    handler_memory m;
    void* const large = m.allocate(10'000);
    void* const small = m.allocate(100);
    EXPECT_TRUE(large < static_cast<void*>(&m) || large >= static_cast<void*>(&m + 1));
    m.deallocate(small);
    m.deallocate(large);
}

}  // namespace
