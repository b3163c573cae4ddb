// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_SOCKET_HPP
#define CONCH_BENCH_SOCKET_HPP

#include <conch/config.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace conch::bench {

/// A connected stream socket with nothing around it: TCP (without delay) or unix, as the settings
/// say. Failures, and a signal that asks to stop, are exceptions.
class socket {
public:
    explicit socket(const config& server);
    ~socket();
    socket(const socket&) = delete;
    socket& operator=(const socket&) = delete;

    /// Sends what the kernel takes now of two pieces, the first one first; returns how much.
    std::size_t send_some(std::string_view first, std::string_view second);
    /// Waits for bytes and returns how many came; never 0.
    std::size_t receive(std::span<char> buffer);
    /// As `receive`, but returns 0 when there is room to send before anything has come.
    std::size_t receive_or_writable(std::span<char> buffer);

    /// There is something to be received.
    bool readable() const;

    /// Sends all of it.
    void send(std::string_view bytes);

private:
    int fd_ = -1;
};

}  // namespace conch::bench

#endif
