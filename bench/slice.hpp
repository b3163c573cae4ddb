// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_SLICE_HPP
#define CONCH_BENCH_SLICE_HPP

#include "usage.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace conch::bench {

/// When one side's turn ends: after a time, or a number of pairs, whichever is first.
struct slice_length {
    std::chrono::duration<double> time{3600};
    std::size_t pairs = std::numeric_limits<std::size_t>::max();
};

/// What one side did in its turn.
struct slice {
    double pairs_per_s = 0;
    double cpu_us = 0;       ///< of a pair, in this process
    double allocations = 0;  ///< for a pair
    /// From the start of the acquire to the end of the release, in microseconds.
    std::vector<double> latencies_us{};
};

/// Measures a slice from its making on.
class slice_meter {
public:
    slice finish(std::vector<double> latencies_us) const {
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin_;
        const auto pairs = static_cast<double>(latencies_us.size());
        return {.pairs_per_s = pairs / elapsed.count(),
                .cpu_us = (cpu_us() - cpu_) / pairs,
                .allocations = static_cast<double>(allocations() - allocations_) / pairs,
                .latencies_us = std::move(latencies_us)};
    }

private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    double cpu_ = cpu_us();
    std::uint64_t allocations_ = allocations();
};

}  // namespace conch::bench

#endif
