// SPDX-License-Identifier: BSL-1.0
#include "wait/wanted_lately.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace {

using namespace std::chrono_literals;
using conch::lock::wanted_lately;

constexpr conch::time_point the_hour{1h};

TEST(wait_wanted_lately, knows_no_name_in_the_beginning) {
    const wanted_lately w;
    EXPECT_FALSE(w.has("a", the_hour));
    EXPECT_FALSE(w.has("a", conch::time_point{}));
}

TEST(wait_wanted_lately, forgets_a_name_after_a_moment) {
    wanted_lately w;
    w.note("a", the_hour);
    EXPECT_TRUE(w.has("a", the_hour));
    EXPECT_TRUE(w.has("a", the_hour + 999ms));
    EXPECT_FALSE(w.has("a", the_hour + 1s));
    EXPECT_FALSE(w.has("b", the_hour));
    w.note("a", the_hour + 2s);
    EXPECT_TRUE(w.has("a", the_hour + 2s));
}

}  // namespace
