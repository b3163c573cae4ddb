// SPDX-License-Identifier: BSL-1.0
// Who may hold a name beside whom.
#include "wait/slot.hpp"
#include "wait/slots.hpp"

namespace conch::lock {

// The lock is busy for the first waiter, and so for all that would have it beside that one; of
// permits, for those that want as many.
void slot::end_tries(std::uint32_t permits) {
    queue_.for_each([&](waiter& w) {
        if (w.no_wait && w.spec->permits() >= permits) {
            leave(w, errc::timed_out);
        }
    });
}

// Readers of this client join one that the server has just confirmed, with no word to it, unless
// each has to report its own progress. They do so for as long as local waiters pass a lock on: a
// writer elsewhere may wait. A waiter that a try is made for waits for its answer.
void slot::ride() {
    acquisition* const a = acquisitions_.last_reader();
    const config& settings = env().settings;
    if (!a || trying() || a->ends != core::never || a->progress ||
        env().now - a->granted_at >= settings.max_pass_time) {
        return;
    }
    while (rides_ + 1 < settings.max_passes && has_waiters() && queue_.head().shared() &&
           queue_.head().max_hold == forever && queue_.head().progress_within == duration{} &&
           queue_.head().would_take_as_it_is(*a, env().now)) {
        ++rides_;
        ++env().telemetry.counters.hand_offs;
        ++a->depth;
        grant(*a, queue_.head());
    }
}

// Readers that waited for a writer come in beside it; those that can't ride ask the server. Beside
// what is still a writer's, its owner's waiters do, who could not while that was unknown.
void slot::downgraded(acquisition& a, bool done) {
    if (!done) {
        if (a.terms.owner != 0 && nest_in(a)) {
            others_left(true);
        }
        return;
    }
    a.granted_at = env().now;
    rides_ = 0;
    if (has_waiters()) {
        ride();
    }
    tell(has_waiters() ? wake::local_release : wake::nobody);
    advance();
}

// Waiters of the same owner would wait for themselves.
void slot::nest_others(acquisition& a) {
    if (a.terms.owner == 0) {
        return;
    }
    nest_in(a);
    if (protocol::has_places(*spec)) {
        all().names.for_each_of(*spec, [&](lock_name& n) {
            slot& s = static_cast<slot&>(n);
            if (s.nest_in(a)) {
                s.others_left(true);
            }
        });
    }
}

// Whether any of this slot were nested in it.
bool slot::nest_in(acquisition& a) {
    bool some = false;
    queue_.for_each([&](waiter& w) {
        if (w.terms.owner == a.terms.owner && (w.shared() || !protocol::is_shared(*a.spec))) {
            left(w, {}, &a);
            const caller from = w.from;
            all().waiters.free(w);
            client.nesting.enter_level(a, from);
            some = true;
        }
    });
    return some;
}

}  // namespace conch::lock
