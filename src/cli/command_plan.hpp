// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_COMMAND_PLAN_HPP
#define CONCH_SRC_CLI_COMMAND_PLAN_HPP

#include "cli/contact.hpp"
#include "cli/exit_codes.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace conch::cli {

inline constexpr duration longest_wait = std::chrono::hours{24 * 365};

/// What the command lines have in common that ask for something to be granted: a lock (`conch run`,
/// `conch hold`), permits of a rate limit (`conch rate`).
struct command_plan {
    server_choice server;
    std::string name;
    int refused_status = exit_code::failure;
    bool verbose = false;
    bool quiet = false;  ///< no word about a refusal
    word_list command;   ///< what is run then; empty: nothing
};

/// Adds -E, --service, -v and -q. `refusal` is "the lock is held" or its like.
void add_grant_options(boost::program_options::options_description& options,
                       std::string_view refusal);
/// Adds -c too.
void add_command_options(boost::program_options::options_description& options,
                         std::string_view refusal);

/// Reads options, NAME (of a `thing`, such as a "lock") and the command into the plan; the values
/// of all options are returned. If they ask for help, the plan is left alone. Throws `usage_error`.
boost::program_options::variables_map read_command_plan(
    const word_list& words, const boost::program_options::options_description& options,
    std::string_view thing, command_plan& plan);

/// Reads those of `add_grant_options()`, and the server. Throws `usage_error`.
void read_grant_options(const boost::program_options::variables_map& values, command_plan& plan);

}  // namespace conch::cli

#endif
