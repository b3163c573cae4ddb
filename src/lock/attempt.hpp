// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_LOCK_ATTEMPT_HPP
#define CONCH_SRC_LOCK_ATTEMPT_HPP

#include "wire/call.hpp"

#include <conch/clock.hpp>

#include <optional>

namespace conch::lock {

struct acquisition;
struct release;

/// Copies of an acquire whose connections broke before the answer: the server may run them later.
struct lost_copies {
    time_point first_sent{};
    time_point last_lost{};  ///< when the last of their connections broke
    time_point until{};      ///< the lease of the last one is over by then
};

/// The acquire of an acquisition, until it is answered and, if asked for, replicated.
struct attempt : wire::call {
    attempt(const wire::call_type& t, acquisition& a) noexcept : wire::call{t}, of{a} {}

    /// None if each copy was answered.
    std::optional<lost_copies> lost() const noexcept;

    acquisition& of;
    time_point begun{};           ///< when it was submitted
    duration max_hold{};          ///< of the hold that it makes
    release* replaces = nullptr;  ///< the release of the last holder: one script does both
};

inline attempt& attempt_of(wire::call& c) noexcept { return static_cast<attempt&>(c); }
inline const attempt& attempt_of(const wire::call& c) noexcept {
    return static_cast<const attempt&>(c);
}

}  // namespace conch::lock

#endif
