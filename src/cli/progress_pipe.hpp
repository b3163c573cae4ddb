// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_PROGRESS_PIPE_HPP
#define CONCH_SRC_CLI_PROGRESS_PIPE_HPP

namespace conch::cli {

/// What commands report their progress by, one after the other: each inherits one end of a pipe of
/// its own, and writes to it whatever it likes. That end is one to read from as well: who still
/// writes to it when this process is gone gets no SIGPIPE. All ends are close-on-exec here.
class progress_pipe {
public:
    /// Makes the first command's pipe, so that a system that has none tells before the lock is
    /// acquired. Make it before anything else opens descriptors: dash knows those from 0 to 9
    /// alone, and the commands' is the first that is free from 3 on. Throws `command_error`.
    progress_pipe();
    progress_pipe(const progress_pipe&) = delete;
    progress_pipe& operator=(const progress_pipe&) = delete;
    ~progress_pipe();

    /// A pipe for the next command. Returns the other end, which is the caller's; nothing
    /// tells it of an end of the input. Throws `command_error`.
    int open_anew();
    /// The command's end, which has this number there too.
    int for_command() const noexcept { return command_end_; }

private:
    int command_end_ = -1;
    int first_reader_ = -1;  ///< until the first command has that pipe
};

}  // namespace conch::cli

#endif
