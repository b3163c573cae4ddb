// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WIRE_SERVER_ERROR_HPP
#define CONCH_SRC_WIRE_SERVER_ERROR_HPP

#include <conch/error.hpp>

#include <cstdint>
#include <string_view>

namespace conch::wire {

enum class refusal : std::uint8_t {
    no_script,  ///< did not run; send the script's text
    passing,    ///< did not run; send it again a little later
    lasting,    ///< would be refused again
};

/// What an error reply means for the command that met it.
refusal classify(std::string_view words) noexcept;

/// What a server of a cluster says of a command with several keys of which some, or all, are
/// elsewhere: it did not run. (Before Redis 7.0 it is ASK in both cases; the new server, told
/// ASKING, would run what has one key, though that may be one that the old server still has.)
bool is_divided(std::string_view words) noexcept;

/// The server takes no command with keys of several hash slots, such as this one: it did not run.
bool crosses_hash_slots(std::string_view words) noexcept;

/// What tells a refusal that passes from others, whatever stands around it: "MISCONF".
std::string_view reason_of(std::string_view words) noexcept;

/// The code of an error reply.
errc to_errc(std::string_view words) noexcept;

}  // namespace conch::wire

#endif
