// SPDX-License-Identifier: BSL-1.0
// Whom a try is made for, and what follows where its answer helps nobody here.
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

// They come behind one that has nothing yet. What they may have got comes back, and until somebody
// has got permits, only the first one tries: else each that arrives would let all of them try
// again.
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
