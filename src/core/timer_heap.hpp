// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_TIMER_HEAP_HPP
#define CONCH_SRC_CORE_TIMER_HEAP_HPP

#include "core/time.hpp"

#include <cstddef>
#include <limits>
#include <vector>

namespace conch::core {

/// Something to be done at a time. Embedded in what it concerns; not copied while armed.
struct timer {
    using function = void (*)(void* owner);

    constexpr timer(void* o, function f) noexcept : owner{o}, fire{f} {}
    timer(const timer&) = delete;
    timer& operator=(const timer&) = delete;

    bool armed() const noexcept { return position != unarmed; }

    static constexpr std::size_t unarmed = std::numeric_limits<std::size_t>::max();

    time_point at{};
    std::size_t position = unarmed;
    void* owner;
    function fire;
};

/// The armed timers, soonest first: a binary heap of pointers, each timer knowing its place.
class timer_heap {
public:
    /// Arms, or moves.
    void set(timer& t, time_point at);
    /// Disarms; no-op if not armed.
    void cancel(timer& t) noexcept;

    bool empty() const noexcept { return heap_.empty(); }
    std::size_t size() const noexcept { return heap_.size(); }
    /// `never` if none is armed.
    time_point next() const noexcept { return heap_.empty() ? never : heap_.front()->at; }

    /// Disarms and returns the soonest timer that is due by `now`, or null.
    timer* pop_due(time_point now) noexcept;

private:
    void place(std::size_t i, timer* t) noexcept;
    void up(std::size_t i, timer* t) noexcept;
    void down(std::size_t i, timer* t) noexcept;

    std::vector<timer*> heap_;
};

}  // namespace conch::core

#endif
