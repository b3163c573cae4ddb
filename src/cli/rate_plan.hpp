// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_RATE_PLAN_HPP
#define CONCH_SRC_CLI_RATE_PLAN_HPP

#include "cli/command_plan.hpp"

#include <conch/rate.hpp>

#include <cstdint>
#include <optional>

namespace conch::cli {

/// What the command line of `conch rate` asks for.
struct rate_plan : command_plan {
    conch::rate allowed;
    rate_algorithm algorithm = rate_algorithm::sliding_log;
    std::uint64_t permits = 1;
    duration wait{};
};

/// The options of `conch rate`.
boost::program_options::options_description rate_plan_options();

/// Reads the words after "rate"; nothing if they ask for help. Throws `usage_error`.
std::optional<rate_plan> read_rate_plan(const word_list& words,
                                        const boost::program_options::options_description& options);

}  // namespace conch::cli

#endif
