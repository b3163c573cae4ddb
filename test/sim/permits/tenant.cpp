// SPDX-License-Identifier: BSL-1.0
#include "sim/permits/tenant.hpp"

#include "sim/permits/simulation.hpp"

#include <algorithm>

namespace conch::sim::permits {
namespace {

using what = permit_call::kind;

constexpr instant shortest_lease = 100 * millis;

}  // namespace

tenant::tenant(simulation& all, std::uint64_t client, std::uint64_t seed)
    : actor{all, client, seed}, all_{all} {}

void tenant::choose() {
    if (has_) {
        use();
    } else if (!stopped_) {
        begin();
    }
}

void tenant::begin() {
    name_ = chance_.below(all_.names());
    const std::int64_t most = all_.total();
    const std::int64_t some = chance_.once_in(3) ? chance_.between(1, most) : 1;
    if (all_.how().has(fault::resize) && chance_.once_in(6)) {
        resize();
        return;
    }
    if (all_.how().has(fault::force) && chance_.once_in(10)) {
        ask(what::force, 1);
        return;
    }
    switch (chance_.below(10)) {
        case 0: ask(what::try_set, most); return;
        case 1: ask(what::look, 0); return;
        case 2: ask(what::acquire, most + 1); return;  // there are not so many
        case 3:
        case 4: ask(what::try_acquire, some); return;
        default: ask(what::acquire, some); return;
    }
}

// To what it was at first most often, so that there are some.
void tenant::resize() {
    all_.attempt(fault::resize).felt();
    const std::int64_t most = all_.total();
    if (chance_.once_in(2)) {
        ask(what::set, chance_.once_in(3) ? chance_.between(0, most + 2) : most);
    } else {
        ask(what::add, chance_.once_in(2) ? -chance_.between(1, most) : chance_.between(1, most));
    }
}

void tenant::use() {
    const bool lost = !has_->owns_lock(node().local_now());
    // Where permits are taken away it has them for long enough to be told.
    const bool lingers = all_.how().has(fault::deletion) || all_.how().has(fault::force);
    if (!stopped_ && !lost && chance_.once_in(4) != lingers) {
        plan_soon();
        return;
    }
    if (!stopped_ && !lost && chance_.once_in(6)) {
        ask(what::extend, permits_);
        return;
    }
    if (lost) {
        all_.found_lost();
    }
    give_back();
}

void tenant::give_back() {
    const impl::view_ptr view = has_->view;
    view->asked.store(impl::hold_request::release);
    if (chance_.once_in(2)) {
        ask(what::unlock, permits_);
        return;
    }
    all_.the_world().note("release", client_, has_->number);
    has_.reset();
    node().turn([&] { node().engine().release(*view); });
    plan_soon();
}

lock_options tenant::choose_options(bool waits) {
    lock_options o;
    const duration longest = all_.how().longest_lease;
    o.lease = duration{chance_.spread(shortest_lease, longest.count())};
    o.renew = !chance_.once_in(4);
    if (waits && !chance_.once_in(3)) {
        o.wait = chance_.once_in(8) ? duration{} : duration{chance_.spread(millis, 3 * seconds)};
    }
    return o;
}

void tenant::ask(permit_call::kind kind, std::int64_t permits) {
    permit_call& c = all_.begin(*this, kind, permits);
    asked_ = &c;
    if (kind == what::acquire || kind == what::try_acquire || kind == what::extend) {
        c.options = choose_options(kind == what::acquire);
        c.wait = kind == what::acquire ? c.options.wait.value_or(forever) : duration{};
    }
    if (kind == what::extend) {
        has_->extended = true;
    }
    if (kind == what::force) {
        c.effect_of_force = &all_.attempt(fault::force);
    }
    put(c, static_cast<std::uint64_t>(kind));
}

void tenant::send(counters::want& w) {
    permit_call& c = static_cast<permit_call&>(w);
    engine::lock_engine& engine = node().engine();
    const impl::count_spec_ptr& counter = all_.count_spec(name_);
    const lock::caller me{static_cast<call*>(&c), &c.running};
    using change = lock::counter_change::kind;
    switch (c.what) {
        case what::try_set: engine.change_permits(counter, change::try_set, c.permits, me); return;
        case what::set: engine.change_permits(counter, change::set, c.permits, me); return;
        case what::add: engine.change_permits(counter, change::add, c.permits, me); return;
        case what::force: engine.force_unlock(all_.spec(name_, c.permits), me); return;
        case what::look: engine.change_permits(counter, change::look, 0, me, &c.result); return;
        case what::acquire:
        case what::try_acquire:
            engine.acquire(all_.spec(name_, c.permits), c.options, c.what == what::try_acquire, me);
            return;
        case what::extend: engine.extend(has_->view, *c.options.lease, me); return;
        case what::unlock: {
            const impl::view_ptr view = has_->view;
            has_.reset();
            engine.unlock(view, me);
            return;
        }
    }
}

void tenant::ended(permit_call& c) {
    asked_ = nullptr;
    if (c.what == what::force && c.said == impl::remark::done) {
        feel(c.effect_of_force);
    }
    if (c.view) {
        has_ = held{.client = client_, .name = name_, .view = c.view, .granted_at = c.ended_at};
        has_->number = c.number;
        has_->renewed_lease = c.options.renew.value_or(true) ? *c.options.lease : duration{};
        permits_ = c.permits;
        all_.granted(c);
    }
    plan_soon();
}

}  // namespace conch::sim::permits
