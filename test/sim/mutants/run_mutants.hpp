// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_MUTANTS_RUN_MUTANTS_HPP
#define CONCH_TEST_SIM_MUTANTS_RUN_MUTANTS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace conch::sim {

/// Every `count`th mutant, from the one of this number on.
struct part {
    std::size_t number = 1;
    std::size_t count = 1;
};

/// What a text like `1/2` names.
std::optional<part> part_named(std::string_view text);

/// Each mutant in a process of its own, from seed `first` on until one fails: for at most `count`
/// seeds, or an eighth of that if it is meant to survive. Prints how long that took. 1 if a mutant
/// survived that shouldn't, or died that should live, or is lost.
int run_mutants(std::uint64_t first, std::uint64_t count, part of);

}  // namespace conch::sim

#endif
