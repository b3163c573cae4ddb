// SPDX-License-Identifier: BSL-1.0
#include "cli/rate_plan.hpp"

#include "cli/command_error.hpp"
#include "cli/text.hpp"

#include <algorithm>
#include <string>

namespace conch::cli {
namespace {

namespace po = boost::program_options;
using namespace std::chrono_literals;

constexpr std::uint32_t highest_limit = 1'000'000'000;
constexpr duration longest_window = std::chrono::hours{24 * 365};

void read_rate(const po::variables_map& values, rate_plan& plan) {
    const std::string limit = text_option(values, "limit");
    const auto window = seconds_option(values, "per", 1ms, longest_window);
    if (limit.empty() || !window) {
        throw usage_error(limit.empty() ? "--limit N is missing" : "--per SECS is missing");
    }
    const std::uint32_t most = parse_count("--limit", limit, highest_limit);
    plan.allowed = {.limit = most, .window = *window};
    std::uint32_t at_once = most;
    if (values.count("fixed") != 0 && values.count("burst") != 0) {
        throw usage_error("--fixed and --burst exclude each other");
    }
    if (values.count("fixed") != 0) {
        plan.algorithm = rate_algorithm::fixed_window;
    } else if (values.count("burst") != 0) {
        at_once = parse_count("--burst", text_option(values, "burst"), most);
        plan.algorithm = rate_algorithm::gcra;
        plan.allowed.burst = at_once;
    }
    if (values.count("permits") != 0) {
        plan.permits = parse_count("--permits", text_option(values, "permits"), at_once);
    }
}

}  // namespace

po::options_description rate_plan_options() {
    const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
    po::options_description options{"Options"};
    auto add = options.add_options();
    add("limit", text("N"), "how many permits there are; needed");
    add("per", text("SECS"), "in how much time; needed");
    add("permits", text("N"), "take so many of them, all or none (default: 1)");
    add("fixed",
        "count in windows that begin with their first permit (default: in the time that "
        "ends now, whenever now is)");
    add("burst", text("N"),
        "keep so many permits ready; one comes back each SECS/limit (not with --fixed)");
    add("wait,timeout,w", text("SECS"), "wait for permits, so long at most (default: 0, ask once)");
    add_command_options(options, "the limit is reached");
    add_server_options(options);
    add("help,h", "show this");
    return options;
}

std::optional<rate_plan> read_rate_plan(const word_list& words,
                                        const po::options_description& options) {
    std::optional<rate_plan> plan{std::in_place};
    const po::variables_map values = read_command_plan(words, options, "rate limit", *plan);
    if (values.count("help") != 0) {
        return std::nullopt;
    }
    read_rate(values, *plan);
    plan->wait = seconds_option(values, "wait", 0ns, longest_wait).value_or(0ns);
    expect_one_server(plan->server, "rate");
    plan->server.be_patient(plan->wait);
    return plan;
}

}  // namespace conch::cli
