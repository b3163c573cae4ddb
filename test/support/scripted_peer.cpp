// SPDX-License-Identifier: BSL-1.0
#include "support/scripted_peer.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace conch::test {
scripted_peer::scripted_peer(script on_command)
    : on_command_{std::move(on_command)}, thread_{[this] { loop(); }} {}

scripted_peer::~scripted_peer() {
    {
        const std::lock_guard lock{guard_};
        stop_ = true;
    }
    bell_.ring();
    thread_.join();
    for (const connection& c : connections_) {
        ::close(c.fd);
    }
}

std::size_t scripted_peer::accepted() {
    const std::lock_guard lock{guard_};
    return accepted_;
}

std::size_t scripted_peer::open() {
    const std::lock_guard lock{guard_};
    return connections_.size();
}

std::size_t scripted_peer::count(std::string_view command) {
    const std::lock_guard lock{guard_};
    return static_cast<std::size_t>(std::count(seen_.begin(), seen_.end(), command));
}

void scripted_peer::react(connection& c, const words& command) {
    if (!command.empty()) {
        seen_.push_back(canned_redis::upper(command.front()));
    }
    if (c.closing || !c.endless.empty()) {
        return;
    }
    reaction r = on_command_(c.number, command);
    c.out += r.bytes;
    c.closing = r.hang_up;
    c.slowly = c.slowly || r.slowly;
    while (!r.endless.empty() && c.endless.size() < 65536) {
        c.endless += r.endless;
    }
}

void scripted_peer::accept_one() {
    connection c;
    c.fd = listener_.accept();
    if (c.fd < 0) {
        return;
    }
    c.number = accepted_++;
    react(c, {});
    connections_.push_back(std::move(c));
}

bool scripted_peer::read_from(connection& c) {
    char chunk[65536];
    const ssize_t n = ::recv(c.fd, chunk, sizeof chunk, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        return false;
    }
    if (n > 0) {
        c.in.append(chunk, static_cast<std::size_t>(n));
        while (const auto command = take_command(c.in)) {
            react(c, *command);
        }
    }
    return true;
}

bool scripted_peer::write_to(connection& c) {
    for (;;) {
        if (c.out.empty() && !c.closing) {
            c.out = c.endless;
        }
        if (c.out.empty()) {
            return !c.closing;
        }
        const std::size_t most = c.slowly ? 1 : c.out.size();
        const ssize_t n = ::send(c.fd, c.out.data(), most, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0) {
            return errno == EAGAIN || errno == EINTR;
        }
        c.out.erase(0, static_cast<std::size_t>(n));
        if (!c.endless.empty() || (c.slowly && !c.out.empty())) {
            return true;
        }
    }
}

void scripted_peer::serve(connection& c) {
    if (!read_from(c) || !write_to(c)) {
        ::close(c.fd);
        c.fd = -1;
    }
}

void scripted_peer::loop() {
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
            for (const connection& c : connections_) {
                const bool pending = !c.out.empty() || !c.endless.empty() || c.closing;
                fds.push_back({c.fd, static_cast<short>(pending ? POLLIN | POLLOUT : POLLIN), 0});
            }
        }
        ::poll(fds.data(), static_cast<nfds_t>(fds.size()), 1000);
        bell_.drain();
        const std::lock_guard lock{guard_};
        for (std::size_t i = 0; i < connections_.size(); ++i) {
            if (fds[i + 2].revents != 0) {
                serve(connections_[i]);
            }
        }
        std::erase_if(connections_, [](const connection& c) { return c.fd < 0; });
        accept_one();
    }
}

}  // namespace conch::test
