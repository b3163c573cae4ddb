// SPDX-License-Identifier: BSL-1.0
// What must be true of a latch. It is looked at after each script, so that no opening is
// overlooked.
#include "sim/counters/simulation.hpp"

#include <algorithm>
#include <string>

namespace conch::sim::counters {

std::int64_t simulation::take_tickets(std::int64_t most) {
    const std::int64_t n = std::min(most, tickets_);
    tickets_ -= n;
    return n;
}

void simulation::note_latch() {
    const std::size_t name = specs_.size() - 1;
    if (latch_is_torn()) {
        if (set_at_ + 1 >= world_.now()) {  // the one that was cut off has just discarded its own
            tickets_ = left(name) > count_ ? left(name) : tickets_;
            count_ = left(name);
        }
        return;
    }
    const std::int64_t before = std::exchange(count_, left(name));
    if (count_ > before) {
        if (before > 0 && !may_lose()) {
            violate("opening", "a latch is set that is not open");
        }
        tickets_ = count_;
        set_at_ = world_.now();
    } else if (before > 0 && count_ <= 0) {
        opened_at_ = world_.now();
        told_ = true;
    }
    judge_latch();
}

bool simulation::latch_is_torn() const {
    return server_.last_split(specs_.back()->name()) >= world_.now();
}

// Somebody else put the latch to another count. Who has a ticket that it has not asked to count
// down hears of it; the others' calls go on for half a minute. So do copies of what was done at a
// master that has discarded it.
void simulation::reissue_tickets(bool discarded) {
    ++round_;
    tickets_ = std::max<std::int64_t>(count_, 0);
    strays_until_ = world_.now() + 31 * seconds;
    strays_ = 0;
    for (const permit_call& c : calls_) {
        const bool counts_down = c.what == permit_call::kind::release && is_latch(c.name);
        const bool late = discarded && c.ended_at + 31 * seconds > world_.now();
        strays_ += counts_down && (may_run_yet(c) || late) ? c.permits : 0;
    }
    for (taker* const t : takers_) {
        t->void_tickets();
    }
}

// Who has a ticket has not counted it down yet, nor has anybody else.
void simulation::judge_latch() {
    const std::int64_t kept = tickets_ + taken(specs_.size() - 1);
    const std::int64_t strays = world_.now() < strays_until_ ? strays_ : 0;
    if (count_ + strays < kept && !may_lose() && !latch_is_torn()) {
        violate("conservation", "the latch is at " + std::to_string(count_) + ", and " +
                                    std::to_string(kept) + " are not counted down");
    }
}

// An opening that nobody told is found by the next poll, if the latch is still open then. A message
// that tells of an opening is trusted where it comes in order, by who has been answered
// and listens: one who was refused the channel does not, and polls; nor does one whose subscription
// the server has just ended.
bool simulation::has_waited_in_vain(const permit_call& c) {
    const instant patience = how_.promptness();
    const instant asked = std::max(c.asked_at, server_.subscriptions_ended(channel(c.name)));
    const instant listens = asked + 8 * how_.net.worst_latency() + 50 * millis;
    if (count_ <= 0) {
        const duration poll = told_ ? duration{} : how_.settings.max_poll_interval;
        return std::max(opened_at_, c.asked_at) + patience + poll.count() < world_.now();
    }
    const bool in_order = how_.run_as != deployment::cluster || how_.sharded;
    return in_order && told_ && !how_.has(fault::no_channel) && opened_at_ >= settled_at_ &&
           listens < opened_at_ && opened_at_ + patience < world_.now();
}

}  // namespace conch::sim::counters
