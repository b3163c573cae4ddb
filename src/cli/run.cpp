// SPDX-License-Identifier: BSL-1.0
#include "cli/command_error.hpp"
#include "cli/commands.hpp"
#include "cli/run_session.hpp"
#include "cli/server_url.hpp"
#include "cli/text.hpp"

#include <iostream>
#include <optional>
#include <stdexcept>

namespace conch::cli {
namespace {

namespace po = boost::program_options;
using namespace std::chrono_literals;

constexpr duration one_year = std::chrono::hours{24 * 365};

constexpr const char* help =
    "conch run [OPTION...] NAME [--] COMMAND [ARG...]: runs COMMAND while holding the lock NAME.\n"
    "Options come before NAME; every word after it belongs to COMMAND.\n\n";

constexpr const char* help_end =
    "\nSIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 are passed on to COMMAND. If the lock\n"
    "can't be renewed, COMMAND gets SIGTERM a sixth of the lease before it ends, and SIGKILL\n"
    "when it ends; processes that COMMAND started are not ended.\n"
    "\n"
    "Exit status: that of COMMAND, 128+N if signal N ended it (or ended the waiting), and\n"
    "   1  the lock is held by someone else (-n, -w)\n"
    "  64  wrong command line\n"
    "  69  no Redis, or none that can serve\n"
    "  75  the lock was lost while COMMAND ran\n"
    " 126  COMMAND can't be executed\n"
    " 127  COMMAND not found\n";

po::options_description run_options() {
    po::options_description options{"Options"};
    auto add = options.add_options();
    add("nonblock,n", "do not wait if the lock is held");
    add("wait,w", po::value<std::string>()->value_name("SECS"),
        "wait for so long at most (default: as long as it takes)");
    add("lease", po::value<std::string>()->value_name("SECS"),
        "the lease, renewed every third of it (default: 30)");
    add("redis", po::value<std::string>()->value_name("URL"),
        "the server (default: $CONCH_REDIS, then redis://127.0.0.1:6379)");
    add("help,h", "show this");
    return options;
}

lock_options lock_settings(const po::variables_map& values) {
    lock_options lock;
    const std::string wait = text_option(values, "wait");
    const std::string lease = text_option(values, "lease");
    if (values.count("nonblock") != 0) {
        if (!wait.empty()) {
            throw usage_error("--nonblock and --wait exclude each other");
        }
        lock.wait = 0ns;
    }
    if (!wait.empty()) {
        lock.wait = parse_seconds("--wait", wait, 0ns, one_year);
    }
    if (!lease.empty()) {
        lock.lease = parse_seconds("--lease", lease, 100ms, one_year);
    }
    return lock;
}

}  // namespace

int run(const word_list& words) {
    const po::options_description options = run_options();
    const auto own = static_cast<std::ptrdiff_t>(count_own_words(words, options));
    const po::variables_map values = parse_words({words.begin(), words.begin() + own}, options);
    if (values.count("help") != 0) {
        std::cout << help << options << help_end;
        return exit_code::ok;
    }
    word_list rest{words.begin() + own, words.end()};
    if (rest.empty()) {
        throw usage_error("the lock's NAME and the COMMAND are missing");
    }
    run_plan plan;
    plan.lock_name = rest.front();
    rest.erase(rest.begin());
    if (!rest.empty() && rest.front() == "--") {
        rest.erase(rest.begin());
    }
    if (rest.empty() || rest.front().empty()) {
        throw usage_error("the COMMAND to run is missing");
    }
    plan.command = std::move(rest);
    plan.lock = lock_settings(values);
    plan.server = choose_server(text_option(values, "redis"));
    std::optional<run_session> session;
    try {
        session.emplace(plan);
    } catch (const std::invalid_argument& e) {
        throw usage_error(e.what());
    }
    return session->go();
}

}  // namespace conch::cli
