// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_CLOCK_HPP
#define CONCH_CLOCK_HPP

#include <conch/impl/language.hpp>

#include <chrono>

namespace conch {

/// The clock by which leases are judged: it never steps, and it counts the time that the machine
/// was suspended (CLOCK_BOOTTIME on Linux), because Redis goes on expiring keys meanwhile.
///
/// Satisfies the standard's *TrivialClock*. Thread safety: `now()` may be called from any thread.
struct clock {
    /// Nanoseconds.
    using duration = std::chrono::nanoseconds;
    /// A signed integer.
    using rep = duration::rep;
    /// A nanosecond, as a fraction of a second.
    using period = duration::period;
    /// Counted from the machine's start on Linux.
    using time_point = std::chrono::time_point<clock>;
    /// It never steps.
    static constexpr bool is_steady = true;

    /// The time now.
    static time_point now() noexcept;
};

/// Of `clock`: any standard duration that loses nothing converts to it.
using duration = clock::duration;
/// Of `clock`.
using time_point = clock::time_point;

/// "As long as it takes", for `lock_options::wait` and `lock_options::max_hold`.
inline constexpr duration forever = duration::max();

}  // namespace conch

#endif
