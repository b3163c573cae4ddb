// SPDX-License-Identifier: BSL-1.0
#include "sim/redis/fleet.hpp"

#include "wire/hash_slot.hpp"

#include <algorithm>

namespace conch::sim {

std::string_view name_of(deployment d) noexcept {
    switch (d) {
        case deployment::alone: return "alone";
        case deployment::sentinel: return "sentinel";
        case deployment::cluster: return "cluster";
        case deployment::read_write: return "read-write";
        case deployment::fair: return "fair";
        case deployment::majority: return "majority";
        case deployment::counters: return "counters";
        case deployment::permits: return "permits";
        case deployment::deadlocks: return "deadlocks";
    }
    return "?";
}

std::optional<deployment> deployment_named(std::string_view name) noexcept {
    for (std::size_t i = 0; i < deployment_count; ++i) {
        if (name == name_of(static_cast<deployment>(i))) {
            return static_cast<deployment>(i);
        }
    }
    return std::nullopt;
}

fleet::fleet(deployment d) : kind_{d} {
    const std::size_t shards = d == deployment::cluster ? 3 : 1;
    for (process p = 0; p < shards; ++p) {
        truth_.masters.push_back(p);
    }
    // A replica of each master; two sentinels.
    const std::size_t all = d == deployment::cluster ? 6 : d == deployment::sentinel ? 4 : 1;
    views_.assign(all, truth_);
}

fleet::process fleet::replica(std::size_t shard) const noexcept {
    return master(shard) == shard ? shard + shards() : shard;
}

fleet::process fleet::process_at(std::uint16_t port) const noexcept {
    const std::size_t p = static_cast<std::size_t>(port) - first_port;
    return p < processes() ? p : 0;
}

std::size_t fleet::owner(const view& v, std::uint16_t slot) const noexcept {
    const auto moved = v.elsewhere.find(slot);
    return moved != v.elsewhere.end() ? moved->second : slot * shards() / wire::hash_slots;
}

std::size_t fleet::end_of_run(process p, std::uint16_t slot) const noexcept {
    const auto& elsewhere = views_[p].elsewhere;
    const auto next = elsewhere.lower_bound(slot);
    if (next != elsewhere.end() && next->first == slot) {
        return slot + std::size_t{1};
    }
    const std::size_t of_shard =
        ((owner_seen(p, slot) + 1) * wire::hash_slots + shards() - 1) / shards();
    return next == elsewhere.end() ? of_shard : std::min<std::size_t>(of_shard, next->first);
}

void fleet::hand_over() {
    truth_.elsewhere[moving_->slot] = moving_->to;
    moving_->taken = true;
    learn(master(moving_->to));
}

void fleet::promote(std::size_t shard) {
    truth_.masters[shard] = replica(shard);
    ++truth_.epoch;
    learn(master(shard));
}

// The old owner of a part learns of the new one when the migration ends.
void fleet::learn(process p) {
    if (!is_cut_off(p) && (!moving_ || p != master(moving_->from))) {
        views_[p] = truth_;
    }
}

}  // namespace conch::sim
