// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_HOLD_PLAN_HPP
#define CONCH_SRC_CLI_HOLD_PLAN_HPP

#include "cli/lock_plan.hpp"

#include <optional>

namespace conch::cli {

/// What the command line of `conch hold` asks for.
struct hold_plan : lock_plan {
    bool in_background = false;
    bool kills = false;  ///< the caller's whole group, where the lock is lost
};

/// The options of `conch hold`.
boost::program_options::options_description hold_options();

/// Reads the words after "hold"; nothing if they ask for help. Throws `usage_error`.
std::optional<hold_plan> read_hold_plan(const word_list& words,
                                        const boost::program_options::options_description& options);

}  // namespace conch::cli

#endif
