// SPDX-License-Identifier: BSL-1.0
// Which of a host's addresses an attempt to connect begins with.
#include "driver/address_turns.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace {

using conch::impl::address_turns;
using conch::wire::address;
using order = std::vector<std::string>;

struct driver_address_turns : testing::Test {
    order attempt(std::size_t place, const address& at, order all) {
        address_turns::arrange(all, turns.begin(place, at));
        return all;
    }

    address_turns turns{};
    const address host{"h", 1, {}};
    const order three{"a", "b", "c"};
};

TEST_F(driver_address_turns, the_first_attempt_keeps_the_order) {
    EXPECT_EQ(attempt(0, host, three), three);
    turns.answered(0, host);
    EXPECT_EQ(attempt(0, host, three), three) << "it was good";
}

TEST_F(driver_address_turns, each_attempt_after_a_failed_one_begins_with_the_next_address) {
    attempt(0, host, three);
    EXPECT_EQ(attempt(0, host, three), (order{"b", "c", "a"}));
    EXPECT_EQ(attempt(0, host, three), (order{"c", "a", "b"}));
    EXPECT_EQ(attempt(0, host, three), three);
    EXPECT_EQ(attempt(0, host, {"a"}), order{"a"});
    EXPECT_EQ(attempt(0, host, {}), order{}) << "it is unknown by now";
}

TEST_F(driver_address_turns, the_next_one_begins_with_the_address_that_was_good) {
    attempt(0, host, three);
    EXPECT_EQ(attempt(0, host, three), (order{"b", "c", "a"}));
    turns.answered(0, host);
    EXPECT_EQ(attempt(0, host, three), (order{"b", "c", "a"}));
    EXPECT_EQ(attempt(0, host, three), (order{"c", "a", "b"})) << "no more";
}

TEST_F(driver_address_turns, one_that_was_of_no_use_after_all_is_as_if_it_had_failed) {
    attempt(0, host, three);
    turns.answered(0, host);
    turns.left(0, host);
    EXPECT_EQ(attempt(0, host, three), (order{"b", "c", "a"}));
    turns.answered(0, host);
    EXPECT_EQ(attempt(0, host, three), (order{"b", "c", "a"}));
}

TEST_F(driver_address_turns, a_resolver_that_turns_them_itself_does_not_undo_it) {
    EXPECT_EQ(attempt(0, host, {"b", "a"}), (order{"b", "a"}));
    EXPECT_EQ(attempt(0, host, {"a", "b"}), (order{"b", "a"}));
    EXPECT_EQ(attempt(0, host, {"b", "a"}), (order{"a", "b"}));
}

TEST_F(driver_address_turns, two_hosts_in_turn_do_not_count_for_each_other) {
    const address other{"h", 2, {}};
    attempt(0, host, {"a", "b"});
    attempt(0, other, {"c", "d"});
    EXPECT_EQ(attempt(0, host, {"a", "b"}), (order{"b", "a"}));
    EXPECT_EQ(attempt(0, other, {"c", "d"}), (order{"d", "c"}));
}

TEST_F(driver_address_turns, two_connections_to_one_host_do_not_count_for_each_other) {
    attempt(0, host, three);
    attempt(1, host, three);
    EXPECT_EQ(attempt(0, host, three), (order{"b", "c", "a"}));
    EXPECT_EQ(attempt(0, host, three), (order{"c", "a", "b"}));
    EXPECT_EQ(attempt(1, host, three), (order{"b", "c", "a"}));
}

TEST_F(driver_address_turns, hosts_that_never_answer_are_not_remembered_without_end) {
    attempt(0, host, three);
    for (std::size_t i = 1; i < address_turns::most_hosts; ++i) {
        attempt(i, host, three);
    }
    attempt(address_turns::most_hosts, host, three);
    EXPECT_EQ(attempt(0, host, three), three);
}

}  // namespace
