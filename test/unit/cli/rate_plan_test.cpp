// SPDX-License-Identifier: BSL-1.0
// The command line of `conch rate`.
#include "cli/command_error.hpp"
#include "cli/rate_plan.hpp"

#include <gtest/gtest.h>

namespace {

using namespace conch::cli;
using namespace std::chrono_literals;
using conch::rate_algorithm;

const word_list five_a_second{"--limit", "5", "--per", "1"};

rate_plan rate_plan_of(word_list options, const word_list& rest = {"name", "true"}) {
    options.insert(options.end(), rest.begin(), rest.end());
    return read_rate_plan(options, rate_plan_options()).value();
}

rate_plan plan_with(const word_list& more, const word_list& rest = {"name", "true"}) {
    word_list options = five_a_second;
    options.insert(options.end(), more.begin(), more.end());
    return rate_plan_of(options, rest);
}

template <typename Read>
std::string refusal_by(Read read) {
    try {
        read();
    } catch (const usage_error& e) {
        return e.what();
    }
    return "";
}

std::string refused_rate(const word_list& options) {
    return refusal_by([&] { rate_plan_of(options); });
}

std::string refusal_with(const word_list& more, const word_list& rest = {"name", "true"}) {
    return refusal_by([&] { plan_with(more, rest); });
}

TEST(cli_rate, takes_one_permit_of_any_window_at_once_by_default) {
    const rate_plan plan = plan_with({});
    EXPECT_EQ(plan.allowed.limit, 5u);
    EXPECT_EQ(plan.allowed.window, 1s);
    EXPECT_EQ(plan.permits, 1u);
    EXPECT_EQ(plan.algorithm, rate_algorithm::sliding_log);
    EXPECT_EQ(plan.wait, 0s);
    EXPECT_EQ(plan.refused_status, 1);
    EXPECT_FALSE(plan.verbose || plan.quiet);
}

TEST(cli_rate, has_a_window_with_a_fraction) {
    EXPECT_EQ(rate_plan_of({"--limit=2000", "--per=0.25"}).allowed.window, 250ms);
}

TEST(cli_rate, has_options_of_its_own) {
    const rate_plan plan = plan_with({"--permits", "3", "--fixed", "-w", "2.5", "-E7", "-q"});
    EXPECT_EQ(plan.permits, 3u);
    EXPECT_EQ(plan.algorithm, rate_algorithm::fixed_window);
    EXPECT_EQ(plan.wait, 2500ms);
    EXPECT_EQ(plan.refused_status, 7);
    EXPECT_TRUE(plan.quiet);
}

TEST(cli_rate, hands_them_out_at_an_even_pace_with_a_burst) {
    const rate_plan plan = plan_with({"--burst", "3", "--permits", "3"});
    EXPECT_EQ(plan.algorithm, rate_algorithm::gcra);
    EXPECT_EQ(plan.allowed.burst, 3u);
    EXPECT_EQ(refusal_with({"--burst", "6"}),
              "--burst must be a whole number from 1 to 5, not \"6\"");
    EXPECT_EQ(refusal_with({"--burst", "0"}),
              "--burst must be a whole number from 1 to 5, not \"0\"");
    EXPECT_EQ(refusal_with({"--burst", "3", "--permits", "4"}),
              "--permits must be a whole number from 1 to 3, not \"4\"");
    EXPECT_EQ(refusal_with({"--burst", "3", "--fixed"}), "--fixed and --burst exclude each other");
}

TEST(cli_rate, needs_limit_and_window) {
    EXPECT_EQ(refused_rate({"--per", "1"}), "--limit N is missing");
    EXPECT_EQ(refused_rate({"--limit", "1"}), "--per SECS is missing");
}

TEST(cli_rate, refuses_a_limit_that_the_library_refuses) {
    const std::string range = "--limit must be a whole number from 1 to 1000000000, not ";
    EXPECT_EQ(refused_rate({"--limit", "0", "--per", "1"}), range + "\"0\"");
    EXPECT_EQ(refused_rate({"--limit", "1000000001", "--per", "1"}), range + "\"1000000001\"");
    EXPECT_EQ(refused_rate({"--limit", "1.5", "--per", "1"}), range + "\"1.5\"");
    EXPECT_EQ(rate_plan_of({"--limit", "1000000000", "--per", "1"}).allowed.limit, 1'000'000'000u);
}

TEST(cli_rate, refuses_a_window_that_the_library_refuses) {
    const std::string range = "--per must be a number of seconds from 0.001 to 31536000, not ";
    EXPECT_EQ(refused_rate({"--limit", "1", "--per", "0.0009"}), range + "\"0.0009\"");
    EXPECT_EQ(refused_rate({"--limit", "1", "--per", "31536001"}), range + "\"31536001\"");
    EXPECT_EQ(rate_plan_of({"--limit", "1", "--per", "0.001"}).allowed.window, 1ms);
    EXPECT_EQ(rate_plan_of({"--limit", "1", "--per", "31536000"}).allowed.window, 365 * 24h);
}

TEST(cli_rate, takes_no_more_permits_than_the_limit) {
    EXPECT_EQ(plan_with({"--permits", "5"}).permits, 5u);
    EXPECT_EQ(refusal_with({"--permits", "6"}),
              "--permits must be a whole number from 1 to 5, not \"6\"");
    EXPECT_EQ(refusal_with({"--permits", "0"}),
              "--permits must be a whole number from 1 to 5, not \"0\"");
}

TEST(cli_rate, knows_no_option_of_a_lock) {
    for (const char* option : {"-n", "--plain", "--fenced", "--lease=1"}) {
        EXPECT_NE(refusal_with({option}).find("unknown option"), std::string::npos) << option;
    }
}

TEST(cli_rate, names_what_is_missing_or_empty) {
    EXPECT_EQ(refusal_with({}, {}), "the rate limit's NAME and the COMMAND are missing");
    EXPECT_EQ(refusal_with({}, {"name"}), "the COMMAND to run is missing");
    EXPECT_EQ(refusal_with({}, {"", "true"}), "the rate limit's NAME is empty");
}

TEST(cli_rate, leaves_every_word_after_the_name_to_the_command) {
    const word_list command{"cmd", "-w", "5", "--", "--limit"};
    for (const word_list& before : {word_list{"name"}, word_list{"name", "--"}}) {
        word_list rest = before;
        rest.insert(rest.end(), command.begin(), command.end());
        const rate_plan plan = plan_with({}, rest);
        EXPECT_EQ(plan.name, "name");
        EXPECT_EQ(plan.command, command);
    }
}

TEST(cli_rate, is_as_patient_with_the_server_as_its_wait) {
    EXPECT_EQ(plan_with({"-w", "600"}).server.settings.operation_timeout, 600s);
    EXPECT_EQ(plan_with({}).server.settings.operation_timeout, 6s);
}

TEST(cli_rate, plans_nothing_where_help_is_wanted) {
    EXPECT_FALSE(read_rate_plan({"-h"}, rate_plan_options()).has_value());
}

}  // namespace
