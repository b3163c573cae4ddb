// SPDX-License-Identifier: BSL-1.0
// How many permits there are to be, by what scripts did. It is looked at after each of them.
#include "sim/counters/simulation.hpp"

#include <algorithm>

namespace conch::sim::counters {

void simulation::add_to_total(std::size_t name, std::int64_t permits) {
    tally& t = tallies_[name];
    t.total += permits;
    t.peak = std::max(t.peak, t.total);
}

void simulation::ran(const script_run& r) {
    for (std::size_t name = 0; name < specs_.size(); ++name) {
        if (r.keys.front() == specs_[name]->name()) {
            if (is_latch(name)) {
                note_latch();
            } else if (r.script == "semaphore_change") {
                note_change(name, r);
            }
        }
    }
}

// A request that is repeated is answered as before, and changes nothing.
void simulation::note_change(std::size_t name, const script_run& r) {
    constexpr std::int64_t done = 1;
    if (r.answer.items.size() != 2 || r.answer.items[0].integer != done ||
        !requests_.emplace(r.keys[1]).second) {
        return;
    }
    tally& t = tallies_[name];
    const std::int64_t before = r.answer.items[1].integer;
    const std::int64_t n = to_integer(r.args[4]).value_or(0);
    const bool is_first = r.args[3] == "try_set";
    if (is_first && t.set && !may_lose()) {
        violate("setting", "permits are set that were set before");
    }
    t.set = server_.redis().exists(specs_[name]->name(), server_.wall_clock());
    if (is_first || r.args[3] == "set") {
        add_to_total(name, n - before);
    } else if (r.args[3] == "add" && n < 0) {  // what is released was taken before
        add_to_total(name, n);
        t.owed.owe(left(name));
    } else if (r.args[3] == "drain" && before < 0) {  // it is set to zero
        add_to_total(name, -before);
    }
}

// DEL, of the first that is there.
bool simulation::by_stranger(fault) {
    const std::size_t first = world_.chance.below(specs_.size());
    for (std::size_t i = 0; i < specs_.size(); ++i) {
        const std::size_t name = (first + i) % specs_.size();
        const std::int64_t before = left(name);
        if (!server_.redis().exists(specs_[name]->name(), server_.wall_clock())) {
            continue;
        }
        server_.redis().remove(specs_[name]->name(), server_.wall_clock());
        if (is_latch(name)) {
            count_ = 0;
            opened_at_ = world_.now();
            told_ = false;
            reissue_tickets();
        } else {
            add_to_total(name, -before);
            tallies_[name].set = false;
        }
        return true;
    }
    return false;
}

}  // namespace conch::sim::counters
