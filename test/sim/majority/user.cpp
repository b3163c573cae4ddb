// SPDX-License-Identifier: BSL-1.0
#include "sim/majority/user.hpp"

#include "sim/majority/simulation.hpp"

#include <boost/system/errc.hpp>

#include <chrono>
#include <iterator>

namespace conch::sim::majority {

using namespace std::chrono_literals;

namespace {

error_code tired() noexcept {
    return boost::system::errc::make_error_code(boost::system::errc::operation_canceled);
}

}  // namespace

user::user(simulation& all, process& home, std::size_t index)
    : all_{all}, home_{home}, index_{index} {}

instant user::soon() {
    world& w = all_.the_world();
    return w.now() + w.chance.spread(10 * micros, all_.how().think);
}

void user::start() { plan(soon()); }

void user::stop() { plan(all_.the_world().now()); }

void user::plan(instant when) { all_.the_world().plan<&user::act>(when, this, ++generation_); }

void user::die() noexcept {
    waiting_for_ = nullptr;
    has_ = false;
}

void user::act(std::uint64_t generation, std::uint64_t) {
    if (generation != generation_ || home_.dead()) {
        return;
    }
    if (!home_.running()) {
        plan(home_.put_off());
    } else if (waiting_for_) {
        if (all_.stopped()) {
            tire(generation, 0);
        }
    } else if (has_) {
        work();
    } else if (all_.working()) {
        begin();
    }
}

call& user::start_call(call::kind what) {
    waiting_for_ = &all_.begin_call(*this, what, *at_);
    all_.the_world().note("call", index_, static_cast<std::uint64_t>(what));
    return *waiting_for_;
}

void user::may_tire() {
    world& w = all_.the_world();
    if (all_.how().has(fault::cancel) && !all_.stopped() && waiting_for_ && w.chance.once_in(3)) {
        w.plan<&user::tire>(w.now() + w.chance.spread(10 * micros, 2 * seconds), this,
                            ++generation_);
    }
}

void user::tire(std::uint64_t generation, std::uint64_t) {
    if (generation != generation_ || home_.dead() || !waiting_for_ ||
        waiting_for_->completions > 0) {
        return;
    }
    if (!home_.running()) {
        all_.the_world().plan<&user::tire>(home_.put_off(), this, generation);
        return;
    }
    all_.attempt(fault::cancel).felt();
    waiting_for_->given_up = true;
    at_->turn([&] { at_->group().cancel(waiting_for_, tired()); });
}

void user::begin() {
    dice& chance = all_.the_world().chance;
    at_ = home_.groups()[chance.below(home_.groups().size())].get();
    if (chance.once_in(16)) {
        call& c = start_call(call::kind::status);
        at_->turn([&] { at_->group().status({}, &c, &c.status); });
        may_tire();
    } else if (all_.how().forces_all() && chance.once_in(10)) {
        all_.attempt(fault::force).felt();
        call& c = start_call(call::kind::force);
        at_->turn([&] { at_->group().force_unlock(&c); });
    } else {
        acquire(choose(), chance.once_in(4));
    }
}

lock_options user::choose() {
    dice& chance = all_.the_world().chance;
    const auto spread = [&](duration from, duration to) {
        return duration{chance.spread(from.count(), to.count())};
    };
    lock_options o;
    o.renew = all_.how().fixed_leases ? chance.once_in(4) : !chance.once_in(6);
    o.lease = spread(*o.renew ? 100ms : 20ms, all_.how().longest_lease);
    if (chance.once_in(2)) {
        o.lease = all_.how().longest_lease;
    }
    if (chance.once_in(2)) {
        o.wait = chance.once_in(5) ? duration{} : spread(1ms, 5s);
    }
    if (chance.once_in(8)) {
        o.max_hold = spread(20ms, 2s);
    }
    return o;
}

void user::acquire(lock_options o, bool try_only) {
    call& c = start_call(call::kind::acquire);
    c.options = o;
    c.try_only = try_only;
    at_->turn([&] { at_->group().acquire(o, try_only, &c); });
    may_tire();
}

void user::probe(std::size_t name, duration wait, bool try_only) {
    at_ = home_.groups()[name].get();
    acquire({.wait = wait, .lease = all_.how().longest_lease, .renew = true}, try_only);
}

void user::ended(call& c) {
    if (c.what == call::kind::watch) {
        return;  // it sees the loss when it works on
    }
    if (&c != waiting_for_) {
        return;
    }
    waiting_for_ = nullptr;
    last_end_ = c.ec;
    world& w = all_.the_world();
    if (c.what == call::kind::acquire && c.view) {
        got(c);
    } else if (c.ec && c.what == call::kind::acquire && c.ec != errc::timed_out && !c.given_up) {
        plan(w.now() + w.chance.spread(20 * millis, 500 * millis));
        return;
    }
    plan(all_.stopped() ? w.now() : soon());
}

void user::got(call& c) {
    all_.granted(c, *at_);
    held_ = std::prev(all_.holds().end());
    has_ = true;
    if (!all_.the_world().chance.once_in(6)) {
        watch();
    }
}

void user::watch() {
    call& c = all_.begin_call(*this, call::kind::watch, *at_);
    dice& chance = all_.the_world().chance;
    held& h = *held_;
    h.watch = &c;
    const duration before = chance.once_in(3) ? h.lease / 10 : duration{};
    c.before = before;
    c.watches = h.view;
    at_->turn([&] { at_->group().wait_lost(h.view, before, &c); });
}

void user::work() {
    dice& chance = all_.the_world().chance;
    if (all_.stopped() || held_->lost()) {
        leave();
        return;
    }
    switch (chance.below(8)) {
        case 0:
        case 1: extend(); return;
        case 2:
        case 3:
        case 4:  // holds on
            plan(all_.the_world().now() + chance.spread(10 * millis, 3 * seconds));
            return;
        default: leave(); return;
    }
}

void user::extend() {
    call& c = start_call(call::kind::extend);
    const duration most = longest_extension * all_.how().longest_lease;
    const duration lease{all_.the_world().chance.spread(duration{100ms}.count(), most.count())};
    held& h = *held_;
    h.lease = std::max(h.lease, lease);
    h.extended = true;
    c.lease = lease;
    c.extends = h.view;
    at_->turn([&] { at_->group().extend(h.view, lease, &c); });
    may_tire();
}

// A hold that goes out of its user's sight is released, whatever state it is in.
void user::leave() {
    dice& chance = all_.the_world().chance;
    const impl::view_ptr view = held_->view;
    const bool lost = held_->lost();
    const time_point until = held_->valid_until();
    const instant since = held_->since();
    std::vector<std::string> fields;
    for (std::size_t i = 0; i < all_.how().places(); ++i) {
        const impl::view_ptr& part = held_->part(i);
        fields.push_back(part ? home_.field_of(i, *part) : std::string{});
    }
    all_.gone(held_);
    has_ = false;
    if (!lost && chance.once_in(2)) {
        call& c = start_call(call::kind::unlock);
        c.until = until;
        c.since = since;
        c.fields = fields;
        view->asked.store(impl::hold_request::release);
        at_->turn([&] { at_->group().unlock(view, &c); });
        may_tire();
        return;
    }
    const bool detach = all_.how().detaching && !all_.stopped() && chance.once_in(6);
    for (std::size_t i = 0; detach && i < fields.size(); ++i) {
        all_.others().note_detached(all_.locks().told_as(at_->name(), i, fields[i]));
    }
    view->asked.store(detach ? impl::hold_request::detach : impl::hold_request::release);
    at_->turn([&] {
        if (detach) {
            at_->group().detach(*view);
        } else {
            at_->group().release(*view);
        }
    });
    plan(soon());
}

}  // namespace conch::sim::majority
