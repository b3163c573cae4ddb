// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_API_CLASS_MEMO_HPP
#define CONCH_SRC_API_CLASS_MEMO_HPP

#include <conch/observer.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace conch::impl {

/// What a lock's memo says: the index of its class, and which `metrics` has put it there.
class class_memo {
public:
    static constexpr std::size_t most_classes = 1u << 10;

    /// Of a new `metrics`. After some millions, one is nobody: it finds nothing, and keeps nothing.
    class_memo() noexcept : mine_{next_owner() * static_cast<std::uint32_t>(most_classes)} {}

    /// The index; `most_classes` or more where this owner has put nothing there.
    std::size_t find(const lock_memo* m) const noexcept {
        return (m ? m->load(std::memory_order_acquire) : 0) ^ mine_;
    }
    void keep(lock_memo* m, std::size_t class_index) const noexcept {
        if (m && mine_ != nobody * most_classes) {
            m->store(mine_ | static_cast<std::uint32_t>(class_index), std::memory_order_release);
        }
    }

private:
    static constexpr std::uint32_t nobody = (1u << 22) - 1;

    // From 1 on: a memo is 0 at first.
    static std::uint32_t next_owner() noexcept {
        static std::atomic<std::uint32_t> last{0};
        std::uint32_t n = last.load(std::memory_order_relaxed);
        while (n + 1 < nobody && !last.compare_exchange_weak(n, n + 1)) {
        }
        return n + 1;
    }

    const std::uint32_t mine_;
};

}  // namespace conch::impl

#endif
