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

/// Some keys of the command are on one server of a cluster and some on another: it did not run.
bool is_divided(std::string_view words) noexcept;

/// The code of an error reply.
errc to_errc(std::string_view words) noexcept;

}  // namespace conch::wire

#endif
