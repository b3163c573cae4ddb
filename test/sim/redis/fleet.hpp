// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_REDIS_FLEET_HPP
#define CONCH_TEST_SIM_REDIS_FLEET_HPP

#include "sim/effect.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conch::sim {

/// How the server is run: by itself; with a replica, and sentinels that name the master; or as a
/// cluster, each of whose masters has a replica.
enum class deployment : std::uint8_t {
    alone,
    sentinel,
    cluster,
    read_write,  ///< run in any of these ways, and all locks are read-write locks
    fair,        ///< the same, and all locks are fair
    majority,    ///< several, each by itself, and all locks are those of majorities
    counters,    ///< run in any way, for semaphores
    permits,     ///< the same, for permits with leases
    deadlocks,   ///< the same, for owners that wait for each other
};

inline constexpr std::size_t deployment_count = 9;

std::string_view name_of(deployment d) noexcept;
/// None if nothing is called so.
std::optional<deployment> deployment_named(std::string_view name) noexcept;

/// The processes of a deployment, and what each of them believes: who is a master, and which parts
/// of a cluster each shard has. What changed is known to those whom it concerns; the others learn
/// it later.
class fleet {
public:
    using process = std::size_t;

    static constexpr std::uint16_t first_port = 7000;

    /// The keys of one part go to another shard, one after the other.
    struct migration {
        std::uint16_t slot = 0;
        std::size_t from = 0;
        std::size_t to = 0;
        effect* by = nullptr;
        bool taken = false;  ///< the new shard has the part; the old one doesn't know
    };

    explicit fleet(deployment d);

    deployment kind() const noexcept { return kind_; }
    bool clustered() const noexcept { return kind_ == deployment::cluster; }
    std::size_t shards() const noexcept { return truth_.masters.size(); }
    std::size_t processes() const noexcept { return views_.size(); }
    bool is_sentinel(process p) const noexcept { return kind_ == deployment::sentinel && p >= 2; }
    std::size_t shard_of(process p) const noexcept { return p % shards(); }
    /// In truth.
    process master(std::size_t shard) const noexcept { return truth_.masters[shard]; }
    process replica(std::size_t shard) const noexcept;
    process process_at(std::uint16_t port) const noexcept;
    static std::uint16_t port_of(process p) noexcept {
        return static_cast<std::uint16_t>(first_port + p);
    }
    std::size_t owner(std::uint16_t slot) const noexcept { return owner(truth_, slot); }

    // As this process believes.

    bool is_master(process p) const noexcept {
        return views_[p].masters[shard_of(p)] == p && !is_sentinel(p);
    }
    process master_seen(process p, std::size_t shard) const noexcept {
        return views_[p].masters[shard];
    }
    /// How new what it believes is.
    std::int64_t epoch_seen(process p) const noexcept { return views_[p].epoch; }
    std::size_t owner_seen(process p, std::uint16_t slot) const noexcept {
        return owner(views_[p], slot);
    }
    /// The slot behind the last of those that follow `slot` and certainly have its owner.
    std::size_t end_of_run(process p, std::uint16_t slot) const noexcept;
    bool claims(process p, std::uint16_t slot) const noexcept {
        return owner_seen(p, slot) == shard_of(p) && is_master(p);
    }

    // What changes.

    const std::optional<migration>& moving() const noexcept { return moving_; }
    void begin(const migration& m) { moving_ = m; }
    /// All keys are at the new shard, which knows now that the part is its own.
    void hand_over();
    void end_migration() noexcept { moving_.reset(); }
    /// The replica is the master now, and knows it.
    void promote(std::size_t shard);
    /// This process hears of everything, unless it is cut off.
    void learn(process p);
    /// These reach each other, and no other process.
    void cut_off(std::set<process> some) { cut_off_ = std::move(some); }
    void rejoin() noexcept { cut_off_.clear(); }
    bool is_cut_off(process p) const noexcept { return cut_off_.contains(p); }
    bool reach(process a, process b) const noexcept { return is_cut_off(a) == is_cut_off(b); }
    /// Keys are refused by all: a master is missing.
    void set_down(bool yes) noexcept { down_ = yes; }
    bool down() const noexcept { return down_; }

private:
    struct view {
        std::map<std::uint16_t, std::size_t> elsewhere{};  // those that have moved
        std::vector<process> masters{};
        std::int64_t epoch = 0;
    };

    std::size_t owner(const view& v, std::uint16_t slot) const noexcept;

    deployment kind_;
    view truth_{};
    std::vector<view> views_{};
    std::optional<migration> moving_{};
    std::set<process> cut_off_{};
    bool down_ = false;
};

}  // namespace conch::sim

#endif
