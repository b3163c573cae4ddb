// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_MUTANTS_RUN_MUTANTS_HPP
#define CONCH_TEST_SIM_MUTANTS_RUN_MUTANTS_HPP

#include <cstdint>
#include <string_view>

namespace conch::sim {

/// Breaks the rule of this name from now on; false if there is none.
bool choose_mutant(std::string_view name);

/// Each mutant in a process of its own, for at most `count` seeds from `first` on. Prints how many
/// it took until one failed; 1 if a mutant survived that shouldn't, or died that should live.
int run_mutants(std::uint64_t first, std::uint64_t count);

}  // namespace conch::sim

#endif
