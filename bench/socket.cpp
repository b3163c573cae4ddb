// SPDX-License-Identifier: BSL-1.0
#include "socket.hpp"

#include "interruption.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

namespace conch::bench {
namespace {

[[noreturn]] void fail(const char* what) {
    const int error = errno;
    throw_if_interrupted();
    errno = error;
    throw std::system_error{errno, std::generic_category(), what};
}

int connect_unix(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) {
        throw std::runtime_error{"the path of the unix socket is too long"};
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        fail("socket");
    }
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        const int error = errno;
        ::close(fd);
        errno = error;
        fail("connect");
    }
    return fd;
}

int connect_tcp(const std::string& host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
    if (error != 0) {
        throw std::runtime_error{host + ": " + ::gai_strerror(error)};
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner{list, &::freeaddrinfo};
    for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
        const int fd = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd < 0) {
            continue;
        }
        if (::connect(fd, a->ai_addr, a->ai_addrlen) == 0) {
            const int on = 1;
            ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
            return fd;
        }
        const int reason = errno;
        ::close(fd);
        errno = reason;
    }
    fail("connect");
}

}  // namespace

socket::socket(const config& server)
    : fd_{server.unix_path.empty() ? connect_tcp(server.host, server.port)
                                   : connect_unix(server.unix_path)} {}

socket::~socket() { ::close(fd_); }

std::size_t socket::send_some(std::string_view first, std::string_view second) {
    iovec pieces[2] = {{const_cast<char*>(first.data()), first.size()},
                       {const_cast<char*>(second.data()), second.size()}};
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = second.empty() ? 1 : 2;
    const ssize_t n = ::sendmsg(fd_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return 0;
        }
        fail("send");
    }
    return static_cast<std::size_t>(n);
}

std::size_t socket::receive(std::span<char> buffer) {
    throw_if_interrupted();
    const ssize_t n = ::recv(fd_, buffer.data(), buffer.size(), 0);
    if (n < 0) {
        fail("receive");
    }
    if (n == 0) {
        throw std::runtime_error{"the server closed the connection"};
    }
    return static_cast<std::size_t>(n);
}

std::size_t socket::receive_or_writable(std::span<char> buffer) {
    pollfd p{fd_, POLLIN | POLLOUT, 0};
    if (::poll(&p, 1, -1) < 0) {
        fail("poll");
    }
    return (p.revents & ~POLLOUT) != 0 ? receive(buffer) : 0;
}

bool socket::readable() const {
    pollfd p{fd_, POLLIN, 0};
    return ::poll(&p, 1, 0) > 0;
}

void socket::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n < 0) {
            fail("send");
        }
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
}

}  // namespace conch::bench
