// SPDX-License-Identifier: BSL-1.0
// Lists and sorted sets of the fake and of a real Redis, range by range: random commands seldom
// fill them.
#include "sim/unit/two_servers.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace conch::sim::test;

class collections_test : public ::testing::Test {
protected:
    void SetUp() override {
        both.greet(0);
        const std::string why = both.why_not_comparable();
        if (!why.empty()) {
            GTEST_SKIP() << why;
        }
    }
    void ask(const words& command) { both.ask(0, command); }
    void fill_list() {
        ask({"DEL", "l"});
        ask({"RPUSH", "l", "a", "b", "a", "c", "a"});
        ask({"LPUSH", "l", "x", "y"});
    }
    void fill_scores() {
        ask({"DEL", "z"});
        ask({"ZADD", "z", "1", "a", "2", "b", "3", "c", "3", "d", "-inf", "low", "inf", "high"});
    }

    two_servers both{1};
};

TEST_F(collections_test, a_list_is_counted_from_both_ends) {
    fill_list();
    for (int i = -9; i <= 9; ++i) {
        ask({"LINDEX", "l", std::to_string(i)});
        for (int j = -9; j <= 9; ++j) {
            ask({"LRANGE", "l", std::to_string(i), std::to_string(j)});
        }
    }
}

TEST_F(collections_test, a_list_loses_what_it_has_from_the_end_that_is_meant) {
    for (int count = -4; count <= 4; ++count) {
        fill_list();
        ask({"LREM", "l", std::to_string(count), "a"});
        ask({"LRANGE", "l", "0", "-1"});
    }
    for (int i = 0; i < 8; ++i) {
        ask({"LPOP", "l"});
        ask({"LLEN", "l"});
    }
    ask({"EXISTS", "l"});
}

TEST_F(collections_test, a_sorted_set_is_ranges_of_scores) {
    const words bounds{"-inf", "+inf", "inf", "0", "1", "(1", "2", "(2", "3", "(3", "(inf", "(x"};
    fill_scores();
    for (const std::string& low : bounds) {
        for (const std::string& high : bounds) {
            ask({"ZCOUNT", "z", low, high});
            ask({"ZRANGEBYSCORE", "z", low, high});
        }
    }
    for (const std::string& low : bounds) {
        fill_scores();
        ask({"ZREMRANGEBYSCORE", "z", low, "3"});
        ask({"ZRANGE", "z", "0", "-1"});
    }
}

TEST_F(collections_test, a_sorted_set_counts_what_it_adds_and_removes) {
    fill_scores();
    ask({"ZADD", "z", "7", "a", "8", "new", "9", "new"});
    ask({"ZRANGE", "z", "0", "-1"});
    ask({"ZSCORE", "z", "new"});
    for (int i = -8; i <= 8; ++i) {
        ask({"ZRANGE", "z", std::to_string(i), "-2"});
        ask({"ZRANGE", "z", "1", std::to_string(i)});
    }
    ask({"ZREM", "z", "a", "b", "nobody", "a"});
    ask({"ZCARD", "z"});
    ask({"ZREM", "z", "c", "d", "low", "high", "new"});
    ask({"EXISTS", "z"});
}

TEST_F(collections_test, a_hash_counts_what_it_adds_and_removes) {
    ask({"HSET", "h", "a", "1", "b", "2", "a", "3"});
    ask({"HSET", "h", "a", "4", "c", "5"});
    ask({"HGETALL", "h"});
    ask({"HDEL", "h", "a", "nothing", "b", "a"});
    ask({"HLEN", "h"});
    ask({"HDEL", "h", "c"});
    ask({"EXISTS", "h"});
}

}  // namespace
