// SPDX-License-Identifier: BSL-1.0
// Which waiter a try is made for, and what becomes of a try whose waiter has left.
#include "wait/slot.hpp"
#include "wait/slots.hpp"

namespace conch::lock {

void slot::try_next(std::size_t most) {
    for (waiter* w = next_to_try(); w && most > 0; w = next_to_try()) {
        try_now(*w);
        --most;
    }
}

// The waiter leaves: its try goes to the next one, if that has none and wants the same, or back.
void slot::pass_try_on(waiter& w) {
    waiter* const next = queue_.after(w);
    acquisition& a = take_try(w);
    if (next && !next->trying && next->would_take(a)) {
        make_for(*next, a);
    } else {
        abandon(a);
    }
}

// The waiters who tried behind the first one wait again behind it, as it has nothing yet. What
// their tries may have got goes back. Until somebody gets permits only the first waiter tries: else
// each one that arrives would let all of them try again.
void slot::fall_back() {
    one_at_a_time_ = true;
    while (last_tried_ && last_tried_ != &queue_.head()) {
        last_tried_->queued = true;
        abandon(take_try(*last_tried_));
    }
    last_tried_ = queue_.head().trying ? &queue_.head() : nullptr;
}

void slot::try_ended() noexcept {
    if (!trying()) {
        tell(wake::tried);
    }
}

void slot::tried_in_vain(acquisition& a, const wire::outcome& o) {
    if (o.refused()) {
        client.releasing.end_refused(a);
        return;
    }
    using kind = protocol::acquire_answer::kind;
    const kind answer =
        o.answered() ? protocol::read_acquire(*a.spec, o.reply).what : kind::unintelligible;
    if (answer == kind::busy || answer == kind::gone) {
        a.in_line = a.in_line || a.acquiring->gets_place();
        client.releasing.end_untaken(a);
    } else {
        client.releasing.compensate(a);
    }
}

}  // namespace conch::lock
