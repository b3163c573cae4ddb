// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_ASKER_HPP
#define CONCH_TEST_SIM_ASKER_HPP

#include "sim/client_node.hpp"
#include "sim/world.hpp"

#include <cstdint>

namespace conch::sim {

class simulation;

/// Someone who asks rate limits for permits, through one client, again and again: tries or waits,
/// and gives up now and then.
class asker {
public:
    asker(simulation& all, std::uint64_t client, std::uint64_t seed);
    asker(const asker&) = delete;
    asker& operator=(const asker&) = delete;

    void start();
    /// No new work: gives up what it waits for.
    void stop();
    /// Its client's process ended.
    void die() noexcept { asked_ = nullptr; }
    bool idle() const noexcept { return asked_ == nullptr; }
    std::uint64_t client() const noexcept { return client_; }
    /// Null if it waits for nothing.
    const call* asks_now() const noexcept { return asked_; }

    /// The handler of its call.
    void ended();

private:
    client_node& node() noexcept;
    void plan(instant when);
    void act(std::uint64_t generation, std::uint64_t);
    void ask();
    void give_up(std::uint64_t generation, std::uint64_t);

    simulation& all_;
    const std::uint64_t client_;
    dice chance_;
    std::uint64_t generation_ = 0;  // of what it plans next
    call* asked_ = nullptr;
};

}  // namespace conch::sim

#endif
