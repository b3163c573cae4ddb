// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_TERMINAL_HPP
#define CONCH_SRC_CLI_TERMINAL_HPP

#include <sys/types.h>

namespace conch::cli {

/// Makes a group of this session the terminal's foreground group, from the background too
/// (SIGTTOU is blocked meanwhile). Async-signal-safe.
bool put_in_foreground(int terminal, pid_t group) noexcept;

/// The controlling terminal, if there is one, and whose turn it is to read from it.
class terminal {
public:
    terminal() noexcept;
    ~terminal();
    terminal(const terminal&) = delete;
    terminal& operator=(const terminal&) = delete;

    /// Close-on-exec; -1: there is none.
    int descriptor() const noexcept { return fd_; }
    /// The group of this process is in the foreground.
    bool ours() const noexcept;
    /// The group in the foreground; -1 without a terminal.
    pid_t foreground() const noexcept;
    /// Puts a group in the foreground.
    void give_to(pid_t group) noexcept;
    /// Puts the group of this process in the foreground, if it was `group` or is nobody any more:
    /// a shell that took the terminal meanwhile keeps it.
    void take_back_from(pid_t group) noexcept;

private:
    int fd_ = -1;
};

/// Standard input, output or error is a pipe, so this process may be one of several that share a
/// terminal, such as `conch run ... | less`.
bool in_pipeline() noexcept;

}  // namespace conch::cli

#endif
