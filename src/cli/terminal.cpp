// SPDX-License-Identifier: BSL-1.0
#include "cli/terminal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <initializer_list>

namespace conch::cli {

bool put_in_foreground(int terminal, pid_t group) noexcept {
    sigset_t one;
    sigset_t former;
    ::sigemptyset(&one);
    ::sigaddset(&one, SIGTTOU);
    ::sigprocmask(SIG_BLOCK, &one, &former);
    const bool done = ::tcsetpgrp(terminal, group) == 0;
    ::sigprocmask(SIG_SETMASK, &former, nullptr);
    return done;
}

terminal::terminal() noexcept : fd_{::open("/dev/tty", O_RDWR | O_CLOEXEC)} {}

terminal::~terminal() {
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

bool terminal::ours() const noexcept { return fd_ >= 0 && ::tcgetpgrp(fd_) == ::getpgrp(); }

pid_t terminal::foreground() const noexcept { return fd_ >= 0 ? ::tcgetpgrp(fd_) : -1; }

void terminal::give_to(pid_t group) noexcept {
    if (fd_ >= 0) {
        put_in_foreground(fd_, group);
    }
}

void terminal::take_back_from(pid_t group) noexcept {
    if (fd_ < 0) {
        return;
    }
    const pid_t now = ::tcgetpgrp(fd_);
    if (now == group || (now > 0 && ::kill(-now, 0) != 0 && errno == ESRCH)) {
        put_in_foreground(fd_, ::getpgrp());
    }
}

bool in_pipeline() noexcept {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        struct stat status{};
        if (::fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode)) {
            return true;
        }
    }
    return false;
}

}  // namespace conch::cli
