// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_PRINTABLE_HPP
#define CONCH_PRINTABLE_HPP

#include <string>
#include <string_view>

namespace conch {

// Names of locks, holders and servers' words are text from elsewhere. Thread safety: safe.

/// Bytes that are no UTF-8 become U+FFFD.
std::string valid_utf8(std::string_view bytes);
/// For a terminal or a log: what a terminal may obey becomes '?' too. That is each control
/// character (up to U+001F, U+007F to U+009F), whatever ends a line, and what turns the direction
/// of writing.
std::string printable(std::string_view bytes);
/// JSON text, for a terminal: the same characters, which JSON allows in its strings, become escape
/// sequences of JSON.
std::string printable_json(std::string_view json);

}  // namespace conch

#endif
