// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_CLOCK_HPP
#define CONCH_CLOCK_HPP

#include <chrono>

namespace conch {

/// The clock by which leases are judged: it never steps, and it counts the time that the machine
/// was suspended (CLOCK_BOOTTIME on Linux), because Redis goes on expiring keys meanwhile.
///
/// Satisfies the standard's *TrivialClock*. Thread safety: `now()` may be called from any thread.
struct clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<clock>;
    static constexpr bool is_steady = true;

    static time_point now() noexcept;
};

using duration = clock::duration;
using time_point = clock::time_point;

/// "As long as it takes", for `lock_options::wait` and `lock_options::max_hold`.
inline constexpr duration forever = duration::max();

}  // namespace conch

#endif
