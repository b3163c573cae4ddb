// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_HOST_NAME_HPP
#define CONCH_SRC_CORE_HOST_NAME_HPP

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace conch::core {

/// No host has a longer name: none can be looked up, and TLS can't ask for one (SNI).
inline constexpr std::size_t longest_host = 255;

/// It can stand in a command line of Redis, or be a host's name: visible ASCII alone.
inline bool is_plain(std::string_view name) noexcept {
    return std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

/// It may be the name of a host, or its address, but for its length. Behind a dot at its beginning
/// would be a domain, any host of which a certificate may be of.
inline bool is_host_text(std::string_view name) noexcept {
    return is_plain(name) && !name.starts_with('.');
}

/// It may be the name of a host, or its address.
inline bool is_host(std::string_view name) noexcept {
    return !name.empty() && name.size() <= longest_host && is_host_text(name);
}

}  // namespace conch::core

#endif
