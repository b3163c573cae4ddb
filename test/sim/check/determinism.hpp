// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_CHECK_DETERMINISM_HPP
#define CONCH_TEST_SIM_CHECK_DETERMINISM_HPP

#include "sim/simulation.hpp"

#include <cstdint>
#include <functional>

namespace conch::sim {

/// Runs this seed; one in 64 twice, and it is a violation if they differ. `judge` is told before
/// the clients are destroyed: one that is broken may not survive that.
void play(std::uint64_t seed, deployment d, bool trace,
          const std::function<void(const outcome&)>& judge);

}  // namespace conch::sim

#endif
