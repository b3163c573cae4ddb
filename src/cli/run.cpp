// SPDX-License-Identifier: BSL-1.0
#include "cli/command_error.hpp"
#include "cli/commands.hpp"
#include "cli/run_session.hpp"
#include "cli/text.hpp"

#include <iostream>
#include <optional>
#include <stdexcept>

namespace conch::cli {
namespace {

namespace po = boost::program_options;

constexpr const char* help =
    "conch run [OPTION...] NAME [--] COMMAND [ARG...]\n"
    "conch run [OPTION...] NAME -c STRING\n"
    "Runs COMMAND while holding the lock NAME. Options come before NAME; every word after it\n"
    "belongs to COMMAND, but for -c: then $SHELL (or /bin/sh) runs STRING.\n\n";

constexpr const char* help_end =
    "\nEvery signal that can be caught is passed on to COMMAND, with its process group.\n"
    "If the lock can't be renewed or is taken away, the group gets SIGTERM, and SIGKILL\n"
    "before the lease ends.\n"
    "With --lead that is the end of a term: it stands in line again. COMMAND's own end ends it.\n"
    "With --at-least the lock stays for the rest, whatever ended COMMAND; nobody holds it then.\n"
    "With --once-per, who comes while COMMAND runs elsewhere waits for its end (-n; -w, which is\n"
    "best less than TIME). A run counts when COMMAND ends under the lock by itself, with any\n"
    "status; not when a signal ended it, or was sent to conch to end it: then conch exits with\n"
    "128+N if COMMAND ends with 0.\n"
    "COMMAND finds $CONCH_NAME, $CONCH_OWNER and, with --fenced or --lead, $CONCH_FENCE;\n"
    "with --progress-within, $CONCH_PROGRESS_FD: \"echo >&$CONCH_PROGRESS_FD\" reports progress.\n"
    "A \"conch run\" of the same NAME inside it would wait for itself.\n"
    "Redis knows the connection as conch:HOST:PID:ID (\"redis-cli client list\").\n"
    "\n"
    "Exit status: that of COMMAND, 128+N if signal N ended it (or ended the waiting), and\n"
    "   1  the lock is held by someone else (-n, -w); see -E\n"
    "  64  wrong command line\n"
    "  69  no Redis, or none that can serve, or the key NAME is no lock; or a run of --once-per\n"
    "     could not be noted\n"
    "  71  the system refused something, such as one process more; nothing was run\n"
    "  75  the lock was lost while COMMAND ran, or before; --max-hold was reached; or COMMAND\n"
    "     reported no progress in time\n"
    " 126  COMMAND can't be executed\n"
    " 127  COMMAND not found\n";

}  // namespace

int run(const word_list& words) {
    const po::options_description options = run_options();
    std::optional<run_plan> plan = read_run_plan(words, options);
    if (!plan) {
        std::cout << help << options << help_end;
        return exit_code::ok;
    }
    std::optional<progress_pipe> progress;
    if (plan->lock.progress_within > duration::zero()) {
        progress.emplace();
    }
    std::optional<run_session> session;
    try {
        session.emplace(*plan, progress ? &*progress : nullptr);
    } catch (const std::invalid_argument& e) {
        throw usage_error(plain_reason(e.what()));
    }
    const int status = session->go();
    const bool interrupted = session->interrupted();
    session.reset();
    if (interrupted) {
        // A shell script that it is part of has not heard of a Ctrl-C that went to the command.
        end_by_interrupt(true);
    }
    return status;
}

}  // namespace conch::cli
