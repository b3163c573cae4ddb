// SPDX-License-Identifier: BSL-1.0
#include "cli/command_error.hpp"
#include "cli/commands.hpp"
#include "cli/text.hpp"

#include <boost/system/system_error.hpp>

#include <array>
#include <exception>
#include <iostream>
#include <string_view>

#ifndef CONCH_VERSION
#define CONCH_VERSION "(no version)"
#endif

namespace conch::cli {
namespace {

constexpr std::string_view overview =
    "conch: distributed locks and rate limits on Redis\n"
    "\n"
    "  conch run [OPTION...] NAME [--] COMMAND...     run a command while holding a lock\n"
    "  conch run [OPTION...] NAME -c STRING           the same, in a shell\n"
    "  conch rate --limit N --per SECS [OPTION...] NAME [--] COMMAND...\n"
    "                                                 run a command if a rate limit allows it\n"
    "  conch hold [OPTION...] NAME                    hold a lock for the script that calls it\n"
    "  conch ls [OPTION...] [PATTERN]                 the locks that are held, and by whom\n"
    "  conch top [OPTION...] [PATTERN]                the same, live, with keys\n"
    "  conch who [OPTION...] NAME                     all that is known of one lock\n"
    "  conch status [OPTION...] NAME                  who holds a lock, in short\n"
    "  conch watch [OPTION...] NAME                   who holds a lock, now and at each change\n"
    "  conch release --force [OPTION...] NAME         take a lock away from its holder\n"
    "  conch demo [OPTION...]                         see a lock at work, and check it\n"
    "  conch help [COMMAND] | COMMAND --help          the options of a command\n"
    "  conch --version\n"
    "\n"
    "NAME is a mutex, unless one of these options says what else:\n"
    "  --fair         first come, first served        (run, hold, status, watch, release)\n"
    "  --rw           a read-write lock, written      (run, hold, status, watch, release)\n"
    "  --shared       a read-write lock, read         (run, hold)\n"
    "  --at-most N    a semaphore: N at once          (run, hold)\n"
    "  --semaphore    the same, whatever its number   (run, hold, status, watch, release)\n"
    "  --plain        the lock of redis-py, redsync   (run, hold, ls, top, status, watch, "
    "release)\n"
    "  --lock NAME    this lock too: all, or none     (run, hold)\n"
    "\n"
    "SECS are seconds, or a time with a unit: 500ms, 90s, 5m, 1.5h or 2d.\n"
    "The Redis server: --redis URL, else $CONCH_REDIS, else redis://127.0.0.1:6379.\n"
    "URLs: redis://[user:password@]host[:port][/db], unix://[:password@]/path[?db=N],\n"
    "redis+sentinel://[user:password@]host[:port],.../master[/db] or\n"
    "redis+cluster://[user:password@]host[:port],...; for TLS rediss://, rediss+sentinel:// or\n"
    "rediss+cluster://, with "
    "?cacert=FILE&cacertdir=FOLDER&cert=FILE&key=FILE&sni=NAME&insecure=true\n"
    "if need be.\n";

struct command {
    std::string_view name;
    int (*call)(const word_list&);
};

constexpr std::array commands{
    command{"demo", demo},      command{"demo-worker", demo_worker},
    command{"hold", hold_lock}, command{"ls", ls},
    command{"rate", rate},      command{"release", release},
    command{"run", run},        command{"status", status},
    command{"top", top},        command{"watch", watch},
    command{"who", who},
};
constexpr const char* known =
    "; it is one of run, rate, hold, ls, top, who, status, watch, release, demo, help";

const command& find_command(const std::string& name) {
    for (const command& c : commands) {
        if (c.name == name) {
            return c;
        }
    }
    throw usage_error("unknown command " + in_quotes(name) + known);
}

int print_overview() {
    std::cout << overview;
    return exit_code::ok;
}

int dispatch(const word_list& words) {
    if (words.empty()) {
        throw usage_error(std::string{"no command given"} + known);
    }
    const std::string& first = words.front();
    if (first == "--help" || first == "-h") {
        return print_overview();
    }
    if (first == "--version") {
        std::cout << "conch " CONCH_VERSION "\n";
        return exit_code::ok;
    }
    if (first.starts_with('-')) {
        throw usage_error("the command comes first, then its options" + std::string{known});
    }
    if (first != "help") {
        return find_command(first).call({words.begin() + 1, words.end()});
    }
    if (words.size() > 2) {
        throw usage_error("help takes one COMMAND at most");
    }
    return words.size() == 1 ? print_overview() : find_command(words.back()).call({"--help"});
}

/// "conch run", or "conch" where the first word is no command.
std::string program_name(const word_list& words) {
    for (const command& c : commands) {
        if (!words.empty() && c.name == words.front()) {
            return "conch " + words.front();
        }
    }
    return "conch";
}

/// Asio throws what the system refuses: a descriptor for the event loop, most of all.
int unexpected(const std::string& name, const std::exception& e) {
    const auto* const refusal = dynamic_cast<const boost::system::system_error*>(&e);
    if (refusal != nullptr && refusal->code().category() == boost::system::system_category()) {
        std::cerr << name << ": the system refused something: " << refusal->code().message()
                  << '\n';
        return exit_code::os_error;
    }
    std::cerr << name << ": unexpected: " << printable(e.what()) << '\n';
    return exit_code::software;
}

int run_program(const word_list& words) {
    const std::string name = program_name(words);
    int status = exit_code::software;
    try {
        status = dispatch(words);
    } catch (const usage_error& e) {
        std::cerr << name << ": " << printable(e.what()) << " (see " << name << " --help)\n";
        return e.exit_status();
    } catch (const command_error& e) {
        std::cerr << name << ": " << printable(e.what()) << '\n';
        return e.exit_status();
    } catch (const std::exception& e) {
        return unexpected(name, e);
    }
    if (!std::cout.flush()) {
        std::cerr << name << ": cannot write to standard output\n";
        return status == exit_code::ok ? exit_code::io_error : status;
    }
    return status;
}

}  // namespace
}  // namespace conch::cli

int main(int argc, char** argv) {
    return conch::cli::run_program(conch::cli::word_list(argv + (argc > 0 ? 1 : 0), argv + argc));
}
