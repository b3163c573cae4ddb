// SPDX-License-Identifier: BSL-1.0
#include "cli/child.hpp"

#include "cli/command_error.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace conch::cli {
namespace {

/// Runs in the forked child, where only async-signal-safe calls are allowed.
[[noreturn]] void become(const child_plan& plan, char* const* argv, pid_t parent,
                         int error_fd) noexcept {
    if (plan.own_group) {
        ::setpgid(0, 0);
    }
    ::prctl(PR_SET_PDEATHSIG, plan.death_signal);
    // The parent may have died before the line above took effect.
    if (::getppid() != parent) {
        ::_exit(exit_code::software);
    }
    if (plan.kept_descriptor >= 0) {
        ::fcntl(plan.kept_descriptor, F_SETFD, 0);
    }
    ::sigprocmask(SIG_SETMASK, &plan.signal_mask, nullptr);
    ::execvp(plan.program.c_str(), argv);
    const int error = errno;
    [[maybe_unused]] const auto n = ::write(error_fd, &error, sizeof error);
    ::_exit(exit_code::not_found);
}

/// The errno that the child sent; 0 if its exec closed the pipe instead.
int read_error(int fd) {
    int error = 0;
    ssize_t n = 0;
    do {
        n = ::read(fd, &error, sizeof error);
    } while (n < 0 && errno == EINTR);
    return n == sizeof error ? error : 0;
}

}  // namespace

launched launch(const child_plan& plan) {
    std::vector<std::string> words = plan.words;
    std::vector<char*> argv;
    for (std::string& word : words) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);

    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        throw os_failure("cannot make a pipe", errno);
    }
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
        become(plan, argv.data(), parent, ends[1]);
    }
    const int fork_error = errno;
    ::close(ends[1]);
    const int error = child > 0 ? read_error(ends[0]) : 0;
    ::close(ends[0]);
    if (child < 0) {
        throw os_failure("cannot start a process", fork_error);
    }
    if (error == 0) {
        return {child, 0};
    }
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return {-1, error};
}

int shell_status(int wait_status) noexcept {
    if (WIFSIGNALED(wait_status)) {
        return exit_code::by_signal + WTERMSIG(wait_status);
    }
    return WEXITSTATUS(wait_status);
}

}  // namespace conch::cli
