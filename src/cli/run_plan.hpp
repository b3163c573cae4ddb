// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_RUN_PLAN_HPP
#define CONCH_SRC_CLI_RUN_PLAN_HPP

#include "cli/command_plan.hpp"

#include <conch/conch.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace conch::cli {

/// What the command line of `conch run` asks for.
struct run_plan : command_plan {
    word_list names;  ///< of the locks; `name` has them all, for people
    mutex_options kind;
    lock_options lock;
    std::int64_t at_most = 0;  ///< so many permits the semaphore is to have; 0: as many as it has
    duration grace{};  ///< from SIGTERM to the end of the lease; shorter than `longest_lease()`

    /// The lease as --max-hold clamps it.
    duration longest_lease() const noexcept { return std::min(*lock.lease, lock.max_hold); }
};

/// The options of `conch run`.
boost::program_options::options_description run_options();

/// Reads the words after "run"; nothing if they ask for help. Throws `usage_error`.
std::optional<run_plan> read_run_plan(const word_list& words,
                                      const boost::program_options::options_description& options);

}  // namespace conch::cli

#endif
