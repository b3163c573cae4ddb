// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_LOCK_RELEASING_HPP
#define CONCH_SRC_LOCK_RELEASING_HPP

#include "lock/acquisition.hpp"
#include "lock/attempt.hpp"

#include <cstdint>
#include <optional>

// How an acquisition ends: the release script, until the server has confirmed that the field is
// gone.
namespace conch::lock {

/// The release of an acquisition, and its caller.
struct release : wire::call {
    explicit release(acquisition& a) noexcept;

    acquisition& of;
    std::optional<lost_copies> acquires{};  ///< of its acquire
    attempt* replaced_by = nullptr;         ///< the acquire of the next: one script does both
    std::uint32_t rounds = 0;               ///< answered, but not the last
    unlock unlocking{caller{}};
};

/// Sends the release, and the next waiter's try behind it, or as one. `by` (if anybody) is
/// completed with the verdict, at `valid_until` at the latest.
void start_release(acquisition& a, caller from = {});

/// The same, for an acquire that nobody wants any more and that may have taken the lock.
void compensate(acquisition& a);

/// From now on the acquire `taking` is to release what `leaving` would.
void join(attempt& taking, release& leaving) noexcept;

/// The acquire, which replaces a release, was answered or lost. An answer is that of the release,
/// too; else the release leaves by itself.
void end_hand_over(attempt& taking, const wire::outcome& o);

/// The acquire, which replaces a release, is not sent again: the release leaves by itself.
void release_apart(attempt& taking);

/// The acquire is not on its way any more: only its lost copies matter from now on.
void end_attempt(acquisition& a);

/// The acquire was refused: an earlier copy, whose answer was lost, may have run nevertheless.
void end_refused(acquisition& a);

/// The acquire is known not to have taken the lock, or the lock to be gone: no release is needed,
/// unless an older copy of the acquire may still run.
void end_untaken(acquisition& a);

}  // namespace conch::lock

#endif
