// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_TOPOLOGY_SLOT_MAP_HPP
#define CONCH_SRC_TOPOLOGY_SLOT_MAP_HPP

#include "wire/address.hpp"
#include "wire/hash_slot.hpp"

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace conch::topology {

/// Consecutive hash slots, and the master that has their keys.
struct slot_range {
    std::uint16_t first = 0;
    std::uint16_t last = 0;  ///< one of them
    wire::address master{};
};

/// Which server serves each hash slot of a cluster; the first, as long as nothing is known.
class slot_map {
public:
    std::uint16_t owner(std::uint16_t hash_slot) const noexcept { return owners_[hash_slot]; }
    void give(std::uint16_t hash_slot, std::uint16_t server) noexcept {
        if (owners_[hash_slot] != server) {
            owners_[hash_slot] = server;
            moved_.set(hash_slot);
        }
    }
    void give(const slot_range& r, std::uint16_t server) noexcept {
        if (!belongs(r, server)) {
            for (std::size_t slot = r.first; slot <= r.last; ++slot) {
                give(static_cast<std::uint16_t>(slot), server);
            }
        }
    }
    bool moved(std::uint16_t hash_slot) const noexcept { return moved_[hash_slot]; }
    bool any_moved() const noexcept { return moved_.any(); }
    void forget_moves() noexcept { moved_.reset(); }
    bool serves(std::size_t server) const noexcept {
        for (const std::uint16_t o : owners_) {
            if (o == server) {
                return true;
            }
        }
        return false;
    }

private:
    // What a cluster tells is mostly what is known: all are like the first, each like the next.
    bool belongs(const slot_range& r, std::uint16_t server) const noexcept {
        const std::uint16_t* const first = owners_.data() + r.first;
        const std::size_t others = r.last - r.first;
        return *first == server && std::memcmp(first, first + 1, others * sizeof *first) == 0;
    }

    std::array<std::uint16_t, wire::hash_slots> owners_{};
    std::bitset<wire::hash_slots> moved_{};
};

}  // namespace conch::topology

#endif
