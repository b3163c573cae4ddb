// SPDX-License-Identifier: BSL-1.0
#include "usage.hpp"

#include <malloc.h>
#include <time.h>

#include <atomic>
#include <cerrno>

namespace {

std::atomic<std::uint64_t> calls{0};

// One thread allocates where it matters; a lock prefix would be part of what is measured.
void count_call() noexcept {
    calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

// In the place of glibc's own, for all of the program: operator new ends here, and so does Asio's
// memory for handlers. `free` stays glibc's.
extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) noexcept {
    count_call();
    return __libc_malloc(size);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
    count_call();
    return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    count_call();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
    count_call();
    *out = __libc_memalign(alignment, size);
    return *out != nullptr ? 0 : ENOMEM;
}
}

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
