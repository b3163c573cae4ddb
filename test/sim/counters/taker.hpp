// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_COUNTERS_TAKER_HPP
#define CONCH_TEST_SIM_COUNTERS_TAKER_HPP

#include "sim/client_node.hpp"
#include "sim/world.hpp"

#include <cstddef>
#include <cstdint>

namespace conch::sim::counters {

class simulation;
class taker;

/// What a taker wants of a semaphore.
struct permit_call : call {
    enum class kind : std::uint8_t { try_set, acquire, try_acquire, release, drain, look };

    kind what{};
    std::int64_t permits = 0;  ///< that it asks for
    std::int64_t result = 0;
    taker* by = nullptr;
};

/// Someone who takes permits of a semaphore and releases them, again and again, and gives up now
/// and then. At a latch it takes tickets, which it counts down, or waits, or sets it: also at once
/// when it has counted down, as who was the last might.
class taker {
public:
    taker(simulation& all, std::uint64_t client, std::uint64_t seed);
    taker(const taker&) = delete;
    taker& operator=(const taker&) = delete;

    void start();
    /// No new work: gives up what it waits for, and releases what it has.
    void stop();
    void die() noexcept { dead_ = true; }
    bool dead() const noexcept { return dead_; }
    bool idle() const noexcept { return dead_ || (!asked_ && (!stopped_ || has_ == 0)); }
    std::uint64_t client() const noexcept { return client_; }
    std::size_t name() const noexcept { return name_; }
    /// Permits that nobody else may have now.
    std::int64_t has() const noexcept { return has_; }

    /// Null if it waits for nothing.
    const permit_call* asks_now() const noexcept { return asked_; }

    /// The handler of its call.
    void ended(permit_call& c);

private:
    client_node& node() noexcept;
    void plan(instant when);
    void plan_soon();
    void act(std::uint64_t generation, std::uint64_t);
    void choose();
    void choose_at_latch();
    void ask(permit_call::kind what, std::int64_t permits);
    void send(permit_call& c);
    void give_up(std::uint64_t generation, std::uint64_t);

    simulation& all_;
    const std::uint64_t client_;
    dice chance_;
    std::uint64_t generation_ = 0;  // of what it plans next
    std::size_t name_ = 0;
    std::int64_t has_ = 0;
    permit_call* asked_ = nullptr;
    bool sets_again_ = false;  // the latch
    bool stopped_ = false;
    bool dead_ = false;
};

}  // namespace conch::sim::counters

#endif
