// SPDX-License-Identifier: BSL-1.0
// Who waits for whom within this client.
#include "wait/deadlocks.hpp"

#include "wait/cycle_text.hpp"
#include "wait/slots.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace conch::lock {
namespace {

/// A longer way is left to the looks at the servers.
constexpr std::size_t most_steps = 256;

constexpr duration shortest_interval = std::chrono::milliseconds{5};

/// So that a client sends no more than 1,000 commands about deadlocks in a second.
constexpr duration between_commands = std::chrono::milliseconds{1};

/// One that waits for the holder that the wait is blocked by.
struct step {
    const waiter* w;
    std::size_t before;
};

// Else it ends by itself, and so does a wait for it.
bool lasts(const acquisition& a) noexcept {
    return a.terms.renew && a.ends == core::never && !a.progress;
}

// What is being downgraded lets readers in, and those of its owner if it is not done.
bool blocks(const acquisition& a, const waiter& w) noexcept {
    const bool is_a_readers = protocol::is_shared(*a.spec);
    const bool may_admit = a.two_fields && (w.shared() || a.terms.owner == w.terms.owner);
    return a.holds && !(is_a_readers && w.shared()) && !(may_admit && !is_a_readers);
}

bool matters(const waiter& w) noexcept {
    return w.terms.owner != 0 && !w.no_wait;  // who wants permits has none
}

}  // namespace

deadlocks::deadlocks(slots& all) noexcept : all_{all}, tick_{this, &deadlocks::on_tick} {}

deadlocks::~deadlocks() { all_.env.timers.cancel(tick_); }

bool deadlocks::would_deadlock(waiter& w) {
    if (!matters(w)) {
        return false;
    }
    if (closes_cycle(w)) {
        return true;
    }
    wait_began(w);
    return false;
}

bool deadlocks::closes_cycle(const waiter& w) const {
    std::vector<step> steps{{&w, 0}};
    const acquisition* last = nullptr;
    std::size_t at = 0;
    const auto visit = [&](const acquisition& a) {
        if (last || a.terms.owner == 0 || !lasts(a) || !blocks(a, *steps[at].w)) {
            return;
        }
        if (a.terms.owner == w.terms.owner) {
            last = &a;
            return;
        }
        const auto p = parties_.find(a.terms.owner);
        if (p == parties_.end()) {
            return;
        }
        for (const hunt* h : p->second.waits) {
            const bool known = std::any_of(steps.begin(), steps.end(),
                                           [&](const step& s) { return s.w == h->of; });
            if (!known && steps.size() < most_steps) {
                steps.push_back({h->of, at});
            }
        }
    };
    for (; at < steps.size(); ++at) {
        all_.names.for_each_of(*steps[at].w->spec,
                               [&](lock_name& n) { n.for_each_acquisition(visit); });
        if (last) {
            break;
        }
    }
    if (!last) {
        return false;
    }
    const std::string& here = all_.env.settings.client_name;
    std::vector<cycle_link> back;
    for (; at != 0; at = steps[at].before) {
        back.push_back({.who = here, .wants = steps[at].w->spec->name()});
    }
    std::reverse(back.begin(), back.end());
    all_.env.telemetry.deadlock(cycle_text({.who = here, .wants = w.spec->name()}, back));
    return true;
}

void deadlocks::wait_began(waiter& w) {
    if (w.watched) {
        return;
    }
    w.watched = true;
    using std::chrono::milliseconds;
    party& p = parties_[w.terms.owner];
    const auto began = w.since.time_since_epoch() + all_.env.wall_clock;
    hunt& h = hunts_.make(*this, w, p, ++last_number_,
                          std::chrono::duration_cast<milliseconds>(began).count());
    p.waits.push_back(&h);
    waits_.push_back(h);
    if (!tick_.armed()) {
        all_.env.timers.set(tick_, core::after(all_.env.now, interval()));
    }
}

void deadlocks::wait_ended(const waiter& w) {
    if (!w.watched) {
        return;
    }
    party& p = parties_.at(w.terms.owner);
    const auto found =
        std::find_if(p.waits.begin(), p.waits.end(), [&](const hunt* h) { return h->of == &w; });
    hunt& h = **found;
    p.waits.erase(found);
    end_hunt(h);
    if (p.waits.empty()) {
        end_notices(p);
    }
    forget_idle(w.terms.owner);
    if (waits_.empty()) {
        all_.env.timers.cancel(tick_);
        pace_ = {};
        sent_ = 0;
    }
}

void deadlocks::hold_began(const acquisition& a) {
    if (a.terms.owner != 0 && lasts(a)) {
        parties_[a.terms.owner].holds.push_back(&a);
    }
}

void deadlocks::hold_ended(const acquisition& a) {
    if (a.terms.owner == 0) {
        return;
    }
    party& p = parties_[a.terms.owner];
    std::erase(p.holds, &a);
    const auto found = std::find_if(p.notices.begin(), p.notices.end(),
                                    [&](const notice* n) { return n->number == a.number; });
    if (found != p.notices.end()) {
        notice& n = **found;
        p.notices.erase(found);
        end_notice(n);
    }
    forget_idle(a.terms.owner);
}

void deadlocks::forget_idle(std::uint64_t owner) {
    const auto found = parties_.find(owner);
    if (found != parties_.end() && found->second.waits.empty() && found->second.holds.empty()) {
        parties_.erase(found);
    }
}

// The second refresh after a look comes within half a poll interval, and a look sees it within
// another half.
duration deadlocks::interval() const noexcept {
    return std::max({all_.poll_interval() / 4, pace_, shortest_interval});
}

void deadlocks::submit(wire::call& c, const impl::lock_spec& of) {
    ++sent_;
    all_.servers.submit(c, of.hash_slot());
}

void deadlocks::on_tick(void* self) { static_cast<deadlocks*>(self)->tick(); }

// What waits for less than an interval tells and asks nothing.
void deadlocks::tick() {
    core::environment& env = all_.env;
    pace_ = std::exchange(sent_, 0) * between_commands;
    env.timers.set(tick_, core::after(env.now, interval()));
    ++ticks_;
    for (hunt& h : waits_) {
        if (h.by.holds.empty() || env.now - h.of->since < interval()) {
            continue;
        }
        if (std::exchange(h.by.told_at, ticks_) != ticks_) {
            tell(h.by);
        }
        if (h.looks) {
            give_up_on_silent_server(h);
            continue;
        }
        if (std::exchange(h.pauses, false)) {
            continue;
        }
        h.may_repeat = true;
        look(h);
    }
}

}  // namespace conch::lock
