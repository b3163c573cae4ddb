// SPDX-License-Identifier: BSL-1.0
#include "wait/queue.hpp"

#include "unit/hold/holds_fixture.hpp"

#include <cstddef>
#include <deque>
#include <vector>

namespace conch::test {
namespace {

using namespace std::chrono_literals;

struct wait_queue : holds_fixture {
    ~wait_queue() override {
        for (lock::waiter& w : waiters) {
            lock::queue::leave(w, env.timers);
        }
    }

    lock::waiter& join(duration wait = forever, const impl::spec_ptr& spec = exclusive("a")) {
        lock::request_terms terms;
        terms.wait = wait;
        lock::waiter& w = waiters.emplace_back(lock::caller{}, slot, spec, terms, env.now);
        queue.join(w, wait, env.timers);
        return w;
    }
    std::vector<lock::waiter*> order() {
        std::vector<lock::waiter*> all;
        queue.for_each([&](lock::waiter& w) { all.push_back(&w); });
        return all;
    }

    lock::slot slot{slots, exclusive("a")};
    std::deque<lock::waiter> waiters{};
    lock::queue queue{};
    const std::size_t timers_before = env.timers.size();
};

TEST_F(wait_queue, who_comes_first_is_the_head) {
    EXPECT_TRUE(queue.empty());
    lock::waiter& a = join();
    lock::waiter& b = join();
    lock::waiter& c = join();
    EXPECT_EQ(order(), (std::vector{&a, &b, &c}));
    EXPECT_EQ(&queue.head(), &a);
    EXPECT_EQ(&queue.last(), &c);
}

TEST_F(wait_queue, who_leaves_makes_room_for_the_next) {
    lock::waiter& a = join();
    lock::waiter& b = join();
    lock::waiter& c = join();
    lock::queue::leave(b, env.timers);
    EXPECT_EQ(order(), (std::vector{&a, &c}));
    lock::queue::leave(a, env.timers);
    EXPECT_EQ(&queue.head(), &c);
    lock::queue::leave(c, env.timers);
    EXPECT_TRUE(queue.empty());
}

TEST_F(wait_queue, a_wait_ends_so_long_after_it_began) {
    const lock::waiter& w = join(3s);
    EXPECT_EQ(w.deadline.at, env.now + 3s);
    EXPECT_TRUE(w.deadline.armed());
    EXPECT_EQ(env.timers.size(), timers_before + 1);
}

TEST_F(wait_queue, who_waits_for_ever_or_not_at_all_has_no_deadline) {
    join(forever);
    join(0s);
    EXPECT_EQ(env.timers.size(), timers_before);
}

TEST_F(wait_queue, the_deadline_goes_with_its_waiter) {
    lock::waiter& a = join(1s);
    lock::waiter& b = join(2s);
    lock::queue::leave(a, env.timers);
    EXPECT_FALSE(a.deadline.armed());
    EXPECT_TRUE(b.deadline.armed());
    EXPECT_EQ(env.timers.size(), timers_before + 1);
}

TEST_F(wait_queue, who_never_joined_may_leave) {
    lock::waiter w{{}, slot, exclusive("a"), {}, env.now};
    lock::queue::leave(w, env.timers);
    EXPECT_TRUE(queue.empty());
}

TEST_F(wait_queue, all_may_leave_while_they_are_counted) {
    join(1s);
    join(1s);
    std::size_t count = 0;
    queue.for_each([&](lock::waiter& w) {
        ++count;
        lock::queue::leave(w, env.timers);
    });
    EXPECT_EQ(count, 2u);
    EXPECT_TRUE(queue.empty());
}

TEST_F(wait_queue, readers_share_until_a_writer_is_among_them) {
    EXPECT_TRUE(queue.all_share());
    join(forever, reader("a"));
    join(forever, reader("a"));
    EXPECT_TRUE(queue.all_share());
    join(forever, writer("a"));
    EXPECT_FALSE(queue.all_share());
}

}  // namespace
}  // namespace conch::test
