// SPDX-License-Identifier: BSL-1.0
#include "cli/full_screen.hpp"

#include "cli/command_error.hpp"
#include "cli/text_width.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <utility>

namespace conch::cli {
namespace {

// The alternate screen, no cursor, no new line by itself behind the last column.
constexpr std::string_view entering = "\033[?1049h\033[?25l\033[?7l\033[2J";
constexpr std::string_view leaving = "\033[0m\033[?7h\033[?25h\033[?1049l";
constexpr int longest_farewell_ms = 500;
/// Of a terminal that is slow or stopped: later pictures take the place of this one.
constexpr std::size_t enough_unwritten = 100;

constexpr std::string_view sequence_of(line_style style) noexcept {
    switch (style) {
        case line_style::plain: return "";
        case line_style::title: return "\033[1m";
        case line_style::chosen: return "\033[7m";
        case line_style::alarm: return "\033[1;31m";
    }
    return "";
}

/// A description of its own: that it doesn't block concerns nobody else then.
int open_terminal() noexcept {
    constexpr int how = O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK;
    const int fd = ::open("/dev/tty", how);
    return fd >= 0 ? fd : ::open("/proc/self/fd/1", how);
}

full_screen* shown = nullptr;  ///< that of this process
std::terminate_handler former_end = nullptr;

/// No destructor runs then: where memory is short, say.
[[noreturn]] void leave_and_end() noexcept {
    if (shown != nullptr) {
        shown->leave();
    }
    if (former_end != nullptr) {
        former_end();  // tells why
    }
    std::abort();
}

/// Blocks a signal for as long as it lives.
class without_signal {
public:
    explicit without_signal(int signal) noexcept {
        sigset_t one;
        ::sigemptyset(&one);
        ::sigaddset(&one, signal);
        ::sigprocmask(SIG_BLOCK, &one, &former_);
    }
    ~without_signal() { ::sigprocmask(SIG_SETMASK, &former_, nullptr); }
    without_signal(const without_signal&) = delete;
    without_signal& operator=(const without_signal&) = delete;

private:
    sigset_t former_{};
};

}  // namespace

full_screen::full_screen() {
    constexpr const char* instead = "; \"conch ls\" prints a list instead";
    if (::isatty(STDOUT_FILENO) == 0) {
        throw usage_error(std::string{"standard output is no terminal"} + instead);
    }
    const char* const name = std::getenv("TERM");
    if (name != nullptr && std::string_view{name} == "dumb") {
        throw usage_error(std::string{"TERM=dumb: this terminal can't be drawn on"} + instead);
    }
    fd_ = open_terminal();
    if (fd_ < 0 || ::tcgetattr(fd_, &former_) != 0) {
        const int error = errno;
        ::close(fd_);
        throw os_failure("cannot open the terminal", error);
    }
    shown = this;
    former_end = std::set_terminate(leave_and_end);
}

full_screen::~full_screen() {
    leave();
    std::set_terminate(former_end);
    shown = nullptr;
    ::close(fd_);
}

void full_screen::enter() {
    if (!in_foreground()) {
        ::raise(SIGTTOU);
    }
    ::tcgetattr(fd_, &former_);
    inside_ = true;
    take();
}

void full_screen::enter_again() {
    if (inside_) {
        take();
    }
}

void full_screen::take() {
    termios modes = former_;
    modes.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
    modes.c_iflag &= ~static_cast<tcflag_t>(IXON);  // Ctrl-S would hold the picture for ever
    modes.c_cc[VMIN] = 1;
    modes.c_cc[VTIME] = 0;
    ::tcsetattr(fd_, TCSANOW, &modes);
    unwritten_ = entering;
    drawn_.clear();
}

bool full_screen::in_foreground() const noexcept {
    const pid_t front = ::tcgetpgrp(fd_);
    return front < 0 || front == ::getpgrp();
}

bool full_screen::leave() noexcept {
    if (!inside_) {
        return false;
    }
    inside_ = false;
    const without_signal stop{SIGTTOU};
    std::string_view left = leaving;
    pollfd writable{fd_, POLLOUT, 0};
    while (!left.empty() && ::poll(&writable, 1, longest_farewell_ms) == 1) {
        const ssize_t n = ::write(fd_, left.data(), left.size());
        if (n < 0 && errno != EINTR && errno != EAGAIN) {
            break;
        }
        left.remove_prefix(n > 0 ? static_cast<std::size_t>(n) : 0);
    }
    // Of a process in the background the shell has the terminal, and has set its own modes.
    if (in_foreground()) {
        ::tcsetattr(fd_, TCSANOW, &former_);
    }
    return true;
}

screen_size full_screen::size() const noexcept {
    winsize size{};
    if (::ioctl(fd_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
        return {};
    }
    return {size.ws_col, size.ws_row};
}

void full_screen::draw(const std::vector<screen_line>& lines, screen_size size) {
    std::string text = "\033[H";
    for (const screen_line& line : lines) {
        text.append(&line == &lines.front() ? "" : "\r\n");
        const std::string_view style = sequence_of(line.style);
        text.append(style).append(line.text).append(style.empty() ? "" : "\033[0m");
        // Behind a line that fills all columns the cursor still is on its last character.
        text.append(width_of(line.text) < size.columns ? "\033[K" : "");
    }
    text.append(lines.size() < size.lines ? "\r\n\033[J" : "");
    if (inside_ && unwritten_.size() <= enough_unwritten && text != drawn_) {
        unwritten_ += text;
        drawn_ = std::move(text);
    }
}

bool full_screen::flush() noexcept {
    while (!unwritten_.empty()) {
        const ssize_t n = ::write(fd_, unwritten_.data(), unwritten_.size());
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return errno != EAGAIN;  // else reading finds out what is wrong
        }
        unwritten_.erase(0, static_cast<std::size_t>(n));
    }
    return true;
}

std::optional<std::string> full_screen::read() noexcept {
    char bytes[256];
    const ssize_t n = ::read(fd_, bytes, sizeof bytes);
    if (n > 0) {
        return std::string{bytes, static_cast<std::size_t>(n)};
    }
    const bool later = n < 0 && (errno == EAGAIN || errno == EINTR);
    return later ? std::optional{std::string{}} : std::nullopt;
}

int full_screen::duplicate() const {
    const int fd = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        throw os_failure("cannot watch the terminal", errno);
    }
    return fd;
}

void stop_here() noexcept {
    sigset_t one;
    sigset_t former;
    ::sigemptyset(&one);
    ::sigaddset(&one, SIGTSTP);
    ::sigprocmask(SIG_UNBLOCK, &one, &former);
    ::raise(SIGTSTP);
    ::sigprocmask(SIG_SETMASK, &former, nullptr);
}

}  // namespace conch::cli
