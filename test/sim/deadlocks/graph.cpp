// SPDX-License-Identifier: BSL-1.0
#include "sim/deadlocks/graph.hpp"

#include <algorithm>

namespace conch::sim::deadlocks {
namespace {

// What an owner has itself keeps it from nothing, but a reader from writing.
bool blocks(const possession& h, const lock_call& w) noexcept {
    const bool may_share = h.shared && w.shared;
    const bool nests = h.by == w.by && !(h.shared && !w.shared);
    return h.name == w.name && !may_share && !nests;
}

}  // namespace

bool cycle::is_local() const noexcept {
    return std::all_of(waits.begin(), waits.end(),
                       [&](const lock_call* w) { return w->client == waits.front()->client; });
}

bool cycle::has_readers() const noexcept {
    return std::any_of(holds.begin(), holds.end(), [](const possession* h) { return h->shared; });
}

void graph::add(const lock_call& w) {
    if (w.is_eligible) {
        waits_.push_back(&w);
    }
}

void graph::add(const possession& h) {
    if (h.is_eligible) {
        holds_.push_back(&h);
    }
}

bool graph::any_cycle(const lock_call& through,
                      const std::function<bool(const cycle&)>& found) const {
    if (!through.is_eligible) {
        return false;
    }
    cycle c{.waits = {&through}, .begin = through.asked_at, .end = through.waits_until()};
    return go_on(c, found);
}

bool graph::go_on(cycle& c, const std::function<bool(const cycle&)>& found) const {
    const instant begin = c.begin;
    const instant end = c.end;
    const auto narrow = [&](instant from, instant to) {
        c.begin = std::max(c.begin, from);
        c.end = std::min(c.end, to);
        return c.begin <= c.end;
    };
    bool done = false;
    for (const possession* const h : holds_) {
        c.begin = begin;
        c.end = end;
        if (done || !blocks(*h, *c.waits.back()) || !narrow(h->from, h->to)) {
            continue;
        }
        c.holds.push_back(h);
        if (h->by == c.waits.front()->by) {
            done = found(c);
            c.holds.pop_back();
            continue;
        }
        const instant held_from = c.begin;
        const instant held_to = c.end;
        for (const lock_call* const w : waits_) {
            c.begin = held_from;
            c.end = held_to;
            const bool met = std::find(c.waits.begin(), c.waits.end(), w) != c.waits.end();
            if (!done && w->by == h->by && !met && narrow(w->asked_at, w->waits_until())) {
                c.waits.push_back(w);
                done = go_on(c, found);
                c.waits.pop_back();
            }
        }
        c.holds.pop_back();
    }
    c.begin = begin;
    c.end = end;
    return done;
}

}  // namespace conch::sim::deadlocks
