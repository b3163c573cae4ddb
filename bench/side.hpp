// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_SIDE_HPP
#define CONCH_BENCH_SIDE_HPP

#include "slice.hpp"
#include "statistics.hpp"

#include <vector>

namespace conch::bench {

/// The figures of one side, a value for each round.
struct side {
    std::vector<double> rates{}, p50s{}, p99s{}, p999s{}, cpus{}, allocations{};

    void add(const slice& s) {
        rates.push_back(s.pairs_per_s);
        p50s.push_back(percentile(s.latencies_us, 50));
        p99s.push_back(percentile(s.latencies_us, 99));
        p999s.push_back(percentile(s.latencies_us, 99.9));
        cpus.push_back(s.cpu_us);
        allocations.push_back(s.allocations);
    }
};

}  // namespace conch::bench

#endif
