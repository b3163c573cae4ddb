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
    const std::int64_t before = std::exchange(count_, left(name));
    if (count_ > before) {
        if (before > 0 && !may_lose()) {
            violate("opening", "a latch is set that is not open");
        }
        tickets_ = count_;
        set_at_ = world_.now();
    } else if (before > 0 && count_ <= 0) {
        opened_at_ = world_.now();
    }
    judge_latch();
}

// Who has a ticket has not counted it down yet, nor has anybody else.
void simulation::judge_latch() {
    const std::int64_t kept = tickets_ + taken(specs_.size() - 1);
    if (count_ < kept && !may_lose()) {
        violate("conservation", "the latch is at " + std::to_string(count_) + ", and " +
                                    std::to_string(kept) + " are not counted down");
    }
}

// A message that tells of an opening is trusted where it comes in order, by who has been answered
// and listens: one who was refused the channel does not, and polls.
bool simulation::has_waited_in_vain(const permit_call& c) {
    const instant patience = how_.promptness();
    const instant listens = c.asked_at + 8 * how_.net.worst_latency() + 50 * millis;
    if (count_ <= 0) {
        return std::max(opened_at_, c.asked_at) + patience < world_.now();
    }
    const bool in_order = how_.run_as != deployment::cluster || how_.sharded;
    return in_order && !how_.has(fault::no_channel) && opened_at_ >= settled_at_ &&
           listens < opened_at_ && opened_at_ + patience < world_.now();
}

}  // namespace conch::sim::counters
