// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WIRE_HASH_SLOT_HPP
#define CONCH_SRC_WIRE_HASH_SLOT_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace conch::wire {

/// How many hash slots the keys of a Redis Cluster are divided into.
inline constexpr std::size_t hash_slots = 16384;
/// Where there is no cluster, or no key.
inline constexpr std::uint16_t no_hash_slot = hash_slots;

/// The hash slot of this key: CRC16 (XMODEM) of its hash tag. The hash tag is what stands between
/// the first "{" and the next "}"; where that is nothing, the whole key (Redis Cluster
/// specification, "Hash tags").
std::uint16_t hash_slot_of(std::string_view key) noexcept;

}  // namespace conch::wire

#endif
