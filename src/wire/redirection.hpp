// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WIRE_REDIRECTION_HPP
#define CONCH_SRC_WIRE_REDIRECTION_HPP

#include "wire/address.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace conch::wire {

/// The answer of a server of a cluster that doesn't run a command: another one does.
struct redirection {
    bool once = false;       ///< ASK: this time, after ASKING; else MOVED: from now on
    std::uint16_t slot = 0;  ///< which hash slot
    address to{};            ///< without a host: that of who answers; port 0: nobody knows yet
};

/// None if the error says something else.
std::optional<redirection> read_redirection(std::string_view words);

/// The port in this text; 0 if it is none.
std::uint16_t read_port(std::string_view text) noexcept;

}  // namespace conch::wire

#endif
