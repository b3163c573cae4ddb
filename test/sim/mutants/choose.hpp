// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_MUTANTS_CHOOSE_HPP
#define CONCH_TEST_SIM_MUTANTS_CHOOSE_HPP

#include "mutant_table.hpp"

#include <cstddef>
#include <string_view>

namespace conch::sim {

/// Its place wasn't found in the sources, or its test isn't there.
inline bool is_lost(const mutants::mutant& m) { return *m.lost != '\0'; }

/// Breaks this rule from now on, in the engine or in a script.
void choose(std::size_t which);

/// Breaks the rule of this name from now on; false if there is none, or it is lost.
bool choose_mutant(std::string_view name);

}  // namespace conch::sim

#endif
