// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_POOL_HPP
#define CONCH_SRC_CORE_POOL_HPP

#include "core/sanitizer.hpp"

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace conch::core {

/// Makes objects of one type, and keeps the memory of some that ended for the next ones.
template <typename T>
class pool {
public:
    pool() = default;
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;
    ~pool() {
        while (top_) {
            give_back(std::exchange(top_, top_->next));
        }
    }

    template <typename... Args>
    T& make(Args&&... args) {
        void* const p = top_ ? take() : ::operator new(sizeof(T), std::align_val_t{alignof(T)});
        ++live_;
        return *::new (p) T(std::forward<Args>(args)...);
    }

    void free(T& object) noexcept {
        std::destroy_at(&object);
        --live_;
        if (kept_ < most_kept) {
            top_ = ::new (static_cast<void*>(&object)) block{top_};
            ++kept_;
        } else {
            give_back(&object);
        }
    }

    std::size_t live() const noexcept { return live_; }

private:
    struct block {
        block* next;
    };
    static constexpr std::size_t most_kept = address_sanitizer ? 0 : 256;

    void* take() noexcept {
        --kept_;
        return std::exchange(top_, top_->next);
    }
    static void give_back(void* p) noexcept {
        static_assert(sizeof(T) >= sizeof(block) && alignof(T) >= alignof(block));
        ::operator delete(p, std::align_val_t{alignof(T)});
    }

    block* top_ = nullptr;
    std::size_t kept_ = 0;
    std::size_t live_ = 0;
};

}  // namespace conch::core

#endif
