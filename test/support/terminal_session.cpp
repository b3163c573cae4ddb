// SPDX-License-Identifier: BSL-1.0
#include "support/terminal_session.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <utility>

namespace conch::test {

using steady = std::chrono::steady_clock;

terminal_session::terminal_session(std::vector<std::string> line,
                                   const program::environment& variables) {
    std::vector<char*> argv;
    for (std::string& word : line) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    pid_ = ::forkpty(&master_, nullptr, nullptr, nullptr);
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::signal(SIGPIPE, SIG_DFL);  // a library that the test uses may ignore it
        for (const auto& [name, value] : variables) {
            value.empty() ? ::unsetenv(name.c_str()) : ::setenv(name.c_str(), value.c_str(), 1);
        }
        ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
        ::execv(argv[0], argv.data());
        ::_exit(127);
    }
    if (pid_ < 0) {
        throw std::runtime_error{"terminal_session: forkpty failed"};
    }
    ::fcntl(master_, F_SETFD, FD_CLOEXEC);
}

bool terminal_session::possible() {
    const int fd = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ::close(fd);
    return true;
}

terminal_session::~terminal_session() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    ::close(master_);
}

void terminal_session::type(std::string_view text) const {
    if (::write(master_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        throw std::runtime_error{"terminal_session: cannot type"};
    }
}

void terminal_session::resize(unsigned short columns, unsigned short lines) const {
    const winsize size{lines, columns, 0, 0};
    if (::ioctl(master_, TIOCSWINSZ, &size) != 0) {
        throw std::runtime_error{"terminal_session: cannot resize"};
    }
}

pid_t terminal_session::foreground() const { return ::tcgetpgrp(master_); }

/// Reading fails (EIO) while nobody has the terminal open.
void terminal_session::read_more(time_point deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady::now());
    pollfd readable{master_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&readable, 1, static_cast<int>(left.count())) == 0) {
        throw std::runtime_error{"terminal_session: the time is up; the screen:\n" + screen_};
    }
    char buffer[4096];
    const ssize_t n = ::read(master_, buffer, sizeof buffer);
    if (n > 0) {
        screen_.append(buffer, static_cast<std::size_t>(n));
    } else if (n == 0 || errno != EINTR) {
        hung_up_ = true;
    }
}

std::string terminal_session::wait_for(std::string_view text, std::chrono::milliseconds limit) {
    const auto deadline = steady::now() + limit;
    for (;;) {
        const auto at = screen_.find(text, seen_);
        if (at != std::string::npos) {
            const auto from = std::exchange(seen_, at + text.size());
            return screen_.substr(from, at - from);
        }
        if (hung_up_) {
            throw std::runtime_error{"terminal_session: ended without \"" + std::string{text} +
                                     "\"; the screen:\n" + screen_};
        }
        read_more(deadline);
    }
}

ended terminal_session::finish(std::chrono::milliseconds limit) {
    const auto deadline = steady::now() + limit;
    while (!hung_up_) {
        read_more(deadline);
    }
    ended result;
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    result.out = screen_;
    return result;
}

}  // namespace conch::test
