// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_CONTEXT_GATE_HPP
#define CONCH_SRC_DRIVER_CONTEXT_GATE_HPP

#include <atomic>
#include <cstdint>

namespace conch::impl {

/// Lets any number of threads use an execution context until it is closed; whoever closes it
/// waits for those who are inside. One thread may enter several times.
class context_gate {
public:
    /// False if it is closed; else `leave()` must follow, and the context is there until then.
    bool enter() noexcept {
        if ((state_.fetch_add(visitor, std::memory_order_acquire) & closing) == 0) {
            return true;
        }
        leave();
        return false;
    }
    void leave() noexcept {
        if (state_.fetch_sub(visitor, std::memory_order_release) == closing + visitor) {
            state_.notify_all();
        }
    }
    /// Must not be called by a thread that is inside.
    void close() noexcept {
        std::uint32_t s = state_.fetch_or(closing, std::memory_order_acquire) | closing;
        while (s != closing) {
            state_.wait(s, std::memory_order_acquire);
            s = state_.load(std::memory_order_acquire);
        }
    }

private:
    static constexpr std::uint32_t closing = 1;
    static constexpr std::uint32_t visitor = 2;

    std::atomic<std::uint32_t> state_{0};
};

}  // namespace conch::impl

#endif
