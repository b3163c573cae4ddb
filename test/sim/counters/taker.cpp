// SPDX-License-Identifier: BSL-1.0
#include "sim/counters/taker.hpp"

#include "sim/counters/simulation.hpp"

#include <algorithm>
#include <utility>

namespace conch::sim::counters {

using kind = permit_call::kind;

taker::taker(simulation& all, std::uint64_t client, std::uint64_t seed)
    : actor{all, client, seed}, all_{all} {}

void taker::choose() {
    if (has_ > 0) {
        ask(kind::release, chance_.once_in(3) && !stopped_ ? chance_.between(1, has_) : has_);
        return;
    }
    if (stopped_) {
        return;
    }
    if (std::exchange(sets_again_, false)) {
        ask(kind::try_set, chance_.between(1, all_.most_tickets()));
        return;
    }
    name_ = chance_.below(all_.names());
    if (all_.is_latch(name_)) {
        choose_at_latch();
        return;
    }
    if (all_.how().has(fault::resize) && chance_.once_in(6)) {
        resize();
        return;
    }
    const std::int64_t most = all_.total();
    const std::int64_t some = chance_.once_in(3) ? chance_.between(1, most) : 1;
    switch (chance_.below(10)) {
        case 0: ask(kind::try_set, most); return;
        case 1: ask(kind::drain, 0); return;
        case 2: ask(kind::look, 0); return;
        case 3:
        case 4: ask(kind::try_acquire, some); return;
        default: ask(kind::acquire, some); return;
    }
}

// Permits that it adds it is the one to release.
void taker::resize() {
    all_.attempt(fault::resize).felt();
    const std::int64_t n = chance_.between(1, all_.total());
    switch (chance_.below(3)) {
        case 0: ask(kind::set, n); return;
        case 1: ask(kind::take_away, n); return;
        default: all_.add_to_total(name_, has_ = n); plan_soon();
    }
}

void taker::choose_at_latch() {
    switch (chance_.below(8)) {
        case 0: ask(kind::try_set, chance_.between(1, all_.most_tickets())); return;
        case 1: ask(kind::look, 0); return;
        case 2:
        case 3: ask(kind::acquire, 1); return;
        default: has_ = all_.take_tickets(chance_.between(1, all_.total())); plan_soon();
    }
}

bool taker::counts_yet(const permit_call& c) const noexcept {
    return !all_.is_latch(c.name) || c.round == all_.round();
}

void taker::void_tickets() noexcept { has_ = all_.is_latch(name_) ? 0 : has_; }

void taker::ask(permit_call::kind what, std::int64_t permits) {
    permit_call& c = all_.begin(*this, what, permits);
    asked_ = &c;
    if (what == kind::acquire) {
        c.wait = chance_.once_in(3)   ? forever
                 : chance_.once_in(8) ? duration{}
                                      : duration{chance_.spread(1 * millis, 3 * seconds)};
    }
    has_ -= what == kind::release ? permits : 0;
    put(c, static_cast<std::uint64_t>(what));
}

void taker::send(want& w) {
    permit_call& c = static_cast<permit_call&>(w);
    engine::lock_engine& engine = node().engine();
    const impl::count_spec_ptr& spec = all_.count_spec(name_);
    const lock::caller me{static_cast<call*>(&c), &c.running};
    using change = lock::counter_change::kind;
    const bool latch = all_.is_latch(name_);
    const change set = latch ? change::arm : change::try_set;
    const change release = latch ? change::count_down : change::add;
    switch (c.what) {
        case kind::try_set: engine.change_permits(spec, set, c.permits, me); return;
        case kind::acquire: engine.acquire_permits(spec, c.permits, c.wait, false, me); return;
        case kind::try_acquire: engine.acquire_permits(spec, c.permits, {}, true, me); return;
        case kind::set: engine.change_permits(spec, change::set, c.permits, me); return;
        case kind::take_away: engine.change_permits(spec, change::add, -c.permits, me); return;
        case kind::release: engine.change_permits(spec, release, c.permits, me); return;
        case kind::drain: engine.change_permits(spec, change::drain, 0, me, &c.result); return;
        case kind::look: engine.change_permits(spec, change::look, 0, me, &c.result); return;
    }
}

// A release that failed for a known reason was not made: it is made again.
void taker::ended(permit_call& c) {
    asked_ = nullptr;
    const bool took = (c.what == kind::acquire && !c.ec && !all_.is_latch(c.name)) ||
                      (c.what == kind::try_acquire && !c.ec && c.said == impl::remark::done);
    const bool goes_on = c.given_up || c.ec == errc::client_closed;
    if (took) {
        has_ += c.permits;
    } else if (c.what == kind::drain && !c.ec) {
        has_ += std::max<std::int64_t>(c.result, 0);
    } else if (c.what == kind::release && c.ec && !goes_on && counts_yet(c) &&
               c.ec != errc::outcome_unknown) {
        has_ += c.permits;
    }
    if (c.what == kind::release && all_.is_latch(c.name) && chance_.once_in(2)) {
        sets_again_ = true;
        plan(all_.the_world().now());
        return;
    }
    plan_soon();
}

}  // namespace conch::sim::counters
