// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_POOL_HPP
#define CONCH_SRC_CORE_POOL_HPP

#include "core/sanitizer.hpp"

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace conch::core {

/// Makes objects of one type, and keeps the memory of some that ended for the next ones.
template <typename T>
class pool {
public:
    pool() { free_.reserve(kept); }
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;
    ~pool() {
        for (void* p : free_) {
            ::operator delete(p, std::align_val_t{alignof(T)});
        }
    }

    template <typename... Args>
    T& make(Args&&... args) {
        void* p = nullptr;
        if (free_.empty()) {
            p = ::operator new(sizeof(T), std::align_val_t{alignof(T)});
        } else {
            p = free_.back();
            free_.pop_back();
        }
        ++live_;
        return *::new (p) T(std::forward<Args>(args)...);
    }

    void free(T& object) noexcept {
        std::destroy_at(&object);
        --live_;
        if (free_.size() < kept) {
            free_.push_back(&object);
        } else {
            ::operator delete(static_cast<void*>(&object), std::align_val_t{alignof(T)});
        }
    }

    std::size_t live() const noexcept { return live_; }

private:
    static constexpr std::size_t kept = address_sanitizer ? 0 : 256;

    std::vector<void*> free_;
    std::size_t live_ = 0;
};

}  // namespace conch::core

#endif
