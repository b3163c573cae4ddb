// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_RATE_ALGORITHMS_HPP
#define CONCH_TEST_SUPPORT_RATE_ALGORITHMS_HPP

#include <conch/rate.hpp>

namespace conch::test {

inline constexpr rate_algorithm rate_algorithms[]{
    rate_algorithm::sliding_log, rate_algorithm::fixed_window, rate_algorithm::gcra};

inline const char* name_of(rate_algorithm a) noexcept {
    switch (a) {
        case rate_algorithm::sliding_log: return "sliding_log";
        case rate_algorithm::fixed_window: return "fixed_window";
        case rate_algorithm::gcra: break;
    }
    return "gcra";
}

}  // namespace conch::test

#endif
