// SPDX-License-Identifier: BSL-1.0
#include "reply_counter.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace {

using conch::bench::reply_counter;

TEST(reply_counter, counts_what_is_granted) {
    EXPECT_EQ(reply_counter{}.feed("$0\r\n\r\n:0\r\n"), 2u);
    reply_counter of_counters{1, 1};
    EXPECT_EQ(of_counters.feed(":1\r\n*2\r\n:1\r\n:0\r\n*4\r\n:1\r\n:9\r\n"), 2u);
    EXPECT_EQ(of_counters.feed(":0\r\n:25\r\n"), 1u);
}

TEST(reply_counter, refuses_what_is_denied) {
    for (const char* denied : {":0\r\n", "*2\r\n:0\r\n:1\r\n", "*2\r\n:-1\r\n:1\r\n", "-ERR\r\n"}) {
        reply_counter of_counters{1, 1};
        EXPECT_THROW(of_counters.feed(denied), std::runtime_error) << denied;
    }
    EXPECT_THROW(reply_counter{}.feed(":29999\r\n"), std::runtime_error);
}

}  // namespace
