// SPDX-License-Identifier: BSL-1.0
#include "worker.hpp"

#include "interruption.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace conch::bench {
namespace {

[[noreturn]] void fail(const char* what) {
    const int error = errno;
    throw_if_interrupted();
    errno = error;
    throw std::system_error{errno, std::generic_category(), what};
}

}  // namespace

wire_end::wire_end(wire_end&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}

wire_end::~wire_end() { close(); }

void wire_end::close() noexcept {
    if (fd_ >= 0) {
        ::close(std::exchange(fd_, -1));
    }
}

void wire_end::hang_up() noexcept { ::shutdown(fd_, SHUT_RDWR); }

bool wire_end::wait_for_more() {
    char c = 0;
    const ssize_t n = ::recv(fd_, &c, 1, MSG_PEEK);
    if (n < 0 && errno != ECONNRESET) {
        fail("receive from a process");
    }
    return n > 0;
}

void wire_end::send_bytes(const void* bytes, std::size_t size) {
    if (::send(fd_, bytes, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size)) {
        fail("send to a process");
    }
}

void wire_end::receive_bytes(void* bytes, std::size_t size) {
    throw_if_interrupted();
    const ssize_t n = ::recv(fd_, bytes, size, MSG_WAITALL);
    if (n < 0) {
        fail("receive from a process");
    }
    if (static_cast<std::size_t>(n) != size) {
        throw std::runtime_error{"a process of this benchmark has failed"};
    }
}

wire_ends make_wire() {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        fail("socketpair");
    }
    return {wire_end{fds[0]}, wire_end{fds[1]}};
}

wire_end& wait_for_either(wire_end& a, wire_end& b) {
    pollfd both[] = {{a.descriptor(), POLLIN, 0}, {b.descriptor(), POLLIN, 0}};
    if (::poll(both, 2, -1) < 0) {
        fail("wait for a process");
    }
    return both[0].revents != 0 ? a : b;
}

worker::worker(const std::function<void(wire_end&)>& body)
    : ends_{make_wire()}, process_{[&](const test::child_process::report&) {
          forget_interruption();
          ends_.ours.close();
          body(ends_.theirs);
          return 0;
      }} {
    ends_.theirs.close();
}

worker::~worker() {
    ends_.ours.hang_up();  // workers that were made later have inherited it
    process_.join(std::chrono::seconds{10});
}

}  // namespace conch::bench
