// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_LOCK_TEXT_HPP
#define CONCH_SRC_CLI_LOCK_TEXT_HPP

#include <conch/lock_status.hpp>

#include <boost/json/object.hpp>

#include <string>
#include <string_view>

namespace conch::cli {

/// name, locked, holder, depth, ttl_ms (null: none), fence.
boost::json::object json_of(std::string_view name, const lock_status& status);

/// Adds all holders, host, pid and address of the first, and waiting; null: unknown.
void add_clients(boost::json::object& o, const lock_status& status);

/// Behind "free" or its kin, empty unless the name looks like a pattern: who writes one would take
/// it for an answer about all that match.
std::string_view pattern_note(std::string_view name);
/// "free", as far as the name is one.
std::string freedom_of(std::string_view name);

/// Of a semaphore: "2 of 3 permits", which are out.
std::string permits_of(const lock_status& status);
/// "ends in 12.3 s unless renewed", "never ends (no expiry)".
std::string ending_of(const lock_status& status);

}  // namespace conch::cli

#endif
