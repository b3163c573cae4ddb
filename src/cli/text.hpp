// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_TEXT_HPP
#define CONCH_SRC_CLI_TEXT_HPP

#include <conch/clock.hpp>
#include <conch/printable.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace conch::cli {

/// `printable` text in double quotes.
std::string in_quotes(std::string_view bytes);

/// What an exception of the library says, without the C++ name that it begins with.
std::string plain_reason(std::string_view what);

/// 1234567 as "1,234,567".
std::string grouped(std::uint64_t number);
/// "1 client", "2 clients", "2 processes".
std::string counted(std::uint64_t number, std::string_view thing, std::string_view plural = "s");
/// A duration in the unit that suits it: "870 us", "12.3 ms", "4.50 s"; "less than 1 us".
std::string short_time(duration d);

/// "--lease must be …" as `usage_error`s. Seconds may have a fraction, or be a time with a unit.
duration parse_seconds(std::string_view option, const std::string& text, duration least,
                       duration most);
/// A time with a unit: "90" or "90s", "500ms", "5m", "2h", "1d".
duration parse_time(std::string_view option, const std::string& text);
/// A time of day, since midnight: "2:00", "02:30:15".
duration parse_time_of_day(std::string_view option, const std::string& text);
std::uint32_t parse_count(std::string_view option, const std::string& text, std::uint32_t most);
/// An exit status, 0 to 255.
int parse_status(std::string_view option, const std::string& text);

}  // namespace conch::cli

#endif
