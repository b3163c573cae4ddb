// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_LOCK_TERMS_HPP
#define CONCH_SRC_CORE_LOCK_TERMS_HPP

#include <conch/config.hpp>
#include <conch/error.hpp>
#include <conch/options.hpp>

// What a caller asks for who locks, in a client with these settings.
namespace conch::core {

inline duration lease_of(const lock_options& o, const config& c) noexcept {
    return o.lease.value_or(c.default_lease);
}

inline bool renews(const lock_options& o, const config& c) noexcept {
    return o.renew.value_or(c.default_renew);
}

/// Why these options can't be used, or `errc{}`.
errc check_options(const lock_options& o, const config& c) noexcept;

}  // namespace conch::core

#endif
