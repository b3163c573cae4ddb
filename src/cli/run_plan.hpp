// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_RUN_PLAN_HPP
#define CONCH_SRC_CLI_RUN_PLAN_HPP

#include "cli/lock_plan.hpp"

#include <optional>

namespace conch::cli {

/// What the command line of `conch run` asks for.
struct run_plan : lock_plan {
    /// So long the lock stays, from when it was taken, also if the command ends earlier.
    duration at_least{};
    bool leads = false;  ///< the command runs again whenever this process leads
    /// When it is to run, once for all hosts.
    std::optional<once_schedule> once;
};

/// The options of `conch run`.
boost::program_options::options_description run_options();

/// Reads the words after "run"; nothing if they ask for help. Throws `usage_error`.
std::optional<run_plan> read_run_plan(const word_list& words,
                                      const boost::program_options::options_description& options);

}  // namespace conch::cli

#endif
