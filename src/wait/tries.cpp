// SPDX-License-Identifier: BSL-1.0
// Which waiter a try is made for. Those that have one stand in front, in the order of their tries.
// And what becomes of a try that nobody wants any more.
#include "wait/slot.hpp"
#include "wait/slots.hpp"

#include <utility>

namespace conch::lock {

// Of permits, each waiter asks behind the one in front of it, without waiting for that one's
// answer. Whatever else can be locked, the first one gets it for itself, or for all.
waiter* slot::next_to_try() noexcept {
    if (!last_tried_) {
        return has_waiters() ? &queue_.head() : nullptr;
    }
    return protocol::takes_permits(*spec) && !one_at_a_time_ ? queue_.after(*last_tried_) : nullptr;
}

void slot::try_next(std::size_t most) {
    for (waiter* w = next_to_try(); w && most > 0; w = next_to_try()) {
        try_now(*w);
        --most;
    }
}

void slot::make_for(waiter& w, acquisition& a) noexcept {
    w.trying = &a;
    a.acquiring->by = &w;
    last_tried_ = &w;
}

acquisition& slot::take_try(waiter& w) noexcept {
    if (last_tried_ == &w) {
        last_tried_ = queue_.before(w);
    }
    w.trying->acquiring->by = nullptr;
    return *std::exchange(w.trying, nullptr);
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
    const bool may_be_in_line =
        protocol::has_places(*a.spec) && a.acquiring->waits_for > duration::zero();
    a.in_line = a.in_line || may_be_in_line;
    if (answer == kind::busy || answer == kind::gone) {
        client.releasing.end_untaken(a);
    } else {
        client.releasing.compensate(a);
    }
}

}  // namespace conch::lock
