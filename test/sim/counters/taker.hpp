// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_COUNTERS_TAKER_HPP
#define CONCH_TEST_SIM_COUNTERS_TAKER_HPP

#include "sim/counters/actor.hpp"

#include <cstdint>

namespace conch::sim::counters {

class simulation;

struct permit_call : want {
    enum class kind : std::uint8_t {
        try_set,
        acquire,
        try_acquire,
        release,
        drain,
        look,
        set,       ///< how many are left, as an operator does
        take_away  ///< from those
    };

    kind what{};
    std::uint64_t round = 0;  ///< of a latch's tickets
};

/// Someone who takes permits of a semaphore and releases them, again and again, and gives up now
/// and then. At a latch it takes tickets, which it counts down, or waits, or sets it: also at once
/// when it has counted down, as who was the last might.
class taker final : public actor {
public:
    taker(simulation& all, std::uint64_t client, std::uint64_t seed);

    /// Permits that nobody else may have now.
    std::int64_t has() const noexcept { return has_; }
    /// Null if it waits for nothing.
    const permit_call* asks_now() const noexcept { return static_cast<permit_call*>(asked_); }

    /// The tickets that it has count no more.
    void void_tickets() noexcept;
    /// The handler of its call.
    void ended(permit_call& c);

private:
    bool has_any() const noexcept override { return has_ > 0; }
    void choose() override;
    void send(want& c) override;
    void choose_at_latch();
    void resize();
    /// What it asked to release is its own, if that is not done.
    bool counts_yet(const permit_call& c) const noexcept;
    void ask(permit_call::kind what, std::int64_t permits);

    simulation& all_;
    std::int64_t has_ = 0;
    bool sets_again_ = false;  // the latch
};

}  // namespace conch::sim::counters

#endif
