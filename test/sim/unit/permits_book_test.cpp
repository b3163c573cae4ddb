// SPDX-License-Identifier: BSL-1.0
// How many permits there are to be: what checkers of semaphores go by.
#include "sim/permits/book.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace {

using namespace conch::sim;
using range = std::pair<std::int64_t, std::int64_t>;

TEST(permits_book_test, more_may_be_out_than_there_are_only_as_many_as_were_when_it_was_lowered) {
    permits::book b;
    b.change(1, 5, 0);
    EXPECT_EQ(b.limit(), 5);
    b.change(2, 2, -3);
    EXPECT_EQ(b.limit(), 5) << "five are out";
    EXPECT_TRUE(b.owed().explains(-1)) << "two came back";
    EXPECT_EQ(b.limit(), 3);
    EXPECT_FALSE(b.owed().explains(-2)) << "one was taken, though fewer than none were left";
    EXPECT_TRUE(b.owed().explains(0));
    EXPECT_FALSE(b.owed().explains(-1));
    EXPECT_EQ(b.owed().deepest(), 3);
}

TEST(permits_book_test, the_range_of_a_time_begins_with_the_number_that_was_then) {
    permits::book b;
    b.change(10, 4, 4);
    b.change(20, 1, 1);
    b.change(30, 2, 2);
    EXPECT_EQ(b.range(30), (range{1, 2})) << "both of that moment";
    EXPECT_EQ(b.range(31), (range{2, 2}));
    EXPECT_EQ(b.range(25), (range{1, 2}));
    EXPECT_EQ(b.range(15), (range{1, 4}));
    EXPECT_FALSE(b.changed_since(31));
    EXPECT_TRUE(b.changed_since(30));
}

}  // namespace
