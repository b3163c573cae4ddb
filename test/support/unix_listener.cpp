// SPDX-License-Identifier: BSL-1.0
#include "support/unix_listener.hpp"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace conch::test {

unix_listener::unix_listener() {
    char pattern[] = "/tmp/conch-test-XXXXXX";
    if (::mkdtemp(pattern) == nullptr) {
        throw std::runtime_error{"unix_listener: mkdtemp failed"};
    }
    folder_ = pattern;
    path_ = folder_ + "/peer.sock";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(path_.begin(), path_.end(), address.sun_path);
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd_ < 0 ||
        ::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(fd_, 64) != 0) {
        throw std::runtime_error{std::string{"unix_listener: "} + std::strerror(errno)};
    }
}

unix_listener::~unix_listener() {
    ::close(fd_);
    ::unlink(path_.c_str());
    ::rmdir(folder_.c_str());
}

int unix_listener::accept() const noexcept {
    return ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

wake_up::wake_up() : fd_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
    if (fd_ < 0) {
        throw std::runtime_error{"wake_up: eventfd failed"};
    }
}

wake_up::~wake_up() { ::close(fd_); }

void wake_up::ring() const noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = ::write(fd_, &one, sizeof one);
}

void wake_up::drain() const noexcept {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t n = ::read(fd_, &count, sizeof count);
}

}  // namespace conch::test
