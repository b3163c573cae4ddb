// SPDX-License-Identifier: BSL-1.0
#include "cli/command_error.hpp"
#include "cli/commands.hpp"
#include "cli/hold_session.hpp"
#include "cli/text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <optional>
#include <stdexcept>

namespace conch::cli {
namespace {

namespace po = boost::program_options;

constexpr const char* hold_help =
    "conch hold [OPTION...] NAME\n"
    "Holds the lock NAME for the process that started it, such as a script, as \"flock 9\" does:\n"
    "    conch hold -b NAME || exit\n"
    "Without -b it writes \"held NAME\" once it holds the lock (and the fence behind it, with\n"
    "--fenced), and holds it until its input ends too. With -b it writes the fence, or "
    "nothing.\n\n";

constexpr const char* hold_help_end =
    "\nThe lock is released as soon as the caller ends, also by kill -9. If the lock can't be\n"
    "renewed or is taken away, the caller gets SIGTERM; see --kill and --grace. What the caller\n"
    "has started goes on, but for --kill.\n"
    "An input that is a file or /dev/null never ends.\n"
    "\n"
    "Exit status: 0 if the lock was released, or with -b is held, and\n"
    " 128+N  signal N ended it; 129 also if the input or the caller ended before it had the lock\n"
    "   1  the lock is held by someone else (-n, -w); see -E\n"
    "  64  wrong command line\n"
    "  69  no Redis, or none that can serve, or the key NAME is no lock\n"
    "  71  the system refused something, such as to watch the caller\n"
    "  74  standard output can't be written\n"
    "  75  the lock was lost, or --max-hold was reached\n";

/// What is opened later must not become the input or the output of this process. The children of
/// one that ignores SIGCHLD lose their numbers before anybody asks how they ended.
void take_nothing_over() {
    for (int fd = 0; fd >= 0 && fd <= STDERR_FILENO;) {
        fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (fd > STDERR_FILENO) {
            ::close(fd);
        }
    }
    std::signal(SIGCHLD, SIG_DFL);
}

int hold_in(const hold_plan& plan, const caller& whose, background* place) {
    std::optional<hold_session> session;
    try {
        session.emplace(plan, whose, place);
    } catch (const std::invalid_argument& e) {
        throw usage_error(plain_reason(e.what()));
    }
    const int status = session->go();
    const bool interrupted = session->interrupted();
    session.reset();
    if (interrupted) {
        end_by_interrupt(false);
    }
    return status;
}

}  // namespace

int hold_lock(const word_list& words) {
    take_nothing_over();
    const po::options_description options = hold_options();
    const std::optional<hold_plan> plan = read_hold_plan(words, options);
    if (!plan) {
        std::cout << hold_help << options << hold_help_end;
        return exit_code::ok;
    }
    const caller whose{plan->kills};
    if (!plan->in_background) {
        return hold_in(*plan, whose, nullptr);
    }
    background place;
    const std::optional<int> status = place.start();
    return status ? *status : hold_in(*plan, whose, &place);
}

}  // namespace conch::cli
