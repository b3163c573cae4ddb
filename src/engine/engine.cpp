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

lock::request_terms terms_of(const lock_options& o, const config& c, bool try_only,
                             std::uint64_t owner) noexcept {
    const std::uint64_t of = owner != 0 || !o.owner ? owner : o.owner->id();
    return {{.lease = lease_of(o, c),
             .owner = of & lock::hold_terms::largest_owner,
             .renew = renews(o, c)},
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
    : ctx_{settings, client_id, seed} {}

lock_engine::~lock_engine() { close(); }

void lock_engine::begin_turn(time_point now) {
    // A deadline may be in the past when it is set.
    const time_point due = std::max(next_deadline(), ctx_.now);
    const duration late = now > due ? now - due : duration{};
    ctx_.now = std::max(ctx_.now, now);
    if (late >= long_standstill) {
        ctx_.telemetry.stood_still(late);
    }
    ctx_.servers.set_now(ctx_.now);
    while (core::timer* t = ctx_.timers.pop_due(ctx_.now)) {
        t->fire(t->owner);
    }
    ctx_.renewing.tick();
    for (std::size_t i = 0; i < links(); ++i) {
        if (halted(i)) {
            connection(i).go_on();
        }
    }
}

void lock_engine::end_turn() {
    ctx_.awake.run();
    ctx_.renewing.flush();
    ctx_.retire_idle();
}

bool lock_engine::admit(lock::caller from) {
    if (ctx_.closing) {
        refuse(from, errc::client_closed);
        return false;
    }
    return make_room(from);
}

bool lock_engine::make_room(lock::caller from) {
    if (ctx_.pending_count >= ctx_.settings.max_pending) {
        refuse(from, errc::overloaded);
        return false;
    }
    ++ctx_.pending_count;
    return true;
}

void lock_engine::refuse(lock::caller from, errc why) {
    ctx_.completions.push_back({from.tag, why, {}, false});
}

void lock_engine::acquire(const impl::spec_ptr& spec, const lock_options& options, bool try_only,
                          lock::caller from, std::uint64_t owner) {
    errc bad = check_options(options, ctx_.settings);
    // Else a renewal could wait behind a WAIT until it is too late, or each grant come too late.
    const duration least = 4 * std::chrono::milliseconds{spec->replicas().within_ms};
    if (bad == errc{} && lease_of(options, ctx_.settings) < least) {
        bad = errc::invalid_lease;
    }
    if (bad == errc{} && options.max_hold < least) {
        bad = errc::invalid_max_hold;
    }
    if (bad != errc{}) {
        refuse(from, bad);
        return;
    }
    // What nobody waits for any more may be at the server for long: it is as pending as the rest.
    if (ctx_.acquisition_pool.live() >= ctx_.level_count + ctx_.settings.max_pending) {
        refuse(from, ctx_.closing ? errc::client_closed : errc::overloaded);
        return;
    }
    if (!admit(from)) {
        return;
    }
    const lock::request_terms terms = terms_of(options, ctx_.settings, try_only, owner);
    if (lock::acquisition* outer = ctx_.held_by(*spec, terms.owner)) {
        lock::enter_level(*outer, from);
        return;
    }
    lock::slot& s = ctx_.slot_of(spec);
    s.acquire(ctx_.waiters.make(from, s, spec, terms, ctx_.now), terms.wait);
    ctx_.may_be_idle(s);
}

void lock_engine::unlock(const impl::view_ptr& view, lock::caller from) {
    if (!view) {
        refuse(from, errc::not_owner);
        return;
    }
    // A release is always admitted: there are no more of them than holds.
    ++ctx_.pending_count;
    lock::release_level(ctx_, view, from);
}

void lock_engine::wait_lost(const impl::view_ptr& view, duration before, lock::caller from) {
    if (!view) {
        refuse(from, errc::not_owner);
    } else if (before < duration::zero()) {
        refuse(from, errc::invalid_wait);
    } else if (ctx_.closing && (before == duration::zero() || !drain_.armed())) {
        refuse(from, errc::client_closed);
    } else if (!lock::is_watched(*view)) {
        // Always admitted: a hold whose loss can't be watched would be worse than none.
        ++ctx_.pending_count;
        lock::watch(ctx_, view, before, from);
    } else if (make_room(from)) {
        lock::watch(ctx_, view, before, from);
    }
}

void lock_engine::extend(const impl::view_ptr& view, duration lease, lock::caller from) {
    if (!view) {
        refuse(from, errc::not_owner);
    } else if (!core::lease_is_good(lease, true)) {
        refuse(from, errc::invalid_lease);
    } else if (drain_.armed() ? make_room(from) : admit(from)) {
        // In a drain too: who still holds may need the time to come to an end.
        lock::extend(ctx_, view, lease, from);
    }
}

void lock_engine::status(const impl::spec_ptr& spec, const status_options& options,
                         lock::caller from, lock_status* result) {
    if (admit(from)) {
        lock::query_status(ctx_, spec, options, from, result);
    }
}

void lock_engine::force_unlock(const impl::spec_ptr& spec, lock::caller from) {
    if (admit(from)) {
        lock::force_unlock(ctx_, spec, from);
    }
}

void lock_engine::permits(const impl::rate_spec_ptr& spec, std::uint64_t permits, duration wait,
                          bool try_only, lock::caller from, rate_verdict* result,
                          bool log_refusal) {
    if (permits == 0 || permits > spec->burst()) {
        refuse(from, errc::invalid_permits);
    } else if (wait < duration::zero()) {
        refuse(from, errc::invalid_wait);
    } else if (admit(from)) {
        lock::limiter& l = ctx_.limiter_of(spec);
        lock::permit_request& r = ctx_.permit_requests.make(from, l, permits, try_only, result);
        r.log_refusal = log_refusal;
        l.acquire(r, wait);
    }
}

void lock_engine::cancel(lock::pending& running, error_code why) {
    running.what.cancel(ctx_, running, why);
}

void lock_engine::release(impl::hold_view& view) {
    if (lock::level_of(view)) {
        lock::release_level(ctx_, impl::view_ptr{&view}, {});
    }
}

void lock_engine::release_dropped(impl::hold_view& view) {
    if (const lock::level* const l = lock::level_of(view)) {
        ctx_.telemetry.dropped(l->of->home.name(), ctx_.now - l->since);
        release(view);
    }
}

void lock_engine::detach(impl::hold_view& view) { lock::detach_level(view); }

void lock_engine::shutdown(duration drain) {
    const time_point end = core::after(ctx_.now, drain);
    if (!ctx_.closing) {
        ctx_.closing = true;
        turn_away();
        close_at(end, drain);
    } else if (drain_.armed() && end < drain_.at) {
        close_at(end, drain);
    }
    if (drain == duration::zero()) {
        lose_all();
    }
}

void lock_engine::turn_away() {
    const std::vector<lock::slot*> slots{ctx_.all_slots.begin(), ctx_.all_slots.end()};
    for (lock::slot* s : slots) {
        s->give_up_all(errc::client_closed);
    }
    for (const auto& [key, l] : ctx_.limiters) {
        l->give_up_all(errc::client_closed);
    }
    while (!ctx_.queries.empty()) {
        auto& q = static_cast<lock::query&>(ctx_.queries.front());
        ctx_.queries.pop_front();
        lock::give_up_query(q, errc::client_closed);
    }
}

void lock_engine::close_at(time_point end, duration drain) {
    ctx_.timers.set(drain_, end);
    ctx_.closes_at = end;
    ctx_.closing_notice = drain / 10;
    ctx_.for_each_acquisition([](lock::acquisition& a) {
        if (a.now == lock::acquisition::phase::held) {
            lock::notify_closing(a);
        }
    });
}

void lock_engine::on_drained(void* self) { static_cast<lock_engine*>(self)->lose_all(); }

void lock_engine::lose_all() {
    ctx_.timers.cancel(drain_);
    std::vector<lock::acquisition*> held;
    ctx_.for_each_acquisition([&](lock::acquisition& a) {
        if (a.now == lock::acquisition::phase::held) {
            held.push_back(&a);
        }
    });
    for (lock::acquisition* a : held) {
        lock::lose(*a, errc::client_closed);
    }
}

void lock_engine::close() {
    shutdown();
    ctx_.awake.run();
    ctx_.for_each_acquisition([&](lock::acquisition& a) {
        if (a.releasing) {
            ctx_.complete(a.releasing->unlocking, errc::client_closed);
        }
    });
    ctx_.telemetry.repeated.close();
    ctx_.servers.close();
    ctx_.for_each_acquisition([&](lock::acquisition& a) {
        ctx_.timers.cancel(a.timer);
        const auto withdraw = [&](wire::call* c) {
            if (c && c->where == wire::call::state::waiting) {
                ctx_.servers.withdraw(*c);
            }
        };
        withdraw(a.acquiring);
        withdraw(a.releasing);
        a.home.forget(a);
    });
    for (lock::slot* s : ctx_.all_slots) {
        ctx_.may_be_idle(*s);
    }
    ctx_.retire_idle();
}

void lock_engine::connected(std::size_t i) { connection(i).connected(); }

void lock_engine::connection_broken(std::string_view why, errc lasting, std::size_t i) {
    connection(i).broken(why, lasting);
}

void lock_engine::received(std::size_t i) { connection(i).received(); }

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
        if (connection(i).hurries()) {
            return false;
        }
        some = some || has_output(i);
    }
    return some;
}

void lock_engine::stage(std::string& out, std::size_t i) { connection(i).stage(out); }

time_point lock_engine::next_deadline() const noexcept {
    return halted() ? ctx_.now : std::min(ctx_.timers.next(), ctx_.renewals.next());
}

bool lock_engine::tends(std::uint64_t number) const noexcept {
    bool found = false;
    ctx_.for_each_acquisition(
        [&](const lock::acquisition& a) { found = found || a.number == number; });
    return found;
}

inventory lock_engine::belongings() const noexcept {
    return {.pending = ctx_.pending_count,
            .acquisitions = ctx_.acquisition_pool.live(),
            .levels = ctx_.level_count,
            .waiters = ctx_.waiters.live(),
            .watchers = ctx_.watchers.live(),
            .extensions = ctx_.extensions.live(),
            .level_changes = ctx_.changes.live(),
            .queries = ctx_.query_pool.live(),
            .permit_requests = ctx_.permit_requests.live(),
            .slots = ctx_.slots.live(),
            .limiters = ctx_.limiter_pool.live(),
            .renewals = ctx_.renewing.on_their_way(),
            .timers = ctx_.timers.size() + ctx_.renewals.size(),
            .input_room = ctx_.servers.input_room()};
}

void lock_engine::copy_counters(stats& s) const noexcept {
    s = ctx_.telemetry.counters;
    s.holds_now = ctx_.level_count;
    s.waiting_now = ctx_.waiters.live() + ctx_.permit_requests.live();
    s.slots_now = ctx_.slots.live();
    s.subscriptions_now = ctx_.servers.subscriptions();
}

}  // namespace conch::engine
