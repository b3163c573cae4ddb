// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_COMMAND_LINE_HPP
#define CONCH_SRC_CLI_COMMAND_LINE_HPP

#include <conch/clock.hpp>

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/variables_map.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace conch::cli {

using word_list = std::vector<std::string>;

/// Options, and at most one word that is none, stored as "NAME". No abbreviations. Throws
/// `usage_error`.
boost::program_options::variables_map parse_words(
    const word_list& words, const boost::program_options::options_description& options);

/// How many of the first words are our own options and their values, up to and without the first
/// word that is neither, or up to and with "--".
std::size_t count_own_words(const word_list& words,
                            const boost::program_options::options_description& options);

/// The value of a string option; empty if it was not given. A value that was given and is empty
/// is a `usage_error`.
std::string text_option(const boost::program_options::variables_map& values, const char* name);

/// The value of an option in seconds, if it was given. Throws `usage_error` if it is no number, or
/// out of its range.
std::optional<duration> seconds_option(const boost::program_options::variables_map& values,
                                       const char* name, duration least, duration most);

/// Throws `usage_error` where the word that names a thing, such as a "lock", is empty.
void check_name(std::string_view thing, const std::string& name);

/// The word that names the lock. Throws `usage_error` if there is none, or an empty one.
std::string lock_name(const boost::program_options::variables_map& values);

}  // namespace conch::cli

#endif
