// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_LOCK_PLAN_HPP
#define CONCH_SRC_CLI_LOCK_PLAN_HPP

#include "cli/command_plan.hpp"

#include <conch/conch.hpp>

#include <algorithm>
#include <cstdint>

namespace conch::cli {

/// What the command lines of `conch run` and `conch hold` have in common.
struct lock_plan : command_plan {
    word_list names;  ///< of the locks; `name` has them all, for people
    mutex_options kind;
    lock_options lock;
    std::int64_t at_most = 0;  ///< so many permits the semaphore is to have; 0: as many as it has
    duration grace{};  ///< from SIGTERM to the end of the lease; shorter than `longest_lease()`

    /// The lease as --max-hold clamps it.
    duration longest_lease() const noexcept { return std::min(*lock.lease, lock.max_hold); }
};

/// Adds its options, with these words for --fenced; without those of `add_lock_options()`.
void add_lock_plan_options(boost::program_options::options_description& options, const char* fence);
/// Reads them, after NAME and `read_grant_options()`. Throws `usage_error`.
void read_lock_plan(const boost::program_options::variables_map& values, lock_plan& plan);

}  // namespace conch::cli

#endif
