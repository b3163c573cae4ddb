// SPDX-License-Identifier: BSL-1.0
#include "usage.hpp"

#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> calls{0};

void* allocate(std::size_t size) {
    calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    void* const p = std::malloc(std::max<std::size_t>(size, 1));
    if (p == nullptr) {
        throw std::bad_alloc{};
    }
    return p;
}

void* allocate(std::size_t size, std::align_val_t alignment) {
    calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    const auto step = static_cast<std::size_t>(alignment);
    void* const p =
        std::aligned_alloc(step, (std::max<std::size_t>(size, 1) + step - 1) / step * step);
    if (p == nullptr) {
        throw std::bad_alloc{};
    }
    return p;
}

}  // namespace

// The forms for arrays and without exceptions call these.
void* operator new(std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, std::align_val_t a) { return allocate(size, a); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace conch::bench {

double cpu_us() noexcept {
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

std::uint64_t allocations() noexcept { return calls.load(std::memory_order_relaxed); }

std::size_t heap_bytes() noexcept {
    const struct mallinfo2 m = ::mallinfo2();
    return m.uordblks + m.hblkhd;
}

}  // namespace conch::bench
