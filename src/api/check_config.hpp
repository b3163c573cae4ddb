// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_API_CHECK_CONFIG_HPP
#define CONCH_SRC_API_CHECK_CONFIG_HPP

#include <conch/config.hpp>

#include <string_view>

namespace conch::impl {

/// Throws `std::invalid_argument`, naming the setting that is out of its range.
void check_config(const config& c);

/// It can stand in a command line of Redis, or be a host's name: visible ASCII alone.
bool is_plain(std::string_view name) noexcept;

}  // namespace conch::impl

#endif
