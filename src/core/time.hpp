// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_TIME_HPP
#define CONCH_SRC_CORE_TIME_HPP

#include <conch/clock.hpp>

#include <chrono>
#include <cstdint>

// Arithmetic on times that saturates instead of overflowing. The time itself is always an argument
// of what needs it: nothing below the driver reads a clock.
namespace conch::core {

inline constexpr time_point never = time_point::max();

/// `t + d`; `never` where that can't be represented. Precondition: `d >= 0`, `t` not before the
/// epoch.
constexpr time_point after(time_point t, duration d) noexcept {
    return d > never - t ? never : t + d;
}

/// Whole milliseconds, rounded up, as Redis takes them.
constexpr std::int64_t ceil_millis(duration d) noexcept {
    using std::chrono::milliseconds;
    const auto whole = std::chrono::duration_cast<milliseconds>(d);
    return whole.count() + (whole < d ? 1 : 0);
}

/// A server's time to live may be longer than can be told: then it is the longest that can.
constexpr duration from_millis(std::int64_t ms) noexcept {
    using std::chrono::milliseconds;
    constexpr auto most = std::chrono::duration_cast<milliseconds>(duration::max()).count();
    return milliseconds{ms < most ? ms : most};
}

/// A shorter lease would be over before it could be told.
inline constexpr duration shortest_lease = std::chrono::milliseconds{10};
inline constexpr duration shortest_renewed_lease = std::chrono::milliseconds{100};
inline constexpr duration longest_lease = std::chrono::hours{24 * 365};
inline constexpr duration longest_without_progress = std::chrono::hours{24 * 30};

/// A user may ask for this lease.
constexpr bool lease_is_good(duration lease, bool renew) noexcept {
    return lease >= (renew ? shortest_renewed_lease : shortest_lease) && lease <= longest_lease;
}

/// How much sooner than the server a holder regards its lease as over: clocks drift, and Redis
/// keeps times in whole milliseconds.
constexpr duration drift_margin(duration lease) noexcept {
    return lease / 40 + std::chrono::milliseconds{2};
}

/// The hold that a lease sent at `sent` gives.
constexpr time_point lease_end(time_point sent, duration lease) noexcept {
    return after(sent, lease - drift_margin(lease));
}

/// The shortest lease whose hold, sent now, lasts for `left`. Precondition: `left` is no more than
/// some years.
constexpr duration lease_for(duration left) noexcept {
    return (left + std::chrono::milliseconds{2}) * 40 / 39;  // drift_margin() rounds down
}

}  // namespace conch::core

#endif
