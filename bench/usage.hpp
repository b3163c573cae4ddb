// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_USAGE_HPP
#define CONCH_BENCH_USAGE_HPP

#include <cstddef>
#include <cstdint>

namespace conch::bench {

/// CPU time of this process, user and system, in microseconds.
double cpu_us() noexcept;

/// How often this process has called malloc, or an aligned form of it.
std::uint64_t allocations() noexcept;

/// What malloc has given out and not got back, with its own overhead.
std::size_t heap_bytes() noexcept;

}  // namespace conch::bench

#endif
