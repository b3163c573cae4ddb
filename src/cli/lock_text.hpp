// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_LOCK_TEXT_HPP
#define CONCH_SRC_CLI_LOCK_TEXT_HPP

#include "cli/contact.hpp"

#include <conch/lock_status.hpp>

#include <boost/json/object.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace conch::cli {

/// name, kind, locked, holder, holders, depth, ttl_ms (null: none), fence; permits of a semaphore.
boost::json::object json_of(std::string_view name, lock_kind kind, const lock_status& status);

/// Adds host, pid and address of the first holder, and waiting; null: unknown.
void add_clients(boost::json::object& o, const lock_status& status);

/// Behind "free" or its kin, empty unless the name looks like a pattern: who writes one would take
/// it for an answer about all that match.
std::string_view pattern_note(std::string_view name);
/// "free", as far as the name is one.
std::string freedom_of(std::string_view name);

/// "read-write lock, read by 2"; "free".
std::string headline_of(std::string_view name, lock_kind kind, const lock_status& status);
/// Each of them; of very many permits that are out, some.
std::vector<std::string_view> each_holder(const lock_status& status);
/// Of a semaphore: "2 of 3 permits are out".
std::string permits_of(const lock_status& status);
/// All of them, with blanks between; of permits that are out, some.
std::string holders_of(const lock_status& status);
/// "ends in 12.3 s unless renewed", "never ends (no expiry)".
std::string ending_of(const lock_status& status);
/// All of it: "free", "mutex, held by A, ends in 12.3 s unless renewed", "semaphore, 2 of 3 permits
/// are out: A B, the next ends in 12.3 s unless renewed".
std::string state_of(std::string_view name, lock_kind kind, const lock_status& status);

}  // namespace conch::cli

#endif
