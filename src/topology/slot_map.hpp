// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_TOPOLOGY_SLOT_MAP_HPP
#define CONCH_SRC_TOPOLOGY_SLOT_MAP_HPP

#include "wire/address.hpp"
#include "wire/hash_slot.hpp"

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>

namespace conch::topology {

/// Consecutive parts of a cluster, and the master that has their keys.
struct slot_range {
    std::uint16_t first = 0;
    std::uint16_t last = 0;  ///< one of them
    wire::address master{};
};

/// Which seat serves each part of a cluster; the first, as long as nothing is known.
class slot_map {
public:
    std::uint16_t owner(std::uint16_t hash_slot) const noexcept { return owners_[hash_slot]; }
    void give(std::uint16_t hash_slot, std::uint16_t seat) noexcept {
        if (owners_[hash_slot] != seat) {
            owners_[hash_slot] = seat;
            moved_.set(hash_slot);
        }
    }
    bool moved(std::uint16_t hash_slot) const noexcept { return moved_[hash_slot]; }
    bool any_moved() const noexcept { return moved_.any(); }
    void forget_moves() noexcept { moved_.reset(); }
    bool serves(std::size_t seat) const noexcept {
        for (const std::uint16_t o : owners_) {
            if (o == seat) {
                return true;
            }
        }
        return false;
    }

private:
    std::array<std::uint16_t, wire::hash_slots> owners_{};
    std::bitset<wire::hash_slots> moved_{};
};

}  // namespace conch::topology

#endif
