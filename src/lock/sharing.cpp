// SPDX-License-Identifier: BSL-1.0
// Who may hold a name beside whom.
#include "lock/context.hpp"
#include "lock/holding.hpp"
#include "lock/slot.hpp"

#include <algorithm>

namespace conch::lock {

acquisition* slot::held_by(std::uint64_t owner, bool shared) noexcept {
    acquisition* found = nullptr;
    acquisitions_.for_each_holder([&](acquisition& a) {
        found = owner != 0 && a.terms.owner == owner && (shared || !protocol::is_shared(*a.spec))
                    ? &a
                    : found;
    });
    return found;
}

void slot::check_holders() {
    acquisitions_.for_each_holder([&](acquisition& a) { ctx.renewing.check(a); });
}

bool slot::blocked() const noexcept {
    return has_waiters() && !acquisitions_.admit(head().shared());
}

// Who comes before a caller that does not wait. A reader may share the answer to a try of readers.
bool slot::is_busy_for(const waiter& w) const noexcept {
    if (!acquisitions_.admit(w.shared())) {
        return true;
    }
    if (!w.shared()) {
        return has_waiters() || trying_;
    }
    return contending_ || std::any_of(waiters_.begin(), waiters_.end(), [](const pending& p) {
               return !static_cast<const waiter&>(p).shared();
           });
}

// The lock is busy for the first waiter, and so for all that would have it beside that one.
void slot::end_tries() {
    for (auto next = waiters_.begin(); next != waiters_.end();) {
        auto& w = static_cast<waiter&>(*next++);
        if (w.no_wait) {
            leave(w, errc::timed_out);
        }
    }
}

// Readers of this client join one that the server has just confirmed, with no word to it. They do
// so for as long as local waiters pass a lock on: a writer elsewhere may wait. A waiter that a try
// is made for waits for its answer.
void slot::ride() {
    acquisition* const a = acquisitions_.last_reader();
    if (!a || trying_ || a->ends != core::never ||
        ctx.now - a->granted_at >= ctx.settings.max_pass_time) {
        return;
    }
    while (rides_ + 1 < ctx.settings.max_passes && has_waiters() && head().shared() &&
           head().max_hold == forever && fits_as_it_is(*a, head())) {
        ++rides_;
        ++ctx.telemetry.counters.hand_offs;
        ++a->depth;
        grant(*a, head());
    }
}

}  // namespace conch::lock
