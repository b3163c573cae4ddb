// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_LAST_WORDS_HPP
#define CONCH_TEST_SIM_LAST_WORDS_HPP

#include "sim/redis/fleet.hpp"

#include <cstdint>
#include <string>

namespace conch::sim {

/// The command that plays this seed again.
std::string replay_of(const std::string& program, std::uint64_t seed, deployment d,
                      const std::string& mutant);

/// From now on, whatever ends the process before its time (a broken invariant, a sanitizer, a
/// signal) prints how to play the last seed that was named by `now_playing`.
void leave_last_words();

/// `replay`: what to print should this seed be the last. `patience_s`: how long it may take before
/// it counts as an endless loop; 0: for ever.
void now_playing(std::uint64_t seed, const std::string& replay, unsigned patience_s);

}  // namespace conch::sim

#endif
