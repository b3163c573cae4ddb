// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_LOCK_RELEASING_HPP
#define CONCH_SRC_LOCK_RELEASING_HPP

#include "lock/acquisition.hpp"

// How an acquisition ends: the release script, until the server has confirmed that the field is
// gone.
namespace conch::lock {

/// Sends the release, and the next waiter's try behind it, or as one. `by` (if anybody) is
/// completed with the verdict, at `valid_until` at the latest.
void start_release(acquisition& a, caller from = {});

/// The same, for an acquire that nobody wants any more and that may have taken the lock.
void compensate(acquisition& a);

/// From now on the acquire `taking` is to release what `leaving` would.
void join(acquisition_call& taking, acquisition_call& leaving) noexcept;

/// The acquire, which has a partner, is answered or lost: so is the partner's release.
void end_hand_over(acquisition_call& taking, const wire::outcome& o);

/// The acquire, which has a partner, is not sent again: the partner leaves by itself.
void release_apart(acquisition_call& taking);

/// The acquire was refused: an earlier copy, whose answer was lost, may have run nevertheless.
void end_refused(acquisition& a);

/// The acquire is known not to have taken the lock, or the lock to be gone: no release is needed,
/// unless an older copy of the acquire may still run.
void end_untaken(acquisition& a);

}  // namespace conch::lock

#endif
