// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_TERMINAL_SESSION_HPP
#define CONCH_TEST_SUPPORT_TERMINAL_SESSION_HPP

#include "support/program.hpp"

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace conch::test {

/// A program on a terminal of its own, as its session's leader. The destructor hangs up and kills
/// the leader. Every wait is bounded; what goes wrong is thrown as `std::runtime_error`.
class terminal_session {
public:
    /// `line`: the path of the program, and its arguments.
    explicit terminal_session(std::vector<std::string> line,
                              const program::environment& variables = {});
    ~terminal_session();
    /// False where the machine has no pseudo-terminals (a container without devpts).
    static bool possible();
    terminal_session(const terminal_session&) = delete;
    terminal_session& operator=(const terminal_session&) = delete;

    pid_t pid() const noexcept { return pid_; }
    /// As from the keyboard: "\x03" is Ctrl-C, "\x1a" Ctrl-Z.
    void type(std::string_view text) const;
    /// Gives the terminal another size; the foreground process group gets SIGWINCH.
    void resize(unsigned short columns, unsigned short lines) const;
    /// Waits until the screen shows this behind what was waited for before; returns what was shown
    /// between the two.
    std::string wait_for(std::string_view text,
                         std::chrono::milliseconds limit = program::patience);
    /// The process group that reads what is typed.
    pid_t foreground() const;
    /// Waits until the leader has ended: how, and all that was on the screen.
    ended finish(std::chrono::milliseconds limit = program::patience);

private:
    using time_point = std::chrono::steady_clock::time_point;
    void read_more(time_point deadline);

    pid_t pid_ = -1;
    int master_ = -1;
    bool hung_up_ = false;
    std::string screen_{};
    std::size_t seen_ = 0;
};

}  // namespace conch::test

#endif
