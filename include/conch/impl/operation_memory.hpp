// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_OPERATION_MEMORY_HPP
#define CONCH_IMPL_OPERATION_MEMORY_HPP

#include <conch/impl/fwd.hpp>

#include <cstddef>
#include <memory>

namespace conch::impl {

/// Room in an operation for what an event loop makes of its delivery: one thing at a time.
class posting_memory {
    static constexpr std::size_t alignment = alignof(void*);

public:
    posting_memory() = default;
    posting_memory(const posting_memory&) = delete;
    posting_memory& operator=(const posting_memory&) = delete;

    template <typename T>
    class allocator {
    public:
        using value_type = T;

        explicit allocator(posting_memory& m) noexcept : memory_{&m} {}
        template <typename U>
        allocator(const allocator<U>& other) noexcept : memory_{other.memory_} {}

        T* allocate(std::size_t n) {
            if (fits(n)) {
                return reinterpret_cast<T*>(memory_->space_);
            }
            return static_cast<T*>(allocate_operation(n * sizeof(T)));
        }
        void deallocate(T* p, std::size_t n) noexcept {
            if (!fits(n)) {
                free_operation(p, n * sizeof(T));
            }
        }
        template <typename U>
        bool operator==(const allocator<U>& other) const noexcept {
            return memory_ == other.memory_;
        }

    private:
        template <typename U>
        friend class allocator;

        static bool fits(std::size_t n) noexcept {
            return alignof(T) <= alignment && n * sizeof(T) <= sizeof memory_->space_;
        }

        posting_memory* memory_;
    };

private:
    alignas(alignment) std::byte space_[64];
};

/// For what has no allocator of its own.
template <typename T>
class operation_allocator {
public:
    using value_type = T;

    operation_allocator() = default;
    template <typename U>
    explicit operation_allocator(const std::allocator<U>&) noexcept {}

    T* allocate(std::size_t n) {
        if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
            return std::allocator<T>{}.allocate(n);
        } else {
            return static_cast<T*>(allocate_operation(n * sizeof(T)));
        }
    }
    void deallocate(T* p, std::size_t n) noexcept {
        if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
            std::allocator<T>{}.deallocate(p, n);
        } else {
            free_operation(p, n * sizeof(T));
        }
    }
};

template <typename Allocator, typename T>
struct rebound {
    using type = typename std::allocator_traits<Allocator>::template rebind_alloc<T>;
};
template <typename U, typename T>
struct rebound<std::allocator<U>, T> {
    using type = operation_allocator<T>;
};

}  // namespace conch::impl

#endif
