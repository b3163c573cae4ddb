// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_STATISTICS_HPP
#define CONCH_BENCH_STATISTICS_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace conch::bench {

/// The smallest value that at least `p` percent of the values do not exceed (nearest rank); 0 if
/// there is none. 0 < p <= 100.
inline double percentile(std::vector<double> values, double p) {
    if (values.empty()) {
        return 0;
    }
    const double rank = std::ceil(p / 100 * static_cast<double>(values.size()));
    const auto index = std::min(static_cast<std::size_t>(rank), values.size()) - 1;
    const auto nth = values.begin() + static_cast<std::ptrdiff_t>(index);
    std::nth_element(values.begin(), nth, values.end());
    return *nth;
}

/// The middle value, or the mean of the two in the middle; 0 if there is none.
inline double median(std::vector<double> values) {
    if (values.empty()) {
        return 0;
    }
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Jain's index of n values by their sum and that of their squares, (sum of x)^2 / (n * sum of
/// x^2): 1 if all are equal, 1/n if all but one are 0; 0 if all are.
inline double jain(double sum, double squares, double n) {
    return squares > 0 ? sum * sum / (n * squares) : 0;
}

}  // namespace conch::bench

#endif
