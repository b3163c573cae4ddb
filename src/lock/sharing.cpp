// SPDX-License-Identifier: BSL-1.0
// Who may hold a name beside whom.
#include "lock/context.hpp"
#include "lock/slot.hpp"

#include <algorithm>

namespace conch::lock {

acquisition* slot::held_by(std::uint64_t owner, bool shared) const noexcept {
    acquisition* found = nullptr;
    for_each_holder([&](acquisition& a) {
        found = owner != 0 && a.terms.owner == owner && (shared || !protocol::is_shared(*a.spec))
                    ? &a
                    : found;
    });
    return found;
}

void slot::check_holders() {
    for_each_holder([&](acquisition& a) { ctx.renewing.check(a); });
}

bool slot::blocked() const noexcept { return has_waiters() && !holders_.admit(head().shared()); }

// Who comes before a caller that does not wait: whoever must not hold the lock beside it.
bool slot::is_busy_for(const waiter& w) const noexcept {
    if (!holders_.admit(w.shared())) {
        return true;
    }
    return w.shared() ? std::any_of(waiters_.begin(), waiters_.end(),
                                    [](const pending& p) {
                                        return !static_cast<const waiter&>(p).shared();
                                    })
                      : has_waiters() || trying_;
}

// Readers of this client join one that the server has just confirmed, with no word to it. They do
// so for as long as local waiters pass a lock on: a writer elsewhere may wait.
void slot::ride() {
    acquisition* const a = holders_.last_reader();
    if (!a || a->ends != core::never || ctx.now - granted_at_ >= ctx.settings.max_pass_time) {
        return;
    }
    while (rides_ < ctx.settings.max_passes && has_waiters() && head().shared() &&
           head().max_hold == forever && fits_as_it_is(*a, head())) {
        ++rides_;
        ++ctx.counters.hand_offs;
        ++a->depth;
        leave(head(), {}, add_level(*a));
    }
}

}  // namespace conch::lock
