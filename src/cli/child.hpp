// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_CHILD_HPP
#define CONCH_SRC_CLI_CHILD_HPP

#include <sys/types.h>

#include <atomic>
#include <csignal>
#include <map>
#include <string>
#include <vector>

namespace conch::cli {

/// How to start a child process. It leads a process group of its own, and the kernel kills it when
/// the thread that started it ends.
struct child_plan {
    /// The file to execute, looked up in $PATH.
    std::string program;
    /// Its arguments, from the name that it is shown under on.
    std::vector<std::string> words;
    /// The signals that it starts with as blocked.
    sigset_t signal_mask;
    /// It starts with SIGCHLD ignored.
    bool ignores_children = false;
    /// Variables on top of this process's own. The empty text removes one.
    std::map<std::string, std::string> variables{};
    /// Where it writes its own number before it executes, for others that share the memory.
    std::atomic<pid_t>* announce = nullptr;
    /// A terminal whose foreground group the child becomes before it executes; -1: none.
    int terminal = -1;
    /// A close-on-exec descriptor that it gets nevertheless, under the same number; -1: none.
    int kept_descriptor = -1;
};

struct launched {
    pid_t pid = -1;  ///< to be reaped; -1 if the program could not be executed
    int error = 0;   ///< then the errno of execvp
};

/// Forks and executes. Throws `command_error` if there can be no new process.
launched launch(const child_plan& plan);

/// A wait status as the shell tells it: the exit status, or 128 plus the signal's number.
int shell_status(int wait_status) noexcept;

}  // namespace conch::cli

#endif
