// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_DEADLOCKS_JOB_HPP
#define CONCH_TEST_SIM_DEADLOCKS_JOB_HPP

#include "sim/counters/actor.hpp"

#include <conch/options.hpp>
#include <conch/owner.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace conch::sim::deadlocks {

class simulation;

inline constexpr instant never = std::numeric_limits<instant>::max();

/// It asks for a lock.
struct lock_call : counters::want {
    instant waits_until() const noexcept { return ended_at < 0 ? never : ended_at; }
    bool is_open() const noexcept { return ended_at < 0; }

    lock_options options{};
    bool is_eligible = false;   ///< for a deadlock that is told of
    std::int64_t began_ms = 0;  ///< by its host's clock
    bool nests = false;         ///< in a hold, which may be lost
};

/// It had a lock, as far as its holder knew.
struct possession {
    bool is_open() const noexcept { return to == never; }

    const counters::actor* by = nullptr;
    std::uint64_t client = 0;
    std::size_t name = 0;
    bool shared = false;
    bool is_eligible = false;  ///< the same: it never ends by itself
    impl::view_ptr view{};
    std::uint64_t number = 0;  ///< the second part of its field
    instant from = 0;
    instant to = never;
};

/// Someone who takes some locks, one after the other and in any order, keeps them for a while and
/// releases them all, again and again. So does whoever is told of a deadlock or of a loss.
class job final : public counters::actor {
public:
    job(simulation& all, std::uint64_t client, std::uint64_t seed);

    /// The last thing that it asked for; null: nothing yet.
    const lock_call* last_call() const noexcept { return last_; }
    const std::vector<possession*>& has() const noexcept { return has_; }

    /// The handler of its call.
    void ended(lock_call& c);
    void die() noexcept override;

private:
    struct wish {
        std::size_t name = 0;
        bool shared = false;
    };

    bool has_any() const noexcept override { return !has_.empty(); }
    void choose() override;
    void send(counters::want& c) override;
    void make_wishes();
    void ask();
    void give_back();
    lock_options choose_options(bool shared);

    simulation& all_;
    const bool has_owner_;
    owner owner_{};
    std::vector<wish> wishes_{};  // the next one is the last
    std::vector<possession*> has_{};
    lock_call* last_ = nullptr;
    bool begins_anew_ = false;
};

}  // namespace conch::sim::deadlocks

#endif
