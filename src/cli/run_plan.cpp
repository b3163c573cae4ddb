// SPDX-License-Identifier: BSL-1.0
#include "cli/run_plan.hpp"

#include "cli/command_error.hpp"
#include "cli/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace conch::cli {
namespace {

namespace po = boost::program_options;
using namespace std::chrono_literals;

constexpr duration one_year = std::chrono::hours{24 * 365};

/// The value of an option in seconds, if it was given.
std::optional<duration> seconds_option(const po::variables_map& values, const char* name,
                                       duration least, duration most) {
    const std::string text = text_option(values, name);
    if (text.empty()) {
        return std::nullopt;
    }
    return parse_seconds("--" + std::string{name}, text, least, most);
}

/// After the lease and --max-hold.
void read_grace(const po::variables_map& values, run_plan& plan) {
    const lock_options& lock = plan.lock;
    const auto wanted = seconds_option(values, "grace", 0ns, lock.lease / 2);
    if (wanted && *wanted >= lock.max_hold) {
        throw usage_error("--grace, " + short_time(*wanted) +
                          ", must be shorter than --max-hold, " + short_time(lock.max_hold));
    }
    plan.grace = wanted.value_or(plan.longest_lease() / 6);
}

void read_lock_options(const po::variables_map& values, run_plan& plan) {
    lock_options& lock = plan.lock;
    lock.wait = seconds_option(values, "wait", 0ns, one_year);
    if (values.count("nonblock") != 0) {
        if (lock.wait) {
            throw usage_error("--nonblock and --wait exclude each other");
        }
        lock.wait = 0ns;
    }
    lock.lease = seconds_option(values, "lease", 100ms, one_year).value_or(lock.lease);
    lock.max_hold = seconds_option(values, "max-hold", 10ms, one_year).value_or(forever);
    read_grace(values, plan);
    if (values.count("conflict-exit-code") != 0) {
        plan.busy_status =
            parse_status("--conflict-exit-code", text_option(values, "conflict-exit-code"));
    }
    plan.kind.fenced = values.count("fenced") != 0;
    plan.verbose = values.count("verbose") != 0;
    plan.quiet = values.count("quiet") != 0;
    if (plan.verbose && plan.quiet) {
        throw usage_error("--verbose and --quiet exclude each other");
    }
}

word_list shell_command(const std::string& text) {
    const char* const set = std::getenv("SHELL");
    const std::string shell = set != nullptr && *set != '\0' ? set : "/bin/sh";
    return {shell, "-c", text};
}

/// The words after our own options: NAME, then the command.
void read_words(word_list rest, const po::variables_map& values, run_plan& plan) {
    const std::string string = text_option(values, "command");
    if (rest.empty()) {
        throw usage_error(string.empty() ? "the lock's NAME and the COMMAND are missing"
                                         : "the lock's NAME is missing");
    }
    check_lock_name(rest.front());
    plan.lock_name = rest.front();
    rest.erase(rest.begin());
    if (!string.empty()) {
        if (!rest.empty()) {
            throw usage_error("a COMMAND and -c exclude each other");
        }
        plan.command = shell_command(string);
        return;
    }
    if (!rest.empty() && (rest.front() == "-c" || rest.front() == "--command")) {
        if (rest.size() != 2 || rest.back().empty()) {
            throw usage_error(
                "-c takes exactly one word, the STRING that the shell runs; put it "
                "into quotes");
        }
        plan.command = shell_command(rest.back());
        return;
    }
    const bool marked = !rest.empty() && rest.front() == "--";
    if (marked) {
        rest.erase(rest.begin());
    }
    if (rest.empty() || rest.front().empty()) {
        throw usage_error("the COMMAND to run is missing");
    }
    if (!marked && rest.front().front() == '-') {
        throw usage_error("options come before NAME: " + quoted(rest.front()) + " comes after " +
                          quoted(plan.lock_name) + "; write -- before a COMMAND of that name");
    }
    plan.command = std::move(rest);
}

}  // namespace

po::options_description run_options() {
    const auto seconds = [] { return po::value<std::string>()->value_name("SECS"); };
    po::options_description options{"Options"};
    auto add = options.add_options();
    add("nonblock,nb,n", "do not wait if the lock is held");
    add("wait,timeout,w", seconds(),
        "wait for so long at most, also for a server that has gone away (default: as long as it "
        "takes)");
    add("conflict-exit-code,E", po::value<std::string>()->value_name("CODE"),
        "the exit status if the lock is held (default: 1)");
    add("command,c", po::value<std::string>()->value_name("STRING"),
        "let the shell run STRING; also after NAME");
    add("lease", seconds(), "the lease, renewed every third of it (default: 30)");
    add("max-hold", seconds(), "hold the lock for so long at most (default: no limit)");
    add("grace", seconds(),
        "from SIGTERM to the end of the lease (default: a sixth of the lease or of --max-hold, "
        "whichever is shorter; at most half of the lease)");
    add("fenced", "take a fencing token, for $CONCH_FENCE");
    add("verbose,v", "tell what happens, on standard error");
    add("quiet,q", "say nothing if the lock is held, but for the exit status");
    add_server_options(options);
    add("help,h", "show this");
    return options;
}

std::optional<run_plan> read_run_plan(const word_list& words,
                                      const po::options_description& options) {
    const auto own = static_cast<std::ptrdiff_t>(count_own_words(words, options));
    const po::variables_map values = parse_words({words.begin(), words.begin() + own}, options);
    if (values.count("help") != 0) {
        return std::nullopt;
    }
    std::optional<run_plan> plan{std::in_place};
    read_words({words.begin() + own, words.end()}, values, *plan);
    read_lock_options(values, *plan);
    plan->server = read_server_options(values);
    // A server that has answered once and goes away is waited for as long as the lock.
    duration& patience = plan->server.settings.operation_timeout;
    patience = std::max(patience, plan->lock.wait.value_or(one_year));
    return plan;
}

}  // namespace conch::cli
