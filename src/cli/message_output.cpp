// SPDX-License-Identifier: BSL-1.0
#include "cli/message_output.hpp"

#include <conch/printable.hpp>

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace conch::cli {
namespace {

constexpr std::size_t most_at_once = PIPE_BUF;
constexpr std::size_t most_waiting = 4 * most_at_once;

}  // namespace

// Opened anew, a pipe or a terminal has flags of its own. Of a file that is neither, a write does
// not wait for anybody, and its position has to stay the common one.
message_output::message_output(int descriptor) : fd_{descriptor} {
    struct stat status{};
    if (::fstat(fd_, &status) != 0) {
        return;
    }
    kind_ = S_ISSOCK(status.st_mode) ? kind::socket : kind::plain;
    may_block_ = S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode);
    if (may_block_) {
        const std::string path = "/proc/self/fd/" + std::to_string(fd_);
        own_ = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    }
}

message_output::~message_output() {
    if (own_ >= 0) {
        ::close(own_);
    }
}

void message_output::line(std::string_view text) {
    if (kind_ != kind::closed && waiting_.size() < most_waiting) {
        waiting_ += printable(text).substr(0, most_at_once - 1);
        waiting_ += '\n';
    }
    write_waiting();
}

void message_output::finish(duration longest) {
    const time_point last = clock::now() + longest;
    while (!waiting_.empty()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(last - clock::now());
        if (left.count() <= 0 || !has_room(static_cast<int>(left.count()))) {
            waiting_.clear();
        }
        write_waiting();
    }
}

// One line at a time, so that a pipe takes it whole or not at all.
void message_output::write_waiting() {
    while (!waiting_.empty()) {
        const std::ptrdiff_t n = write_some(waiting_.data(), waiting_.find('\n') + 1);
        if (n >= 0) {
            waiting_.erase(0, static_cast<std::size_t>(n));
        } else if (errno == EAGAIN) {
            return;
        } else if (errno != EINTR) {
            waiting_.clear();
        }
    }
}

std::ptrdiff_t message_output::write_some(const char* data, std::size_t size) const noexcept {
    if (kind_ == kind::socket) {
        return ::send(fd_, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (own_ >= 0) {
        return ::write(own_, data, size);
    }
    // Best effort: somebody else may take the room between the two calls.
    if (may_block_ && !has_room(0)) {
        errno = EAGAIN;
        return -1;
    }
    return ::write(fd_, data, size);
}

bool message_output::has_room(int timeout_ms) const noexcept {
    pollfd writable{own_ >= 0 ? own_ : fd_, POLLOUT, 0};
    return ::poll(&writable, 1, timeout_ms) == 1;
}

}  // namespace conch::cli
