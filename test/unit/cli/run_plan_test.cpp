// SPDX-License-Identifier: BSL-1.0
// Times of `conch run`: the grace period fits any lease and any --max-hold by default; the patience
// with a server that goes away is that of -w.
#include "cli/command_error.hpp"
#include "cli/run_plan.hpp"

#include <gtest/gtest.h>

namespace {

using namespace conch::cli;
using namespace std::chrono_literals;

run_plan plan_of(word_list options) {
    options.insert(options.end(), {"lock", "true"});
    return read_run_plan(options, run_options()).value();
}

std::string refusal_of(const word_list& options) {
    try {
        plan_of(options);
    } catch (const usage_error& e) {
        return e.what();
    }
    return "";
}

TEST(cli_grace, is_a_sixth_of_the_lease_by_default) {
    EXPECT_EQ(plan_of({}).grace, 5s);
    EXPECT_EQ(plan_of({"--lease", "12"}).grace, 2s);
    EXPECT_EQ(plan_of({"--lease", "12", "--max-hold", "600"}).grace, 2s);
}

TEST(cli_grace, is_a_sixth_of_a_max_hold_that_clamps_the_lease) {
    EXPECT_EQ(plan_of({"--max-hold", "3"}).grace, 500ms);
    EXPECT_EQ(plan_of({"--max-hold", "3", "--lease", "6"}).grace, 500ms);
}

TEST(cli_grace, fits_the_shortest_lease_and_max_hold) {
    for (const word_list& options : {word_list{"--lease", "0.1"}, word_list{"--max-hold", "0.01"},
                                     word_list{"--lease", "31536000", "--max-hold", "0.01"}}) {
        const run_plan plan = plan_of(options);
        EXPECT_GT(plan.grace, 0s);
        EXPECT_LE(plan.grace, plan.longest_lease() / 2);
    }
}

TEST(cli_grace, that_is_given_and_fits_is_kept) {
    EXPECT_EQ(plan_of({"--grace", "15"}).grace, 15s);
    EXPECT_EQ(plan_of({"--grace", "0", "--max-hold", "1"}).grace, 0s);
    EXPECT_EQ(plan_of({"--grace", "0.9", "--max-hold", "1"}).grace, 900ms);
}

TEST(cli_grace, that_is_given_and_does_not_fit_is_refused) {
    EXPECT_EQ(refusal_of({"--grace", "1", "--max-hold", "1"}),
              "--grace, 1.00 s, must be shorter than --max-hold, 1.00 s");
    EXPECT_EQ(refusal_of({"--grace", "1.1", "--lease", "2"}),
              "--grace must be a number of seconds from 0 to 1, not \"1.1\"");
}

conch::duration patience_of(const word_list& options) {
    return plan_of(options).server.settings.operation_timeout;
}

TEST(cli_patience, lasts_as_long_as_the_wait) {
    EXPECT_EQ(patience_of({"-w", "600"}), 600s);
    EXPECT_EQ(patience_of({"-w", "600", "--connect-timeout", "60"}), 600s);
}

TEST(cli_patience, has_no_end_without_a_limit) { EXPECT_GE(patience_of({}), 365 * 24h); }

TEST(cli_patience, is_longer_than_that_of_the_first_contact) {
    for (const word_list& options : {word_list{"-n"}, word_list{"-w", "0"}, word_list{"-w", "1"}}) {
        EXPECT_EQ(patience_of(options), 6s);
    }
    EXPECT_EQ(patience_of({"-n", "--connect-timeout", "60"}), 61s);
    EXPECT_EQ(patience_of({"-w", "1", "--connect-timeout", "60"}), 61s);
}

TEST(cli_at_least, may_be_longer_than_the_lease_but_not_than_max_hold) {
    EXPECT_EQ(plan_of({}).at_least, 0s);
    EXPECT_EQ(plan_of({"--at-least", "300", "--lease", "10"}).at_least, 300s);
    EXPECT_EQ(plan_of({"--at-least", "60", "--max-hold", "60"}).at_least, 60s);
    EXPECT_EQ(refusal_of({"--at-least", "61", "--max-hold", "60"}),
              "--at-least must be a number of seconds from 0.01 to 60, not \"61\"");
}

TEST(cli_once, is_a_period_and_when_it_begins) {
    EXPECT_FALSE(plan_of({}).once);
    const auto daily = plan_of({"--once-per", "1d", "--at", "02:30"}).once.value();
    EXPECT_EQ(daily.period, 24h);
    EXPECT_EQ(daily.at, 2h + 30min);
    EXPECT_EQ(plan_of({"--once-per", "90"}).once->period, 90s);
    EXPECT_EQ(plan_of({"--once-per", "365d"}).once->at, 0s);
    EXPECT_EQ(plan_of({"--once-per", "1h", "--at", "0:59:59"}).once->at, 59min + 59s);
}

TEST(cli_once, that_is_no_schedule_is_refused) {
    const auto refused_at = [](const std::string& at) {
        return refusal_of({"--once-per", "1d", "--at", at});
    };
    EXPECT_EQ(refusal_of({"--at", "2:00"}), "--at goes with --once-per only");
    EXPECT_EQ(refusal_of({"--once-per", "soon"}),
              "--once-per must be a time such as 90, 500ms, 5m, 2h or 1d, not \"soon\"");
    for (const char* const per : {"0", "0.9", "366d"}) {
        EXPECT_EQ(
            refusal_of({"--once-per", per}),
            "--once-per must be from 1 second to a year (365d), not \"" + std::string{per} + '"');
    }
    for (const char* const at : {"2", "2:", "2:0", ":00", "24:00", "2:60", "2:00:60", "2:00:00:00",
                                 "2:00 ", "-2:00", "+2:00", "2:+1", "002:00", "noon"}) {
        EXPECT_EQ(refused_at(at), "--at must be a time of day such as 2:00 or 14:30:15, not \"" +
                                      std::string{at} + '"');
    }
    EXPECT_EQ(refusal_of({"--once-per", "1h", "--at", "1:00"}),
              "--at, 1:00, must be less than --once-per, 1h: it is when the first period of a day "
              "begins");
    for (const char* const per : {"7h", "36h", "100000"}) {
        EXPECT_EQ(refusal_of({"--once-per", per, "--at", "1:00"}),
                  "--at goes with a --once-per that divides a day, or is of whole days, not \"" +
                      std::string{per} + '"');
        EXPECT_TRUE(plan_of({"--once-per", per}).once);
    }
    EXPECT_EQ(plan_of({"--once-per", "7d", "--at", "1:00"}).once->at, 1h);
}

TEST(cli_once, goes_with_one_lock_of_one_holder) {
    for (const word_list& others :
         {word_list{"--fair"}, word_list{"--plain"}, word_list{"--rw"}, word_list{"--shared"},
          word_list{"--at-most", "2"}, word_list{"--semaphore"}, word_list{"-l", "second"},
          word_list{"--lead"},
          word_list{"--redis", "redis://a", "--redis", "redis://b", "--redis", "redis://c"}}) {
        word_list options{"--once-per", "1d"};
        options.insert(options.end(), others.begin(), others.end());
        EXPECT_EQ(refusal_of(options),
                  "--once-per goes with one lock that has one holder, at one --redis: not with "
                  "--fair, --plain, --rw, --shared, --at-most, --semaphore, --lock "
                  "or --lead")
            << others.front();
    }
    EXPECT_TRUE(plan_of({"--once-per", "1d", "--fenced", "--at-least", "5"}).once);
}

TEST(cli_progress, is_asked_for_in_seconds) {
    EXPECT_EQ(plan_of({}).lock.progress_within, 0s);
    EXPECT_EQ(plan_of({"--progress-within", "0.5"}).lock.progress_within, 500ms);
    EXPECT_EQ(refusal_of({"--progress-within", "0.05"}),
              "--progress-within must be a number of seconds from 0.1 to 2592000, not \"0.05\"");
}

}  // namespace
