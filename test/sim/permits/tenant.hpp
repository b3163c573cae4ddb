// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_PERMITS_TENANT_HPP
#define CONCH_TEST_SIM_PERMITS_TENANT_HPP

#include "sim/counters/actor.hpp"
#include "sim/held.hpp"

#include <conch/options.hpp>

#include <cstdint>
#include <optional>

namespace conch::sim::permits {

class simulation;

struct permit_call : counters::want {
    enum class kind : std::uint8_t {
        try_set,
        acquire,
        try_acquire,
        extend,
        unlock,
        look,
        set,   ///< how many there are in all, as an operator does
        add,   ///< to that
        force  ///< takes back all that are out, as an operator does
    };

    kind what{};
    lock_options options{};
    effect* effect_of_force = nullptr;
};

/// Someone who takes permits of a semaphore for as long as a lease, keeps them for a while and
/// gives them back, again and again.
class tenant final : public counters::actor {
public:
    tenant(simulation& all, std::uint64_t client, std::uint64_t seed);

    /// Its hold, until it is given back.
    const held* has() const noexcept { return has_ ? &*has_ : nullptr; }
    /// Permits of that.
    std::int64_t permits() const noexcept { return permits_; }
    /// Null if it waits for nothing.
    const permit_call* asks_now() const noexcept { return static_cast<permit_call*>(asked_); }

    /// The handler of its call.
    void ended(permit_call& c);

private:
    bool has_any() const noexcept override { return has_.has_value(); }
    void choose() override;
    void send(counters::want& c) override;
    void begin();
    void resize();
    void use();
    void give_back();
    void ask(permit_call::kind what, std::int64_t permits);
    lock_options choose_options(bool waits);

    simulation& all_;
    std::optional<held> has_{};
    std::int64_t permits_ = 0;
};

}  // namespace conch::sim::permits

#endif
