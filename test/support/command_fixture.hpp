// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_COMMAND_FIXTURE_HPP
#define CONCH_TEST_SUPPORT_COMMAND_FIXTURE_HPP

#include "support/program.hpp"
#include "support/redis_test.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace conch::test {

using words = std::vector<std::string>;

/// A command that says that it runs, and ends with its input.
inline const words until_end_of_input{"sh", "-c", "echo in; exec cat"};

/// A command that tells the time, in nanoseconds, again and again; "term" at SIGTERM, and goes on.
inline const words heartbeats{"bash", "-c",
                              "trap 'echo term' TERM; while :; do date +%s%N; done"};

/// The number on the last line, of what `heartbeats` wrote.
inline std::int64_t last_number(const std::string& text) {
    const auto end = text.rfind('\n');
    const auto begin = text.rfind('\n', end - 1) + 1;
    return std::stoll(text.substr(begin, end - begin));
}

inline std::int64_t wall_time() {
    return std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds{1};
}

inline void expect_one_line(const std::string& text) {
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    EXPECT_TRUE(text.ends_with('\n')) << text;
}

inline void expect_in(const std::string& part, const std::string& text) {
    EXPECT_NE(text.find(part), std::string::npos) << '"' << part << "\" is not in: " << text;
}

/// The program `conch`, started as from a shell. $CONCH_REDIS names the test's server, unless a
/// test says otherwise.
class command_fixture : public redis_test {
protected:
    static words conch(words arguments) {
        arguments.insert(arguments.begin(), CONCH_PROGRAM_PATH);
        return arguments;
    }
    /// conch run OPTION... lock -- COMMAND...
    static words run_words(const words& options, const words& command) {
        words all = conch({"run"});
        all.insert(all.end(), options.begin(), options.end());
        all.insert(all.end(), {"lock", "--"});
        all.insert(all.end(), command.begin(), command.end());
        return all;
    }
    program::environment here() const { return {{"CONCH_REDIS", url()}}; }
    std::string nowhere() const { return "unix://" + folder.path() + "/none.sock"; }

    ended run_to_end(const words& options, const words& command) const {
        program p{run_words(options, command), here()};
        return p.finish();
    }
    ended to_end(const words& arguments) const {
        program p{conch(arguments), here()};
        return p.finish();
    }
    ended to_end(const words& arguments, const std::string& url) const {
        program p{conch(arguments), {{"CONCH_REDIS", url}}};
        return p.finish();
    }
    bool waiter_listens() {
        return run_until(io, [&] { return listening("lock"); });
    }
    /// The guardian of this `conch run`; it names itself soon after it was started.
    pid_t guardian_of(pid_t runner) {
        pid_t guardian = -1;
        run_until(io, [&] { return (guardian = child_named(runner, "conch-guardian")) > 0; });
        return guardian;
    }
    /// Waits until this process is no more; a zombie is none.
    bool has_ended(pid_t pid) {
        return run_until(io, [&] { return !is_alive(pid); });
    }
    void expect_free() { EXPECT_EQ(raw.dbsize(), 0) << "something is left"; }

    temporary_folder folder{};
};

}  // namespace conch::test

#endif
