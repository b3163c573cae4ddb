// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_WORKER_HPP
#define CONCH_BENCH_WORKER_HPP

#include "support/child_process.hpp"

#include <cstddef>
#include <functional>
#include <type_traits>

namespace conch::bench {

/// One end of a conversation of two processes, in whole values. Blocks; throws when the other end
/// is gone, or on an interruption.
class wire_end {
public:
    explicit wire_end(int fd) noexcept : fd_{fd} {}
    wire_end(wire_end&& other) noexcept;
    wire_end& operator=(wire_end&&) = delete;
    ~wire_end();

    template <typename T>
    void send(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        send_bytes(&value, sizeof value);
    }
    template <typename T>
    T receive() {
        static_assert(std::is_trivially_copyable_v<T>);
        T value;
        receive_bytes(&value, sizeof value);
        return value;
    }
    /// Waits for the next value; false if the other end is gone.
    bool wait_for_more();
    void close() noexcept;
    /// For all processes that have this end.
    void hang_up() noexcept;
    int descriptor() const noexcept { return fd_; }

private:
    void send_bytes(const void* bytes, std::size_t size);
    void receive_bytes(void* bytes, std::size_t size);

    int fd_;
};

struct wire_ends {
    wire_end ours, theirs;
};

wire_ends make_wire();

/// Returns when there is more to receive from this end, or from the other; which.
wire_end& wait_for_either(wire_end& a, wire_end& b);

/// A value from each, whichever is first: throws as soon as one of the other ends is gone.
template <typename T>
void receive_from_both(wire_end& a, wire_end& b) {
    wire_end& first = wait_for_either(a, b);
    (void)first.receive<T>();
    (void)(&first == &a ? b : a).receive<T>();
}

/// A forked process that takes orders and sends results until the other end of the wire is gone.
/// Made while this process has one thread. The destructor lets it clean up, for some seconds.
class worker {
public:
    explicit worker(const std::function<void(wire_end&)>& body);
    ~worker();

    wire_end& wire() noexcept { return ends_.ours; }

private:
    wire_ends ends_;
    test::child_process process_;
};

}  // namespace conch::bench

#endif
