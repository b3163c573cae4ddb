// SPDX-License-Identifier: BSL-1.0
#include "cli/caller.hpp"

#include "cli/command_error.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

namespace conch::cli {

bool process_has_ended(int descriptor) noexcept {
    pollfd ended{descriptor, POLLIN, 0};
    return ::poll(&ended, 1, 0) > 0;
}

void signal_process(int descriptor, int number) noexcept {
    ::syscall(SYS_pidfd_send_signal, descriptor, number, nullptr, 0U);
}

// A process whose parent ends gets another one: init, most often. In a container, the first process
// may be the script itself, which is in the same session.
caller::caller(bool whole_group) : pid_{::getppid()} {
    if (pid_ == 0 || (pid_ == 1 && ::getsid(1) != ::getsid(0))) {
        throw command_error{exit_code::os_error,
                            "the process that started this one is gone, or is none that can be "
                            "watched; nothing was locked"};
    }
    const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0U));
    const int error = errno;
    if (fd >= 0) {
        descriptor_ = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
        ::close(fd);
    }
    if (descriptor_ < 0 || ::getppid() != pid_) {
        throw os_failure("cannot watch the process " + std::to_string(pid_),
                         fd < 0 ? error : ESRCH);
    }
    const pid_t group = ::getpgid(pid_);
    beside_ = group == ::getpgrp();
    if (!whole_group) {
        return;
    }
    // kill(-1) would reach every process.
    if (group <= 1) {
        ::close(descriptor_);
        throw command_error{exit_code::os_error, "--kill: process " + std::to_string(pid_) +
                                                     " has no process group that can be killed"};
    }
    group_ = group;
}

caller::~caller() { ::close(descriptor_); }

void caller::signal(int number) const noexcept {
    if (process_has_ended(descriptor_)) {
        return;
    }
    if (group_ > 0) {
        ::kill(-group_, number);
    } else {
        signal_process(descriptor_, number);
    }
}

bool caller::group_is_left() const noexcept { return ::kill(-group_, 0) == 0; }

void caller::kill_group() const noexcept { ::kill(-group_, SIGKILL); }

}  // namespace conch::cli
