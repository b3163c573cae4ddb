// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_IDENTITY_HPP
#define CONCH_SRC_DRIVER_IDENTITY_HPP

#include <cstdint>
#include <string>

namespace conch::impl {

/// A fresh version 4 UUID from the system's random source, in Redisson's spelling.
std::string random_uuid();

/// For jitter.
std::uint64_t random_seed();

}  // namespace conch::impl

#endif
