// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_SPAWN_HPP
#define CONCH_SRC_CLI_SPAWN_HPP

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

namespace conch::cli {

struct spawned {
    pid_t pid = -1;      ///< to be reaped; -1 if there is no such process
    int fork_error = 0;  ///< the errno of pipe or fork
    int exec_error = 0;  ///< the errno of exec
};

/// Pointers to the words, for exec; good as long as the words are.
inline std::vector<char*> exec_words(std::vector<std::string>& words) {
    std::vector<char*> out;
    for (std::string& word : words) {
        out.push_back(word.data());
    }
    out.push_back(nullptr);
    return out;
}

/// Forks, and executes `file`, looked up in $PATH. Returns when the child executes it, or can't.
///
/// The kernel sends SIGKILL to the child when the thread that started it ends. `prepare` runs in
/// the child before that; only async-signal-safe calls are allowed there, as the parent may have
/// other threads.
template <typename Prepare>
spawned spawn(const char* file, char* const* argv, char* const* envp, Prepare prepare) noexcept {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return {-1, errno, 0};
    }
    const pid_t child = ::fork();
    int error = errno;
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        // The parent may have died before the line above took effect: nobody reads then. (Its
        // number would not tell: in a new PID namespace it has none.)
        ::close(ends[0]);
        pollfd reader{ends[1], 0, 0};
        if (::poll(&reader, 1, 0) > 0 && (reader.revents & POLLERR) != 0) {
            ::_exit(127);
        }
        prepare();
        ::execvpe(file, argv, envp);
        error = errno;
        [[maybe_unused]] const auto n = ::write(ends[1], &error, sizeof error);
        ::_exit(127);
    }
    ::close(ends[1]);
    if (child < 0) {
        ::close(ends[0]);
        return {-1, error, 0};
    }
    ssize_t n = 0;
    do {
        n = ::read(ends[0], &error, sizeof error);
    } while (n < 0 && errno == EINTR);
    ::close(ends[0]);
    if (n != sizeof error) {
        return {child, 0, 0};  // exec has closed the pipe
    }
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return {-1, 0, error};
}

}  // namespace conch::cli

#endif
