// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_LOCK_TABLE_HPP
#define CONCH_SRC_CLI_LOCK_TABLE_HPP

#include "cli/lock_entry.hpp"

#include <boost/json/object.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace conch::cli {

/// "<1ms", "850ms", "21s", "3m12s", "2h05m", "4d07h".
std::string compact_time(duration d);

/// "web-1:4711"; of somebody whose connection is not known, how the field begins and its number.
std::string holder_text(const lock_holder& h);

/// The columns of the table: name, kind, holder, service, held, lease, depth, waiting, fence,
/// wants.
enum class column : std::uint8_t {
    name,
    kind,
    holder,
    service,
    held,
    lease,
    depth,
    waiting,
    fence,
    wants,  ///< for which lock a holder waits; only in the table where one does
};
inline constexpr std::size_t columns = 10;

std::string_view text_of(column c) noexcept;

/// By this column, then by name: what an operator looks for comes first (held for longest, least
/// lease left, most waiting); what is not known comes last.
void sort_by(column c, std::vector<lock_entry>& locks);

/// A line for each, and one of titles. `width`: so many columns has the terminal: what says nothing
/// is left out, then long texts are cut. 0: whole.
std::string table_of(const std::vector<lock_entry>& locks, std::size_t width);

/// One lock, in lines: all that is known. `url`: of its server, as the user gave it, or empty.
std::string whole_text(const lock_entry& e, bool clients_known, const std::string& url);

boost::json::object json_of(const lock_entry& e);

}  // namespace conch::cli

#endif
