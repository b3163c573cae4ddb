// SPDX-License-Identifier: BSL-1.0
#include "core/repeated_log.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using conch::duration;
using conch::log_level;
using conch::time_point;
using conch::core::repeated_log;
using lines = std::vector<std::string>;

constexpr auto warning = log_level::warning;

class repeated_log_test : public testing::Test {
protected:
    void advance(duration d) {
        const time_point end = now + d;
        while (timers.next() <= end) {
            now = timers.next();
            conch::core::timer* const t = timers.pop_due(now);
            t->fire(t->owner);
        }
        now = end;
    }
    lines taken() { return std::exchange(said, {}); }

    lines said{};
    const conch::core::log out{
        [this](log_level, std::string_view line) { said.emplace_back(line); }, log_level::info};
    conch::core::timer_heap timers{};
    time_point now{1h};
    repeated_log log{out, timers, now};
};

TEST_F(repeated_log_test, the_first_is_told_at_once_and_the_rest_as_a_number) {
    for (int i = 0; i < 2000; ++i) {
        log(warning, "lost: late", "lost: " + std::to_string(i) + ": late");
    }
    EXPECT_EQ(taken(), lines{"lost: 0: late"});
    advance(1s);
    EXPECT_EQ(taken(), lines{"lost: late: 1999 times more"});
}

TEST_F(repeated_log_test, while_there_are_more_one_and_the_number_come_each_minute) {
    for (int s = 0; s < 121; ++s) {
        log(warning, "kind", "at " + std::to_string(s));
        advance(1s);
    }
    EXPECT_EQ(taken(), (lines{"at 0", "kind: 60 times more", "at 61", "kind: 59 times more"}));
}

TEST_F(repeated_log_test, a_minute_without_any_is_the_end) {
    log(warning, "kind", "one");
    advance(61s);
    EXPECT_TRUE(timers.empty());
    log(warning, "kind", "two");
    EXPECT_EQ(taken(), (lines{"one", "two"}));
}

TEST_F(repeated_log_test, so_many_are_told_in_full_as_the_caller_says) {
    for (int i = 0; i < 5; ++i) {
        log(warning, "lost", "lost: " + std::to_string(i), 3);
    }
    advance(1s);
    EXPECT_EQ(taken(), (lines{"lost: 0", "lost: 1", "lost: 2", "lost: 2 times more"}));
}

TEST_F(repeated_log_test, kinds_and_levels_are_counted_apart) {
    log(warning, "a", "a: 1");
    log(log_level::error, "a", "a: 2");
    log(warning, "b", "b: 1");
    log(warning, "b", "b: 2");
    EXPECT_EQ(taken(), (lines{"a: 1", "a: 2", "b: 1"}));
}

TEST_F(repeated_log_test, that_it_is_over_is_told_once) {
    log(warning, "refused by x: MISCONF", "a refused by x: MISCONF");
    log(warning, "refused by x: MISCONF", "b refused by x: MISCONF");
    log(warning, "refused by y: MISCONF", "c refused by y: MISCONF");
    taken();
    log.over("refused by x");
    log.over("refused by x");
    EXPECT_EQ(taken(), lines{"refused by x: MISCONF: no more, after 2"});
    log(warning, "refused by x: MISCONF", "d refused by x: MISCONF");
    EXPECT_EQ(taken(), lines{"d refused by x: MISCONF"});
}

TEST_F(repeated_log_test, at_the_end_nothing_stays_untold) {
    log(warning, "kind", "one");
    log(warning, "kind", "two");
    log.close();
    EXPECT_EQ(taken(), (lines{"one", "kind: 1 time more"}));
    EXPECT_TRUE(timers.empty());
}

TEST_F(repeated_log_test, of_very_many_kinds_the_last_are_told_if_they_are_warnings) {
    for (int i = 0; i < 1000; ++i) {
        log(log_level::info, std::to_string(i), std::to_string(i));
    }
    EXPECT_EQ(taken().size(), repeated_log::most_kinds);
    log(warning, "lost", "lost: a");
    log(warning, "lost", "lost: b");
    EXPECT_EQ(taken(), (lines{"lost: a", "lost: b"}));
}

TEST_F(repeated_log_test, nothing_is_kept_where_nobody_listens) {
    log(log_level::debug, "kind", "one");
    EXPECT_TRUE(timers.empty());
}

TEST_F(repeated_log_test, at_level_debug_each_is_told) {
    lines all;
    const conch::core::log to_all{
        [&](log_level, std::string_view line) { all.emplace_back(line); }, log_level::debug};
    repeated_log verbose{to_all, timers, now};
    verbose(warning, "kind", "one");
    verbose(warning, "kind", "two");
    EXPECT_EQ(all, (lines{"one", "two"}));
}

}  // namespace
