// SPDX-License-Identifier: BSL-1.0
#include "sim/user.hpp"

#include "hold/acquisition.hpp"
#include "hold/composite_view.hpp"
#include "hold/holding.hpp"
#include "sim/simulation.hpp"

#include <chrono>

namespace conch::sim {

using namespace std::chrono_literals;

user::user(simulation& all, std::uint64_t index, std::uint64_t client)
    : all_{all}, index_{index}, client_{client} {}

client_node& user::node() noexcept { return *all_.clients()[client_]; }

instant user::soon() {
    world& w = all_.the_world();
    // While the effects of faults fade away, less is done.
    const bool fading = w.now() > all_.how().chaos && !all_.settled();
    return w.now() + w.chance.spread(10 * micros, all_.how().think) * (fading ? 8 : 1);
}

void user::start() { plan(soon()); }

void user::plan(instant when) { all_.the_world().plan<&user::act>(when, this, ++generation_); }

bool user::wants(std::size_t name) const noexcept {
    return acquiring_ && !gave_up_ && name_ == name && acquiring_->completions == 0;
}

const call* user::queued_for(std::size_t name) const noexcept {
    return !nested_ && !gave_up_ && name_ == name ? acquiring_ : nullptr;
}

instant user::wants_until() const noexcept {
    const bool for_ever = !options_.wait || *options_.wait == forever;
    return wants(name_) && !for_ever ? asked_at_ + options_.wait->count() : -1;
}

instant user::nests_since() const noexcept {
    const bool nests = acquiring_ && nested_ && !gave_up_ && acquiring_->completions == 0;
    return nests && !levels_.empty() && !lost(*levels_.back()) ? asked_at_ : -1;
}

void user::die() {
    levels_.clear();
    acquiring_ = nullptr;
    // What it has sent knows only fields of holds that are granted by now.
    if (waiting_for_ && waiting_for_->forces) {
        all_.end_force(name_, client_);
    }
    waiting_for_ = nullptr;
}

void user::stop() { plan(all_.the_world().now()); }

void user::act(std::uint64_t generation, std::uint64_t) {
    if (generation != generation_ || node().dead()) {
        return;
    }
    if (!node().running()) {
        plan(acquiring_ || waiting_for_ ? node().paused_until() : node().put_off());
        return;
    }
    if (acquiring_) {
        if (all_.stopped()) {
            cancel(generation, 0);
        }
        return;
    }
    if (waiting_for_) {
        return;
    }
    if (!levels_.empty()) {
        work();
    } else if (all_.working()) {
        begin();
    }
}

void user::begin() {
    dice& chance = all_.the_world().chance;
    name_ = chance.below(all_.how().names);
    if (all_.how().crowded && !chance.once_in(4)) {
        name_ = 0;
    }
    if (chance.once_in(16)) {
        ask();
    } else if (all_.how().has(fault::force) && chance.once_in(all_.how().lingering ? 4 : 12)) {
        force();
    } else {
        acquire();
    }
}

lock_options user::choose() {
    dice& chance = all_.the_world().chance;
    const auto spread = [&](duration from, duration to) {
        return duration{chance.spread(from.count(), to.count())};
    };
    lock_options o;
    o.renew = all_.how().fixed_leases ? chance.once_in(4) : !chance.once_in(4);
    o.lease = spread(*o.renew ? 100ms : 10ms, all_.how().longest_lease);
    if (all_.how().together ? !chance.once_in(4) : chance.once_in(3)) {
        o.lease = all_.how().longest_lease;  // the usual one: such renewals go together
    }
    if (chance.once_in(2)) {
        o.wait = chance.once_in(6) ? duration{} : spread(1ms, 5s);
    }
    if (chance.once_in(8)) {
        o.max_hold = spread(10ms, 2s);
    }
    if (all_.how().nesting) {
        o.owner = &owner_;
    }
    if (all_.how().crowded && !chance.once_in(4)) {
        o.renew = true;
        o.lease = all_.how().longest_lease;
        o.wait.reset();
    }
    if (all_.how().reporting && *o.renew && !chance.once_in(4)) {
        o.progress_within = spread(100ms, all_.how().longest_lease);
    }
    return o;
}

call& user::call_now() { return all_.begin_call(index_); }

template <typename Question>
void user::put(call& c, Question&& question) {
    node().turn([&] {
        all_.asks(c);
        question(node().engine());
    });
}

void user::acquire() {
    dice& chance = all_.the_world().chance;
    options_ = choose();
    const bool try_only = chance.once_in(4);
    if (try_only && chance.once_in(2)) {
        options_.wait.reset();
    }
    acquiring_ = &call_now();
    gave_up_ = false;
    nested_ = false;
    asked_at_ = all_.the_world().now();
    all_.the_world().note("acquire", index_, name_);
    put_acquire(try_only);
    cancel_soon();
    if (all_.how().has(fault::reset_after) && chance.once_in(4)) {
        // The server runs it, and its answer is lost.
        all_.the_world().plan<&user::break_line>(
            all_.the_world().now() + chance.between(0, all_.how().net.latency), this);
    }
}

void user::put_acquire(bool try_only) {
    acquiring_->acquires = true;
    acquiring_->name = name_;
    acquiring_->shared = all_.how().read_write && !all_.the_world().chance.once_in(3);
    acquiring_->try_only = try_only;
    acquiring_->wait = options_.wait.value_or(try_only ? duration{} : forever);
    put(*acquiring_, [&](auto& engine) {
        engine.acquire(acquiring_->shared ? all_.reader(name_) : all_.spec(name_), options_,
                       try_only, {acquiring_, &acquiring_->running});
    });
}

void user::tempt() {
    world& w = all_.the_world();
    if (idle() && !node().dead() && all_.working()) {
        plan(w.now() + w.chance.between(0, 4 * all_.how().net.latency));
    }
}

void user::tempt_another() {
    dice& chance = all_.the_world().chance;
    if (chance.once_in(2)) {
        all_.users()[chance.below(all_.users().size())]->tempt();
    }
}

void user::ask() {
    waiting_for_ = &call_now();
    waiting_for_->asks = request{.name = name_, .asked_at = all_.the_world().now()};
    put(*waiting_for_, [&](auto& engine) {
        engine.status(all_.spec(name_), {}, {waiting_for_, &waiting_for_->running},
                      &waiting_for_->status);
    });
    may_tire_of(*waiting_for_);
}

void user::force() {
    dice& chance = all_.the_world().chance;
    forcing_ = &all_.attempt(fault::force);
    all_.the_world().note("force", index_, name_);
    if (all_.how().read_write && chance.once_in(3)) {
        feel(all_.force_as_redisson(name_, chance.once_in(2)) ? forcing_ : nullptr);
        plan(soon());
        return;
    }
    all_.begin_force(name_, client_);
    const bool as_reader = all_.how().read_write && chance.once_in(2);
    waiting_for_ = &call_now();
    waiting_for_->forces = true;
    waiting_for_->name = name_;
    put(*waiting_for_, [&](auto& engine) {
        engine.force_unlock(as_reader ? all_.reader(name_) : all_.spec(name_),
                            {waiting_for_, &waiting_for_->running});
    });
    may_tire_of(*waiting_for_);
}

void user::ended(call& c) {
    if (&c == acquiring_) {
        acquiring_ = nullptr;
        acquired(c);
    } else if (&c == waiting_for_) {
        waiting_for_ = nullptr;
        if (c.forces) {
            feel(c.said == impl::remark::done ? forcing_ : nullptr);
            all_.end_force(name_, client_);
        }
        plan(soon());
    } else {
        for (const auto& h : levels_) {
            if (h->watch == &c && c.ec == given_up()) {
                h->watch = nullptr;
            } else if (h->watch == &c) {
                h->told = true;
                all_.count_loss();
                plan(soon());
            }
        }
    }
}

void user::acquired(call& c) {
    if (c.view) {
        held& h = all_.granted(*this, name_, c, options_);
        if (!levels_.empty()) {  // the server heard of a deeper level, not of progress
            h.reported = levels_.back()->reported;
            h.extended = levels_.back()->extended;
        }
        levels_.push_back(std::prev(all_.holds().end()));
        all_.the_world().note("granted", index_, h.number);
        if (!all_.the_world().chance.once_in(8)) {
            watch(h);
        }
        for (std::size_t i = 0; i < all_.how().further_watchers; ++i) {
            watch_more(h);
        }
    } else if (c.ec && c.ec != errc::timed_out && c.ec != given_up()) {
        world& w = all_.the_world();
        plan(w.now() + w.chance.spread(20 * millis, 1 * seconds));
        return;
    }
    plan(soon());
}

void user::watch(held& h) {
    h.watch = &call_now();
    h.watch->reserved = true;
    h.watch->watches = h.view;
    put(*h.watch,
        [&](auto& engine) { engine.wait_lost(h.view, {}, {h.watch, &h.watch->running}); });
    may_tire_of(*h.watch);
}

// There is room for the first who watches, and for others as for any operation. Some want to know
// in time; no draw says who, which would change all that follow.
void user::watch_more(const held& h) {
    call& c = call_now();
    c.watches = h.view;
    c.before = h.number % 3 == 0 ? all_.how().longest_lease / 10 : duration{};
    node().turn([&] {
        c.reserved = !lock::keeper::is_watched(*h.view);
        all_.asks(c);
        node().engine().wait_lost(h.view, c.before, {&c, &c.running});
    });
}

bool user::lost(const held& h) const noexcept {
    return !h.owns_lock(all_.clients()[client_]->local_now());
}

void user::work() {
    dice& chance = all_.the_world().chance;
    held& top = *levels_.back();
    if (all_.stopped() || lost(top) || top.told) {
        leave();
        return;
    }
    if (all_.how().reporting && !chance.once_in(8)) {
        report();
    }
    if (all_.how().lingering && !chance.once_in(4)) {
        plan(all_.the_world().now() + chance.spread(100 * millis, 4 * seconds));
        return;
    }
    switch (chance.below(all_.how().has(fault::drop) ? 12 : 8)) {
        case 0:
        case 1: plan(soon()); return;
        case 4:
        case 5:  // holds on
            plan(all_.the_world().now() + chance.spread(10 * millis, 4 * seconds));
            return;
        case 2: extend(); return;
        case 3:
            if (all_.how().nesting && levels_.size() < 3) {
                nest();
                return;
            }
            if (all_.how().read_write && !all_.reads(top)) {
                downgrade();
                return;
            }
            plan(soon());
            return;
        default: leave(); return;
    }
}

void user::nest() {
    acquiring_ = &call_now();
    acquiring_->within = levels_.back()->view;
    gave_up_ = false;
    nested_ = true;
    asked_at_ = all_.the_world().now();
    name_ = levels_.back()->name;
    options_ = choose();
    all_.the_world().note("nest", index_, name_);
    put_acquire(false);
    cancel_soon();
}

void user::report() {
    const time_point now = node().local_now();
    impl::note_progress(*levels_.back()->view, now);
    for (const auto& h : levels_) {
        h->report(now);
    }
}

void user::extend() {
    for (const auto& h : levels_) {
        h->extended = true;
    }
    waiting_for_ = &call_now();
    const duration longest = all_.how().longest_extension();
    const duration lease{all_.the_world().chance.spread(duration{100ms}.count(), longest.count())};
    const held& h = *levels_.back();
    waiting_for_->asks =
        request{.name = h.name, .asked_at = all_.the_world().now(), .lease = lease, .of = h};
    put(*waiting_for_, [&](auto& engine) {
        engine.extend(levels_.back()->view, lease, {waiting_for_, &waiting_for_->running});
    });
    may_tire_of(*waiting_for_);
}

}  // namespace conch::sim
