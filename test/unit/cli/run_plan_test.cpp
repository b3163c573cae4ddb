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

}  // namespace
