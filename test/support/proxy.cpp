// SPDX-License-Identifier: BSL-1.0
#include "support/proxy.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace conch::test {
namespace {

int connect_to(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(path.begin(), path.end(), address.sun_path);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        ::close(fd);
        return -1;
    }
    return fd;
}

}  // namespace

proxy::proxy(std::string upstream_path)
    : upstream_{std::move(upstream_path)}, thread_{[this] { loop(); }} {}

proxy::~proxy() {
    {
        const std::lock_guard lock{guard_};
        stop_ = true;
    }
    bell_.ring();
    thread_.join();
    for (pair& p : pairs_) {
        close_fd(p.client);
        close_fd(p.server);
    }
}

void proxy::swallow_replies() {
    const std::lock_guard lock{guard_};
    for (pair& p : pairs_) {
        p.swallow_replies = true;
    }
}

void proxy::swallow_requests() {
    const std::lock_guard lock{guard_};
    for (pair& p : pairs_) {
        p.swallow_requests = true;
    }
}

void proxy::cut() {
    const std::lock_guard lock{guard_};
    for (pair& p : pairs_) {
        close_fd(p.client);
        close_fd(p.server);
    }
    bell_.ring();
}

void proxy::cut_clients_only() {
    const std::lock_guard lock{guard_};
    for (pair& p : pairs_) {
        close_fd(p.client);
        p.swallow_replies = true;
    }
    bell_.ring();
}

std::size_t proxy::accepted() {
    const std::lock_guard lock{guard_};
    return accepted_;
}

void proxy::close_fd(int& fd) noexcept {
    if (fd >= 0) {
        ::close(fd);
        fd = -1;
    }
}

void proxy::accept_one() {
    pair p;
    p.client = listener_.accept();
    if (p.client < 0) {
        return;
    }
    ++accepted_;
    p.server = connect_to(upstream_);
    if (p.server < 0) {
        close_fd(p.client);
        return;
    }
    pairs_.push_back(std::move(p));
}

bool proxy::pump_in(int& fd, std::string& out, bool swallow) {
    char chunk[65536];
    const ssize_t n = ::recv(fd, chunk, sizeof chunk, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        return false;
    }
    if (n > 0 && !swallow) {
        out.append(chunk, static_cast<std::size_t>(n));
    }
    return true;
}

bool proxy::pump_out(int& fd, std::string& data) {
    if (data.empty()) {
        return true;
    }
    const ssize_t n = ::send(fd, data.data(), data.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    data.erase(0, static_cast<std::size_t>(n));
    return true;
}

void proxy::serve(pair& p, short client_events, short server_events) {
    bool ok = true;
    if (p.client >= 0 && client_events != 0) {
        ok = pump_in(p.client, p.to_server, p.swallow_requests) && ok;
    }
    if (p.server >= 0 && server_events != 0) {
        ok = pump_in(p.server, p.to_client, p.swallow_replies) && ok;
    }
    if (ok && p.server >= 0) {
        ok = pump_out(p.server, p.to_server);
    }
    if (ok && p.client >= 0) {
        ok = pump_out(p.client, p.to_client);
    }
    if (!ok) {
        close_fd(p.client);
        close_fd(p.server);
    }
}

void proxy::loop() {
    std::vector<pollfd> fds;
    for (;;) {
        fds.clear();
        fds.push_back({bell_.fd(), POLLIN, 0});
        fds.push_back({listener_.fd(), POLLIN, 0});
        {
            const std::lock_guard lock{guard_};
            if (stop_) {
                return;
            }
            std::erase_if(pairs_, [](const pair& p) { return p.client < 0 && p.server < 0; });
            for (const pair& p : pairs_) {
                const auto wanted = [](const std::string& out) {
                    return static_cast<short>(out.empty() ? POLLIN : POLLIN | POLLOUT);
                };
                fds.push_back({p.client, wanted(p.to_client), 0});
                fds.push_back({p.server, wanted(p.to_server), 0});
            }
        }
        ::poll(fds.data(), static_cast<nfds_t>(fds.size()), 1000);
        bell_.drain();
        const std::lock_guard lock{guard_};
        for (std::size_t i = 0; i < pairs_.size() && 2 * i + 3 < fds.size(); ++i) {
            serve(pairs_[i], fds[2 * i + 2].revents, fds[2 * i + 3].revents);
        }
        accept_one();
    }
}

}  // namespace conch::test
