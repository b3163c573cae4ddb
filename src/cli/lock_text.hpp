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

/// Adds host, pid and address of the holder, and waiting; null: unknown.
void add_clients(boost::json::object& o, const lock_status& status);

/// "ends in 12.3 s unless renewed", "never ends (no expiry)".
std::string ending_of(const lock_status& status);

}  // namespace conch::cli

#endif
