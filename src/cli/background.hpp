// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_BACKGROUND_HPP
#define CONCH_SRC_CLI_BACKGROUND_HPP

#include <sys/types.h>

#include <optional>

namespace conch::cli {

/// Goes on in a child process, of a session of its own, while the process that was started waits
/// until the child has what it asks for.
class background {
public:
    /// Forks; there must be one thread. In the child: nothing. In the process that was started: its
    /// exit status, once the child has let it go or has ended. Throws `command_error`.
    std::optional<int> start();

    /// Of the child: a descriptor that has an error once the process that was started has ended.
    int starter() const noexcept { return pipe_; }
    /// Of the child: the process that was started ends with 0. Input and output are closed. False
    /// if it has ended before, by a signal.
    bool let_go() noexcept;

private:
    static int status_of(pid_t child, int pipe) noexcept;

    int pipe_ = -1;
};

}  // namespace conch::cli

#endif
