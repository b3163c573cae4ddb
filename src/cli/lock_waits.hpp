// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_LOCK_WAITS_HPP
#define CONCH_SRC_CLI_LOCK_WAITS_HPP

#include "cli/lock_entry.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// What holders wait for: clients with `config::deadlock_detection` write it beside their locks.
namespace conch::cli {

/// The key where the client of a holder with this field would have written it.
std::string key_of_waits(std::string_view name, std::string_view field);
/// So many bytes of it are read, in decimal.
inline constexpr const char* longest_waits = "16384";
/// Those in such a value; empty if it is none. `now_us`: the server's clock.
std::vector<holder_wait> waits_in(std::string_view value, std::int64_t now_us);

/// "orders:7", and "+1" if there is one more; of the first holder that waits. Empty: none does.
std::string waits_text(const lock_entry& e);

}  // namespace conch::cli

#endif
