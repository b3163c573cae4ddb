// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_UNCONTENDED_HPP
#define CONCH_BENCH_UNCONTENDED_HPP

#include <conch/config.hpp>

#include <chrono>
#include <cstddef>

namespace conch::bench {

struct uncontended_options {
    /// Under way at any time, on both sides, each on a lock of its own.
    std::size_t coroutines = 128;
    /// Length of one slice of one side.
    std::chrono::duration<double> slice{0.5};
    /// Pairs of slices; one more goes first, to warm up, and does not count.
    std::size_t rounds = 11;
};

/// Each the median over the rounds.
struct uncontended_result {
    double pairs_per_s = 0;      ///< lock + unlock through one `conch::client`
    double raw_pairs_per_s = 0;  ///< `raw_baseline`
    double ratio = 0;            ///< of the two slices of one round
    double p50_us = 0;           ///< conch: from the call of async_lock to the end of async_unlock
    double p99_us = 0;
};

/// Measures conch and the raw limit by turns, on one server, over the same kind of socket.
uncontended_result run_uncontended(const config& server, const uncontended_options& options);

}  // namespace conch::bench

#endif
