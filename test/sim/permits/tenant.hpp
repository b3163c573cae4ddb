// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_PERMITS_TENANT_HPP
#define CONCH_TEST_SIM_PERMITS_TENANT_HPP

#include "sim/client_node.hpp"
#include "sim/held.hpp"
#include "sim/world.hpp"

#include <conch/options.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace conch::sim::permits {

class simulation;
class tenant;

/// What a tenant wants of a semaphore.
struct permit_call : call {
    enum class kind : std::uint8_t { try_set, acquire, try_acquire, extend, unlock, look };

    kind what{};
    std::int64_t permits = 0;  ///< that it asks for
    std::int64_t result = 0;
    lock_options options{};
    tenant* by = nullptr;
};

/// Someone who takes permits of a semaphore for as long as a lease, keeps them for a while and
/// gives them back, again and again.
class tenant {
public:
    tenant(simulation& all, std::uint64_t client, std::uint64_t seed);
    tenant(const tenant&) = delete;
    tenant& operator=(const tenant&) = delete;

    void start();
    /// No new work: gives up what it waits for, and gives back what it has.
    void stop();
    void die() noexcept { dead_ = true; }
    bool dead() const noexcept { return dead_; }
    bool idle() const noexcept { return dead_ || (!asked_ && (!stopped_ || !has_)); }
    std::uint64_t client() const noexcept { return client_; }
    std::size_t name() const noexcept { return name_; }
    /// Its hold, until it is given back.
    const held* has() const noexcept { return has_ ? &*has_ : nullptr; }
    /// Permits of that.
    std::int64_t permits() const noexcept { return permits_; }
    /// Null if it waits for nothing.
    const permit_call* asks_now() const noexcept { return asked_; }

    /// The handler of its call.
    void ended(permit_call& c);

private:
    client_node& node() noexcept;
    void plan_soon();
    void act(std::uint64_t generation, std::uint64_t);
    void choose();
    void use();
    void give_back();
    void ask(permit_call::kind what, std::int64_t permits);
    void send(permit_call& c);
    lock_options choose_options(bool waits);
    void give_up(std::uint64_t generation, std::uint64_t);

    simulation& all_;
    const std::uint64_t client_;
    dice chance_;
    std::uint64_t generation_ = 0;  // of what it plans next
    std::size_t name_ = 0;
    std::optional<held> has_{};
    std::int64_t permits_ = 0;
    permit_call* asked_ = nullptr;
    bool stopped_ = false;
    bool dead_ = false;
};

}  // namespace conch::sim::permits

#endif
