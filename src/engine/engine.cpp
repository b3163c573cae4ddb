// SPDX-License-Identifier: BSL-1.0
#include "engine/engine.hpp"

#include "core/check.hpp"
#include "lock/holding.hpp"
#include "lock/nesting.hpp"
#include "lock/querying.hpp"

#include <algorithm>

namespace conch::engine {
namespace {

duration lease_of(const lock_options& o, const config& c) noexcept {
    return o.lease.value_or(c.default_lease);
}

bool renews(const lock_options& o, const config& c) noexcept {
    return o.renew.value_or(c.default_renew);
}

lock::terms terms_of(const lock_options& o, const config& c, bool try_only,
                     std::uint64_t owner) noexcept {
    const std::uint64_t of = owner != 0 || !o.owner ? owner : o.owner->id();
    return {
        {.lease = lease_of(o, c), .owner = of & lock::asked::largest_owner, .renew = renews(o, c)},
        o.max_hold,
        o.wait.value_or(try_only ? duration::zero() : forever),
        try_only};
}

}  // namespace

errc check_options(const lock_options& o, const config& c) noexcept {
    if (o.wait && *o.wait < duration::zero()) {
        return errc::invalid_wait;
    }
    if (!core::lease_is_good(lease_of(o, c), renews(o, c))) {
        return errc::invalid_lease;
    }
    if (o.max_hold < core::shortest_lease) {
        return errc::invalid_max_hold;
    }
    const duration longest_stop = std::min(lease_of(o, c), o.max_hold) / 2;
    if (o.stop_before && (*o.stop_before < duration::zero() || *o.stop_before > longest_stop)) {
        return errc::invalid_stop_before;
    }
    return {};
}

// So late, leases are in danger; sooner, it is the everyday life of a loop that has much to do.
constexpr duration long_standstill = std::chrono::milliseconds{500};

lock_engine::lock_engine(const config& settings, std::string_view client_id, std::uint64_t seed)
    : house_{settings, client_id, seed} {}

lock_engine::~lock_engine() { close(); }

void lock_engine::begin_turn(time_point now) {
    // A deadline may be in the past when it is set.
    const time_point due = std::max(next_deadline(), house_.now);
    const duration late = now > due ? now - due : duration{};
    house_.now = std::max(house_.now, now);
    if (late >= long_standstill) {
        house_.tell_standstill(late);
    }
    house_.servers.set_now(house_.now);
    while (core::timer* t = house_.timers.pop_due(house_.now)) {
        t->fire(t->owner);
    }
    house_.renewing.tick();
    for (std::size_t i = 0; i < links(); ++i) {
        if (halted(i)) {
            link(i).go_on();
        }
    }
}

void lock_engine::end_turn() {
    house_.awake.run();
    house_.renewing.flush();
    house_.retire_idle();
}

bool lock_engine::admit(lock::caller by) {
    if (house_.closing) {
        refuse(by, errc::client_closed);
        return false;
    }
    return make_room(by);
}

bool lock_engine::make_room(lock::caller by) {
    if (house_.pending_count >= house_.settings.max_pending) {
        refuse(by, errc::overloaded);
        return false;
    }
    ++house_.pending_count;
    return true;
}

void lock_engine::refuse(lock::caller by, errc why) {
    house_.completions.push_back({by.tag, why, {}, false});
}

void lock_engine::acquire(const impl::spec_ptr& spec, const lock_options& options, bool try_only,
                          lock::caller by, std::uint64_t owner) {
    errc bad = check_options(options, house_.settings);
    // Else a renewal could wait behind a WAIT until it is too late, or each grant come too late.
    const duration least = 4 * std::chrono::milliseconds{spec->replicas().within_ms};
    if (bad == errc{} && lease_of(options, house_.settings) < least) {
        bad = errc::invalid_lease;
    }
    if (bad == errc{} && options.max_hold < least) {
        bad = errc::invalid_max_hold;
    }
    if (bad != errc{}) {
        refuse(by, bad);
        return;
    }
    // What nobody waits for any more may be at the server for long: it is as pending as the rest.
    if (house_.acquisition_pool.live() >= house_.level_count + house_.settings.max_pending) {
        refuse(by, house_.closing ? errc::client_closed : errc::overloaded);
        return;
    }
    if (!admit(by)) {
        return;
    }
    const lock::terms want = terms_of(options, house_.settings, try_only, owner);
    if (lock::acquisition* outer = house_.held_by(*spec, want.owner)) {
        lock::enter_level(*outer, by);
        return;
    }
    lock::slot& s = house_.slot_of(spec);
    s.acquire(house_.waiters.make(by, s, spec, want, house_.now), want.wait);
    house_.may_be_idle(s);
}

void lock_engine::unlock(const impl::view_ptr& view, lock::caller by) {
    if (!view) {
        refuse(by, errc::not_owner);
        return;
    }
    // A release is always admitted: there are no more of them than holds.
    ++house_.pending_count;
    lock::release_level(house_, view, by);
}

void lock_engine::wait_lost(const impl::view_ptr& view, duration before, lock::caller by) {
    if (!view) {
        refuse(by, errc::not_owner);
    } else if (before < duration::zero()) {
        refuse(by, errc::invalid_wait);
    } else if (house_.closing && (before == duration::zero() || !drain_.armed())) {
        refuse(by, errc::client_closed);
    } else if (!lock::level_of(*view) || lock::level_of(*view)->watchers.empty()) {
        // Always admitted: a hold whose loss can't be watched would be worse than none.
        ++house_.pending_count;
        lock::watch(house_, view, before, by);
    } else if (make_room(by)) {
        lock::watch(house_, view, before, by);
    }
}

void lock_engine::extend(const impl::view_ptr& view, duration lease, lock::caller by) {
    if (!view) {
        refuse(by, errc::not_owner);
    } else if (!core::lease_is_good(lease, true)) {
        refuse(by, errc::invalid_lease);
    } else if (drain_.armed() ? make_room(by) : admit(by)) {
        // In a drain too: who still holds may need the time to come to an end.
        lock::extend(house_, view, lease, by);
    }
}

void lock_engine::status(const impl::spec_ptr& spec, const status_options& options, lock::caller by,
                         lock_status* result) {
    if (admit(by)) {
        lock::query_status(house_, spec, options, by, result);
    }
}

void lock_engine::force_unlock(const impl::spec_ptr& spec, lock::caller by) {
    if (admit(by)) {
        lock::force_unlock(house_, spec, by);
    }
}

void lock_engine::permits(const impl::rate_spec_ptr& spec, std::uint64_t permits, duration wait,
                          bool try_only, lock::caller by, rate_verdict* result, bool log_refusal) {
    if (permits == 0 || permits > spec->limit()) {
        refuse(by, errc::invalid_permits);
    } else if (wait < duration::zero()) {
        refuse(by, errc::invalid_wait);
    } else if (admit(by)) {
        lock::limiter& l = house_.limiter_of(spec);
        lock::permit_request& r = house_.permit_requests.make(by, l, permits, try_only, result);
        r.log_refusal = log_refusal;
        l.acquire(r, wait);
    }
}

void lock_engine::cancel(lock::pending& running, error_code why) {
    switch (running.what) {
        case lock::pending::kind::acquire: {
            auto& w = static_cast<lock::waiter&>(running);
            ++house_.counters.cancelled;
            w.home.give_up(w, why);
            return;
        }
        case lock::pending::kind::nest: {
            auto& change = static_cast<lock::level_change&>(running);
            house_.counters.cancelled += change.enters ? 1 : 0;
            lock::give_up_change(change, why);
            return;
        }
        case lock::pending::kind::query:
            lock::give_up_query(static_cast<lock::query&>(running), why);
            return;
        case lock::pending::kind::permits: {
            auto& r = static_cast<lock::permit_request&>(running);
            r.home.give_up(r, why);
            return;
        }
        case lock::pending::kind::unlock: house_.complete(running, why); return;
        case lock::pending::kind::watch: {
            house_.complete(running, why);
            house_.watchers.free(static_cast<lock::watcher&>(running));
            return;
        }
        case lock::pending::kind::extend:
            house_.complete(running, why);
            house_.extensions.free(static_cast<lock::extension&>(running));
            return;
    }
}

void lock_engine::release(impl::hold_view& view) {
    if (lock::level_of(view)) {
        lock::release_level(house_, impl::view_ptr{&view}, {});
    }
}

void lock_engine::release_dropped(impl::hold_view& view) {
    if (const lock::level* const l = lock::level_of(view)) {
        house_.tell_dropped(*l);
        release(view);
    }
}

void lock_engine::detach(impl::hold_view& view) { lock::detach_level(view); }

void lock_engine::shutdown(duration drain) {
    const time_point by = core::after(house_.now, drain);
    if (!house_.closing) {
        house_.closing = true;
        turn_away();
        close_at(by, drain);
    } else if (drain_.armed() && by < drain_.at) {
        close_at(by, drain);
    }
    if (drain == duration::zero()) {
        lose_all();
    }
}

void lock_engine::turn_away() {
    const std::vector<lock::slot*> slots{house_.all_slots.begin(), house_.all_slots.end()};
    for (lock::slot* s : slots) {
        s->give_up_all(errc::client_closed);
    }
    for (const auto& [key, l] : house_.limiters) {
        l->give_up_all(errc::client_closed);
    }
    while (!house_.queries.empty()) {
        auto& q = static_cast<lock::query&>(house_.queries.front());
        house_.queries.pop_front();
        lock::give_up_query(q, errc::client_closed);
    }
}

void lock_engine::close_at(time_point end, duration drain) {
    house_.timers.set(drain_, end);
    house_.closes_at = end;
    house_.closing_notice = drain / 10;
    for (lock::acquisition& a : house_.acquisitions) {
        if (a.now == lock::acquisition::phase::held) {
            lock::tell_closing(a);
        }
    }
}

void lock_engine::on_drained(void* self) { static_cast<lock_engine*>(self)->lose_all(); }

void lock_engine::lose_all() {
    house_.timers.cancel(drain_);
    std::vector<lock::acquisition*> held;
    for (lock::acquisition& a : house_.acquisitions) {
        if (a.now == lock::acquisition::phase::held) {
            held.push_back(&a);
        }
    }
    for (lock::acquisition* a : held) {
        lock::lose(*a, errc::client_closed);
    }
}

void lock_engine::close() {
    shutdown();
    house_.awake.run();
    for (lock::acquisition& a : house_.acquisitions) {
        if (a.call) {
            house_.complete(a.call->unlocking, errc::client_closed);
        }
    }
    house_.repeated.close();
    house_.servers.close();
    while (!house_.acquisitions.empty()) {
        lock::acquisition& a = house_.acquisitions.front();
        house_.timers.cancel(a.timer);
        if (a.call && a.call->where == wire::call::state::waiting) {
            house_.servers.withdraw(*a.call);
        }
        a.home.forget(a);
    }
    for (lock::slot* s : house_.all_slots) {
        house_.may_be_idle(*s);
    }
    house_.retire_idle();
}

void lock_engine::connected(std::size_t i) { link(i).connected(); }

void lock_engine::connection_broken(std::string_view why, errc lasting, std::size_t i) {
    link(i).broken(why, lasting);
}

void lock_engine::received(std::size_t i) { link(i).received(); }

bool lock_engine::halted() const noexcept {
    for (std::size_t i = 0; i < links(); ++i) {
        if (halted(i)) {
            return true;
        }
    }
    return false;
}

bool lock_engine::unhurried() const noexcept {
    bool some = false;
    for (std::size_t i = 0; i < links(); ++i) {
        if (link(i).hurries()) {
            return false;
        }
        some = some || has_output(i);
    }
    return some;
}

void lock_engine::stage(std::string& out, std::size_t i) { link(i).stage(out); }

time_point lock_engine::next_deadline() const noexcept {
    return halted() ? house_.now : std::min(house_.timers.next(), house_.renewals.next());
}

bool lock_engine::tends(std::uint64_t number) const noexcept {
    return std::any_of(house_.acquisitions.begin(), house_.acquisitions.end(),
                       [&](const lock::acquisition& a) { return a.number == number; });
}

inventory lock_engine::belongings() const noexcept {
    return {.pending = house_.pending_count,
            .acquisitions = house_.acquisition_pool.live(),
            .levels = house_.level_count,
            .waiters = house_.waiters.live(),
            .watchers = house_.watchers.live(),
            .extensions = house_.extensions.live(),
            .level_changes = house_.changes.live(),
            .queries = house_.query_pool.live(),
            .permit_requests = house_.permit_requests.live(),
            .slots = house_.slots.live(),
            .limiters = house_.limiter_pool.live(),
            .renewals = house_.renewing.on_their_way(),
            .timers = house_.timers.size() + house_.renewals.size(),
            .input_room = house_.servers.input_room()};
}

void lock_engine::copy_counters(stats& s) const noexcept {
    s = house_.counters;
    s.holds_now = house_.level_count;
    s.waiting_now = house_.waiters.live() + house_.permit_requests.live();
    s.slots_now = house_.slots.live();
    s.subscriptions_now = house_.servers.subscriptions();
}

}  // namespace conch::engine
