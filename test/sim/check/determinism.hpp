// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_CHECK_DETERMINISM_HPP
#define CONCH_TEST_SIM_CHECK_DETERMINISM_HPP

#include "sim/simulation.hpp"

#include <cstdint>

namespace conch::sim {

/// Runs this seed; one in 64 twice, and it is a violation if they differ.
outcome play(std::uint64_t seed, bool trace = false);

}  // namespace conch::sim

#endif
