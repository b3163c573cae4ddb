// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_TEXT_WIDTH_HPP
#define CONCH_SRC_CLI_TEXT_WIDTH_HPP

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Text on a terminal. All of it is UTF-8, as `printable` gives it.
namespace conch::cli {

/// So many columns of a terminal it takes: two for each wide character (of East Asia, emoji), none
/// for an accent that is a character of its own.
std::size_t width_of(std::string_view text) noexcept;

/// The first characters, with a mark where some are missing. Takes `width` columns at most.
std::string cut(std::string_view text, std::size_t width);

/// Lines of `width` columns at most, broken at blanks where that is possible; each but the first
/// begins with `indent` blanks.
std::vector<std::string> wrap(std::string_view text, std::size_t width, std::size_t indent);

/// Removes the last character.
void erase_last(std::string& text);

}  // namespace conch::cli

#endif
