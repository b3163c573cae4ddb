// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_ATTEMPT_HPP
#define CONCH_SRC_HOLD_ATTEMPT_HPP

#include "hold/pending.hpp"
#include "wire/call.hpp"

#include <conch/clock.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace conch::lock {

struct acquisition;
struct release;

/// Copies of an acquire whose connections broke before the answer: the server may run them later.
struct lost_copies {
    time_point first_sent{};
    time_point last_lost{};  ///< when the last of their connections broke
    time_point until{};      ///< then the lease is over of what had run by the loss

    lost_copies and_also(const lost_copies& others) const noexcept {
        return {.first_sent = std::min(first_sent, others.first_sent),
                .last_lost = std::max(last_lost, others.last_lost),
                .until = std::max(until, others.until)};
    }
};

/// One acquire of an acquisition, until it is answered and, if asked for, replicated.
struct attempt : wire::call {
    attempt(const wire::call_type& t, acquisition& a) noexcept : wire::call{t}, of{a} {}

    /// None if each copy was answered.
    std::optional<lost_copies> lost() const noexcept;
    /// So long after it ran, the lock may be this one's: it may have been given it in line.
    duration lasts() const noexcept;
    /// A copy that ran, and did not take the lock, got a place in line.
    bool gets_place() const noexcept;

    acquisition& of;
    pending* wanted_by = nullptr;       ///< who wants it, while somebody does
    time_point begun{};                 ///< when it was submitted
    duration max_hold{};                ///< of the hold that it makes
    duration lease{};                   ///< that it asks for
    duration waits_for{};               ///< for others; zero: it doesn't
    bool behind : 1 = false;            ///< the last copy asks behind another acquire
    bool takes_over : 1 = false;        ///< a copy of it may have replaced a release
    release* replaces = nullptr;        ///< the release of the last holder: one script does both
};

/// The acquire was granted, and it is not known yet whether enough replicas have it.
inline bool is_unconfirmed(const attempt& c) noexcept {
    return c.where == wire::call::state::idle && c.is_linked();
}

/// Waits for the answer to a release.
struct unlock : pending {
    explicit unlock(caller c) noexcept : pending{own_kind, c} {}

    static const pending_kind own_kind;
};

/// The release of an acquisition, or what leaves it to its lease, and its caller.
struct release : wire::call {
    explicit release(acquisition& a) noexcept;

    acquisition& of;
    std::optional<lost_copies> acquires{};  ///< of its acquire
    attempt* replaced_by = nullptr;         ///< the acquire of the next: one script does both
    std::uint32_t rounds = 0;               ///< answered, but not the last
    time_point stays{};                     ///< until then; the epoch: the lock is released
    unlock unlocking{caller{}};
};

inline attempt& attempt_of(wire::call& c) noexcept { return static_cast<attempt&>(c); }
inline const attempt& attempt_of(const wire::call& c) noexcept {
    return static_cast<const attempt&>(c);
}

}  // namespace conch::lock

#endif
