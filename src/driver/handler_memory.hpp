// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_HANDLER_MEMORY_HPP
#define CONCH_SRC_DRIVER_HANDLER_MEMORY_HPP

#include <atomic>
#include <cstddef>
#include <new>

namespace conch::impl {

/// Memory for one asynchronous operation after the other: embedded in what owns them. The handler
/// of an operation keeps it alive. A second operation at the same time gets its memory elsewhere.
class handler_memory {
public:
    handler_memory() = default;
    handler_memory(const handler_memory&) = delete;
    handler_memory& operator=(const handler_memory&) = delete;

    void* allocate(std::size_t size) {
        if (size <= sizeof space_ && !used_.exchange(true, std::memory_order_acquire)) {
            return space_;
        }
        return ::operator new(size);
    }
    void deallocate(void* p) noexcept {
        if (p == space_) {
            used_.store(false, std::memory_order_release);
        } else {
            ::operator delete(p);
        }
    }

    /// For a handler, as its associated allocator.
    template <typename T = void>
    class allocator {
    public:
        using value_type = T;

        explicit allocator(handler_memory& m) noexcept : memory_{&m} {}
        template <typename U>
        allocator(const allocator<U>& other) noexcept : memory_{other.memory_} {}

        T* allocate(std::size_t n) { return static_cast<T*>(memory_->allocate(n * sizeof(T))); }
        void deallocate(T* p, std::size_t) noexcept { memory_->deallocate(p); }

        template <typename U>
        bool operator==(const allocator<U>& other) const noexcept {
            return memory_ == other.memory_;
        }

    private:
        template <typename U>
        friend class allocator;

        handler_memory* memory_;
    };

private:
    alignas(std::max_align_t) std::byte space_[384];
    std::atomic<bool> used_{false};
};

}  // namespace conch::impl

#endif
