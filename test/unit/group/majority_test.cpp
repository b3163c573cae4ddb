// SPDX-License-Identifier: BSL-1.0
#include "group/majority.hpp"
#include "group/query.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace {

using namespace conch;
using namespace conch::group;
using namespace std::chrono_literals;

time_point at(int seconds) { return time_point{std::chrono::seconds{seconds}}; }

time_point until(std::vector<time_point> ends, std::size_t majority) {
    return ahead_until(ends, majority);
}

verdict of(std::vector<answer> answers) { return judge(answers, majority_of(answers.size())); }

constexpr answer yes = answer::granted;
constexpr answer busy = answer::busy;
constexpr answer open = answer::pending;
constexpr answer silent = answer::silent;
constexpr answer failed = answer::failed;

TEST(group_majority_test, any_two_majorities_have_one_in_common) {
    for (std::size_t n = 1; n <= 31; ++n) {
        EXPECT_GT(2 * majority_of(n), n);
        EXPECT_LE(2 * (majority_of(n) - 1), n);
    }
}

TEST(group_majority_test, a_majority_lasts_until_its_first_member_ends) {
    EXPECT_EQ(until({at(5), at(1), at(9), at(7), at(3)}, 3), at(5));
    EXPECT_EQ(until({at(9), at(7), at(3)}, 3), at(3));
    EXPECT_EQ(until({at(9), at(7)}, 3), time_point{});
    EXPECT_EQ(until({at(9)}, 1), at(9));
}

TEST(group_majority_test, a_majority_of_grants_is_one_whatever_the_rest_says) {
    EXPECT_EQ(of({yes, yes, yes, open, open}), verdict::granted);
    EXPECT_EQ(of({yes, busy, yes, failed, yes}), verdict::granted);
    EXPECT_EQ(of({yes, yes, open, open, open}), verdict::open);
    EXPECT_EQ(of({yes, yes, open, busy, busy}), verdict::open);
}

TEST(group_majority_test, a_round_ends_when_no_majority_is_possible) {
    EXPECT_EQ(of({yes, yes, busy, busy, busy}), verdict::busy);
    EXPECT_EQ(of({open, open, busy, busy, busy}), verdict::busy);
    EXPECT_EQ(of({yes, yes, busy, silent, silent}), verdict::busy) << "three are there";
    EXPECT_EQ(of({yes, yes, silent, silent, silent}), verdict::unreachable);
    EXPECT_EQ(of({busy, busy, silent, silent, failed}), verdict::unreachable);
    EXPECT_EQ(of({failed, failed, failed, open, open}), verdict::failed);
    EXPECT_EQ(of({failed, failed, yes, yes, busy}), verdict::busy);
    EXPECT_EQ(of({yes, busy}), verdict::busy);
    EXPECT_EQ(of({yes, silent}), verdict::unreachable);
    EXPECT_EQ(of({yes, failed}), verdict::failed);
}

TEST(group_majority_test, a_majority_refuses_when_it_has_answered) {
    EXPECT_EQ(of({silent, open, busy}), verdict::open) << "one alone is no majority";
    EXPECT_EQ(of({busy, open, busy}), verdict::busy);
    EXPECT_EQ(of({open, open, busy, busy, silent}), verdict::open);
    EXPECT_EQ(of({silent, open, busy, yes, silent}), verdict::open);
    EXPECT_EQ(of({silent, silent, busy, yes, silent}), verdict::unreachable);
}

TEST(group_majority_test, the_first_to_answer_is_the_first_in_the_order_given) {
    EXPECT_EQ(first_to_answer(std::vector{silent, failed, busy, yes}), 2u);
    EXPECT_EQ(first_to_answer(std::vector{yes, busy}), 0u);
    EXPECT_EQ(first_to_answer(std::vector{silent, open}), 2u) << "none";
}

TEST(group_majority_test, the_first_is_open_while_one_before_it_has_not_answered) {
    EXPECT_TRUE(first_is_open(std::vector{open, busy, busy}));
    EXPECT_TRUE(first_is_open(std::vector{silent, open, failed, busy, busy}));
    EXPECT_FALSE(first_is_open(std::vector{busy, open, busy}));
    EXPECT_FALSE(first_is_open(std::vector{yes, open, open, busy, busy}));
    EXPECT_FALSE(first_is_open(std::vector{silent, busy, busy, open}));
}

TEST(group_majority_test, a_status_is_made_of_those_of_the_members) {
    const lock_status free;
    const lock_status a{.locked = true, .holder = "a:1", .depth = 1, .ttl = 3s};
    const lock_status b{.locked = true, .holder = "b:1", .depth = 2, .ttl = 9s};
    const lock_status endless{.locked = true, .holder = "c:1", .depth = 1};
    const lock_status split = merged(std::vector{a, b, a}, 2);
    EXPECT_TRUE(split.locked);
    EXPECT_EQ(split.holder, "a:1 b:1");
    EXPECT_EQ(split.depth, 2u);
    EXPECT_EQ(split.ttl, 9s);
    EXPECT_FALSE(merged(std::vector{free, a, free}, 2).locked);
    EXPECT_TRUE(merged(std::vector{free, a}, 2).locked) << "one is not known to be free";
    EXPECT_FALSE(merged(std::vector{a, endless, a}, 2).ttl);
}

TEST(group_majority_test, a_status_has_the_place_that_a_member_knows_and_the_most_that_wait) {
    const lock_status unknown{.locked = true, .holder = "a:1"};
    lock_status known = unknown;
    known.holder_host = "web";
    known.holder_pid = 7;
    known.holder_address = "10.0.0.7:1";
    known.waiting_clients = 2;
    lock_status free;
    free.waiting_clients = 3;
    const lock_status all = merged(std::vector{unknown, known, free}, 2);
    EXPECT_EQ(all.holder_host, "web");
    EXPECT_EQ(all.holder_pid, 7);
    EXPECT_EQ(all.holder_address, "10.0.0.7:1");
    EXPECT_EQ(all.waiting_clients, 3u);
    EXPECT_EQ(merged(std::vector{unknown, unknown}, 2).waiting_clients, std::nullopt);
}

TEST(group_majority_test, a_status_is_decided_when_the_rest_can_not_change_it) {
    EXPECT_TRUE(is_decided(2, 0, 3, 2));
    EXPECT_TRUE(is_decided(0, 2, 3, 2));
    EXPECT_FALSE(is_decided(1, 1, 3, 2)) << "the third may be free";
    EXPECT_FALSE(is_decided(1, 0, 3, 2)) << "one alone is no majority";
    EXPECT_TRUE(is_decided(1, 3, 5, 3));
    EXPECT_FALSE(is_decided(2, 2, 5, 3));
    EXPECT_FALSE(is_decided(0, 2, 4, 3)) << "no majority is known to be there";
    EXPECT_TRUE(is_decided(1, 2, 4, 3)) << "three of four are not free";
    EXPECT_TRUE(is_decided(0, 1, 1, 1));
}

TEST(group_majority_test, what_is_decided_stays_so_whatever_the_rest_says) {
    for (std::size_t n = 1; n <= 31; ++n) {
        for (std::size_t free = 0; free <= n; ++free) {
            for (std::size_t locked = 0; free + locked <= n; ++locked) {
                const std::size_t rest = n - free - locked;
                const bool locked_now = free < majority_of(n);
                const bool locked_at_last = free + rest < majority_of(n);
                const bool there = free + locked >= majority_of(n);
                EXPECT_EQ(is_decided(free, locked, n, majority_of(n)),
                          there && locked_now == locked_at_last)
                    << free << " free, " << locked << " locked, of " << n;
            }
        }
    }
}

}  // namespace
