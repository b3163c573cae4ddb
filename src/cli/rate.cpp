// SPDX-License-Identifier: BSL-1.0
#include "cli/command_error.hpp"
#include "cli/commands.hpp"
#include "cli/exec.hpp"
#include "cli/rate_session.hpp"
#include "cli/text.hpp"

#include <iostream>
#include <optional>
#include <stdexcept>

namespace conch::cli {
namespace {

namespace po = boost::program_options;

constexpr const char* rate_help =
    "conch rate --limit N --per SECS [OPTION...] NAME [--] COMMAND [ARG...]\n"
    "conch rate --limit N --per SECS [OPTION...] NAME -c STRING\n"
    "Runs COMMAND if the rate limit NAME, which all processes share, has a permit left: N of them\n"
    "in SECS. Options come before NAME; every word after it belongs to COMMAND, but for -c:\n"
    "then $SHELL (or /bin/sh) runs STRING.\n\n";

constexpr const char* rate_help_end =
    "\nWho waits (-w) is told at once if SECS can't be enough; among processes there is no order.\n"
    "A permit stays granted whatever becomes of COMMAND: there is no giving back. COMMAND takes\n"
    "the place of this process: same number, same group.\n"
    "\n"
    "Exit status: that of COMMAND, 128+N if signal N ended the waiting, and\n"
    "   1  the limit is reached, nothing was run; see -E\n"
    "  64  wrong command line\n"
    "  69  no Redis, or none that can serve, or the key NAME is no rate limit, or the answer was\n"
    "      lost (then a permit may have been counted); nothing was run\n"
    "  71  the system refused something; nothing was run\n"
    " 126  COMMAND can't be executed\n"
    " 127  COMMAND not found\n";

}  // namespace

int rate(const word_list& words) {
    const po::options_description options = rate_plan_options();
    std::optional<rate_plan> plan = read_rate_plan(words, options);
    if (!plan) {
        std::cout << rate_help << options << rate_help_end;
        return exit_code::ok;
    }
    std::optional<rate_session> session;
    try {
        session.emplace(*plan);
    } catch (const std::invalid_argument& e) {
        throw usage_error(plain_reason(e.what()));
    }
    const std::optional<int> status = session->go();
    const bool interrupted = session->interrupted();
    const sigset_t mask = session->former_mask();
    session.reset();  // with every descriptor and thread
    if (interrupted) {
        end_by_interrupt(false);
    }
    if (status) {
        return *status;
    }
    throw replace_process(plan->command, mask);
}

}  // namespace conch::cli
