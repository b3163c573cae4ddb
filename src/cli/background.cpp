// SPDX-License-Identifier: BSL-1.0
#include "cli/background.hpp"

#include "cli/child.hpp"
#include "cli/command_error.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace conch::cli {

std::optional<int> background::start() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        throw os_failure("cannot start a process", errno);
    }
    const pid_t child = ::fork();
    const int error = errno;
    if (child == 0) {
        ::setsid();
        ::close(ends[0]);
        pipe_ = ends[1];
        return std::nullopt;
    }
    ::close(ends[1]);
    if (child < 0) {
        ::close(ends[0]);
        throw os_failure("cannot start a process", error);
    }
    return status_of(child, ends[0]);
}

int background::status_of(pid_t child, int pipe) noexcept {
    char word = 0;
    ssize_t n = 0;
    do {
        n = ::read(pipe, &word, 1);
    } while (n < 0 && errno == EINTR);
    if (n == 1) {
        return exit_code::ok;
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return shell_status(status);
}

// Who reads the output would wait for its end.
bool background::let_go() noexcept {
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing >= 0) {
        ::dup2(nothing, STDIN_FILENO);
        ::dup2(nothing, STDOUT_FILENO);
        if (nothing > STDERR_FILENO) {
            ::close(nothing);
        }
    }
    const char word = 0;
    const bool told = ::write(pipe_, &word, 1) == 1;
    ::close(pipe_);
    pipe_ = -1;
    return told;
}

}  // namespace conch::cli
