// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_OUTCOME_HPP
#define CONCH_TEST_SIM_OUTCOME_HPP

#include "sim/scenario.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace conch::sim {

/// Those that somebody was told of.
struct deadlock_counts {
    std::uint64_t local = 0;         ///< at once
    std::uint64_t between = 0;       ///< clients
    std::uint64_t of_three = 0;      ///< jobs, or more
    std::uint64_t with_readers = 0;  ///< that hold what one of them waits for
};

/// What came out of a run.
struct outcome {
    std::uint64_t seed = 0;
    std::uint64_t trace_hash = 0;
    std::uint64_t events = 0;
    std::vector<std::string> violations{};  ///< "checker: what it saw", the first ones
    std::array<std::uint64_t, fault_count> attempts{};
    std::array<std::uint64_t, fault_count> faults{};  ///< those whose effect was felt
    std::uint64_t grants = 0;
    std::uint64_t losses = 0;    ///< told
    std::uint64_t permits = 0;   ///< requests for some, granted
    std::uint64_t closings = 0;  ///< clients shut down or destroyed
    deadlock_counts deadlocks{};
};

}  // namespace conch::sim

#endif
