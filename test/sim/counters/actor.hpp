// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_COUNTERS_ACTOR_HPP
#define CONCH_TEST_SIM_COUNTERS_ACTOR_HPP

#include "sim/client_node.hpp"
#include "sim/world.hpp"

#include <cstddef>
#include <cstdint>

namespace conch::sim::counters {

class actor;
class stage;

/// What an actor wants of a semaphore.
struct want : call {
    std::int64_t permits = 0;  ///< that it asks for
    std::int64_t result = 0;
    actor* by = nullptr;
};

/// Someone of a client who asks for something, again and again, and gives up now and then.
class actor {
public:
    actor(stage& all, std::uint64_t client, std::uint64_t seed) noexcept
        : stage_{all}, client_{client}, chance_{seed} {}
    actor(const actor&) = delete;
    actor& operator=(const actor&) = delete;
    virtual ~actor() = default;

    void start() { plan_soon(); }
    /// No new work: gives up what it waits for, and gives back what it has.
    void stop();
    virtual void die() noexcept { dead_ = true; }
    bool dead() const noexcept { return dead_; }
    bool idle() const noexcept { return dead_ || (!asked_ && (!stopped_ || !has_any())); }
    std::uint64_t client() const noexcept { return client_; }
    std::size_t name() const noexcept { return name_; }

protected:
    client_node& node() noexcept;
    void plan(instant when);
    void plan_soon();
    /// The call is told to the engine, and given up some time later, maybe.
    void put(want& c, std::uint64_t what);

    stage& stage_;
    const std::uint64_t client_;
    dice chance_;
    std::size_t name_ = 0;
    want* asked_ = nullptr;
    bool stopped_ = false;

private:
    virtual bool has_any() const noexcept = 0;
    /// What it does next, as it waits for nothing.
    virtual void choose() = 0;
    /// In a turn of its client.
    virtual void send(want& c) = 0;

    void act(std::uint64_t generation, std::uint64_t);
    void give_up(std::uint64_t generation, std::uint64_t);

    std::uint64_t generation_ = 0;  // of what it plans next
    bool dead_ = false;
};

}  // namespace conch::sim::counters

#endif
