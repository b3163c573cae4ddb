// SPDX-License-Identifier: BSL-1.0
#include "cli/run_plan.hpp"

#include "cli/command_error.hpp"
#include "cli/text.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace conch::cli {
namespace {

namespace po = boost::program_options;
using namespace std::chrono_literals;

constexpr duration one_year = std::chrono::hours{24 * 365};

/// Options of flock(1) that have no meaning here, but an answer.
po::options_description with_those_of_flock(const po::options_description& options) {
    po::options_description all;
    all.add(options);
    auto add = all.add_options();
    add("exclusive,x", "");  // as every lock is without --shared
    add("exclusively,e", "");
    add("unlock,u", "");
    add("close,o", "");
    return all;
}

void refuse_those_of_flock(const po::variables_map& values) {
    if (values.count("unlock") != 0) {
        throw usage_error("--unlock, -u: a lock ends with its command; \"conch release --force\" "
                          "takes it away from whoever holds it");
    }
    if (values.count("close") != 0) {
        throw usage_error("--close, -o: the command never gets a descriptor of the lock");
    }
}

void read_at_least(const po::variables_map& values, run_plan& plan) {
    const duration most = std::min<duration>(one_year, plan.lock.max_hold);
    plan.at_least = seconds_option(values, "at-least", 10ms, most).value_or(0ns);
}

/// After the lock's options.
void read_lead(const po::variables_map& values, run_plan& plan) {
    plan.leads = values.count("lead") != 0;
    if (!plan.leads) {
        return;
    }
    for (const char* other : {"nonblock", "lock", "at-least"}) {
        if (values.count(other) != 0) {
            throw usage_error("--lead and --" + std::string{other} + " exclude each other");
        }
    }
    if (plan.lock.wait == duration{}) {
        throw usage_error("--lead and --wait 0 exclude each other");
    }
    plan.kind.fenced = true;
}

/// The lock is one usual mutex, beside which a note can be kept.
bool is_one_mutex(const run_plan& plan) {
    return !plan.leads && plan.server.kind == lock_kind::usual && plan.server.others.empty() &&
           plan.names.size() == 1;
}

void read_once(const po::variables_map& values, run_plan& plan) {
    using namespace std::chrono_literals;
    const std::string per = text_option(values, "once-per");
    const std::string at = text_option(values, "at");
    if (per.empty()) {
        if (!at.empty()) {
            throw usage_error("--at goes with --once-per only");
        }
        return;
    }
    once_schedule& s = plan.once.emplace();
    s.period = parse_time("--once-per", per);
    if (s.period < 1s || s.period > std::chrono::hours{24 * 365}) {
        throw usage_error("--once-per must be from 1 second to a year (365d), not " +
                          in_quotes(per));
    }
    s.at = at.empty() ? 0ns : parse_time_of_day("--at", at);
    if (!at.empty() && 24h % s.period != 0ns && s.period % 24h != 0ns) {
        throw usage_error(
            "--at goes with a --once-per that divides a day, or is of whole days, not " +
            in_quotes(per));
    }
    if (s.at >= s.period) {
        throw usage_error("--at, " + at + ", must be less than --once-per, " + per +
                          ": it is when the first period of a day begins");
    }
    if (!is_one_mutex(plan)) {
        throw usage_error(
            "--once-per goes with one lock that has one holder, at one --redis: not "
            "with --fair, --plain, --rw, --shared, --at-most, --semaphore, --lock "
            "or --lead");
    }
}

}  // namespace

po::options_description run_options() {
    po::options_description options{"Options"};
    add_lock_plan_options(options, "take a fencing token, for $CONCH_FENCE");
    options.add_options()("at-least", po::value<std::string>()->value_name("SECS"),
                          "keep the lock until SECS after it was taken, also if COMMAND ends "
                          "earlier; conch ends with it");
    options.add_options()("lead",
                          "run COMMAND whenever this process leads, of all that run with --lead "
                          "NAME; end when COMMAND ends by itself");
    options.add_options()("once-per", po::value<std::string>()->value_name("TIME"),
                          "run COMMAND once in each TIME (such as 1d), on one of all hosts; others "
                          "end with status 0");
    options.add_options()("at", po::value<std::string>()->value_name("HH:MM"),
                          "with --once-per: when a period begins, in UTC (default: 00:00)");
    options.add_options()("progress-within", po::value<std::string>()->value_name("SECS"),
                          "renew the lease only while COMMAND writes something to descriptor "
                          "$CONCH_PROGRESS_FD at least every SECS");
    add_command_options(options, "the lock is held");
    add_lock_options(options);
    options.add_options()("help,h", "show this");
    return options;
}

std::optional<run_plan> read_run_plan(const word_list& words,
                                      const po::options_description& options) {
    std::optional<run_plan> plan{std::in_place};
    const po::variables_map values =
        read_command_plan(words, with_those_of_flock(options), "lock", *plan);
    if (values.count("help") != 0) {
        return std::nullopt;
    }
    refuse_those_of_flock(values);
    read_lock_plan(values, *plan);
    read_at_least(values, *plan);
    read_lead(values, *plan);
    read_once(values, *plan);
    plan->lock.progress_within =
        seconds_option(values, "progress-within", 100ms, 30 * 24h).value_or(0ns);
    return plan;
}

}  // namespace conch::cli
