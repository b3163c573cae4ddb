// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_SURVEY_OPTIONS_HPP
#define CONCH_SRC_CLI_SURVEY_OPTIONS_HPP

#include "cli/command_line.hpp"
#include "cli/lock_survey.hpp"
#include "cli/lock_table.hpp"

#include <string>
#include <vector>

// What `conch ls` and `conch top` have in common.
namespace conch::cli {

/// Adds --sort, --plain, --page and --pause. `first`: the usual order.
void add_survey_options(boost::program_options::options_description& options, column first);
/// Reads PATTERN and all but --sort. Throws `usage_error`.
survey_terms read_survey_terms(const boost::program_options::variables_map& values,
                               duration longest_pause);
/// Reads --sort. Throws `usage_error`.
column read_sort(const boost::program_options::variables_map& values, column first);

/// What a survey can't tell, and why: a line each.
std::vector<std::string> notes_of(const lock_survey& survey);

}  // namespace conch::cli

#endif
