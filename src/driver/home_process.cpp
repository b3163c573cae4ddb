// SPDX-License-Identifier: BSL-1.0
#include "driver/home_process.hpp"

#include <pthread.h>

#include <new>

namespace conch::impl {

constinit std::atomic<std::uint32_t> home_process::forks_{0};

home_process::home_process() {
    static const bool watched = ::pthread_atfork(nullptr, nullptr, &home_process::forked) == 0;
    if (!watched) {
        throw std::bad_alloc{};
    }
    made_after_ = forks_.load(std::memory_order_relaxed);
}

void home_process::forked() noexcept { forks_.fetch_add(1, std::memory_order_relaxed); }

}  // namespace conch::impl
