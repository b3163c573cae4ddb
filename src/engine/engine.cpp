// SPDX-License-Identifier: BSL-1.0
#include "engine/engine.hpp"

#include "core/lock_terms.hpp"

#include <algorithm>

namespace conch::engine {
namespace {

lock::request_terms terms_of(const lock_options& o, const config& c, bool try_only,
                             std::uint64_t owner) noexcept {
    const std::uint64_t of = owner != 0 || !o.owner ? owner : o.owner->id();
    return {{.lease = core::lease_of(o, c),
             .owner = of & lock::hold_terms::largest_owner,
             .renew = core::renews(o, c)},
            o.max_hold,
            o.progress_within,
            o.wait.value_or(try_only ? duration::zero() : forever),
            try_only};
}

}  // namespace

// So late, leases are in danger; sooner, it is the everyday life of a loop that has much to do.
constexpr duration long_standstill = std::chrono::milliseconds{500};

lock_engine::lock_engine(const config& settings, std::string_view client_id, std::uint64_t seed)
    : env_{settings, client_id, seed},
      servers_{settings,
               env_.timers,
               env_.jitter,
               env_.telemetry.log,
               env_.telemetry.counters,
               env_.now,
               topology::server_events{this, &lock_engine::on_ready, &lock_engine::on_lost,
                                       &lock_engine::on_regrouped, &lock_engine::on_changed}},
      slots_{env_, done_, servers_, client_id} {}

lock_engine::~lock_engine() { close(); }

void lock_engine::begin_turn(time_point now) {
    // A deadline may be in the past when it is set.
    const time_point due = std::max(next_deadline(), env_.now);
    const duration late = now > due ? now - due : duration{};
    env_.now = std::max(env_.now, now);
    if (late >= long_standstill) {
        env_.telemetry.stood_still(late);
    }
    servers_.set_now(env_.now);
    while (core::timer* t = env_.timers.pop_due(env_.now)) {
        t->fire(t->owner);
    }
    slots_.renewing.tick();
    if (halted_) {
        for (std::size_t i = 0; i < links(); ++i) {
            if (halted(i)) {
                connection(i).go_on();
            }
        }
    }
}

void lock_engine::end_turn() {
    env_.awake.run();
    slots_.renewing.flush();
    slots_.retire_idle();
    limiters_.retire_idle();
    counters_.retire_idle();
    halted_ = false;
    for (std::size_t i = 0; i < links(); ++i) {
        halted_ = halted_ || halted(i);
    }
}

bool lock_engine::admit(lock::caller from) {
    if (env_.closing) {
        done_.refuse(from, errc::client_closed);
        return false;
    }
    return make_room(from);
}

bool lock_engine::make_room(lock::caller from) {
    if (done_.unanswered() >= env_.settings.max_pending) {
        done_.refuse(from, errc::overloaded);
        return false;
    }
    done_.admit();
    return true;
}

void lock_engine::acquire(const impl::spec_ptr& spec, const lock_options& options, bool try_only,
                          lock::caller from, std::uint64_t owner) {
    errc bad = core::check_options(options, env_.settings);
    if (bad == errc{} && spec->permits() == 0) {
        bad = errc::invalid_permits;
    }
    // Else a renewal could wait behind a WAIT until it is too late, or each grant come too late.
    const duration least = 4 * std::chrono::milliseconds{spec->replicas().within_ms};
    if (bad == errc{} && core::lease_of(options, env_.settings) < least) {
        bad = errc::invalid_lease;
    }
    if (bad == errc{} && options.max_hold < least) {
        bad = errc::invalid_max_hold;
    }
    if (bad != errc{}) {
        done_.refuse(from, bad);
        return;
    }
    // What nobody waits for any more may be at the server for long: it is as pending as the rest.
    if (slots_.pool.live() >= slots_.keeping.levels() + env_.settings.max_pending) {
        done_.refuse(from, env_.closing ? errc::client_closed : errc::overloaded);
        return;
    }
    if (!admit(from)) {
        return;
    }
    lock::request_terms terms = terms_of(options, env_.settings, try_only, owner);
    if (protocol::takes_permits(*spec)) {  // each takes its own
        terms.owner = 0;
    }
    if (lock::acquisition* outer = slots_.names.held_by(*spec, terms.owner)) {
        slots_.nesting.enter_level(*outer, from);
    } else {
        slots_.acquire(spec, terms, from);
    }
}

void lock_engine::unlock(const impl::view_ptr& view, lock::caller from) {
    if (!view) {
        done_.refuse(from, errc::not_owner);
        return;
    }
    // A release is always admitted: there are no more of them than holds.
    done_.admit();
    slots_.keeping.release_level(view, from);
}

void lock_engine::leave(const impl::view_ptr& view, duration lease, lock::caller from) {
    if (!view) {
        done_.refuse(from, errc::not_owner);
    } else if (!core::lease_is_good(lease, false)) {
        done_.refuse(from, errc::invalid_lease);
    } else {
        done_.admit();  // as a release
        slots_.keeping.leave_level(view, lease, from);
    }
}

void lock_engine::wait_lost(const impl::view_ptr& view, duration before, lock::caller from) {
    if (!view) {
        done_.refuse(from, errc::not_owner);
    } else if (before < duration::zero()) {
        done_.refuse(from, errc::invalid_wait);
    } else if (env_.closing && (before == duration::zero() || !drain_.armed())) {
        done_.refuse(from, errc::client_closed);
    } else if (!lock::keeper::is_watched(*view)) {
        // Always admitted: a hold whose loss can't be watched would be worse than none.
        done_.admit();
        slots_.keeping.watch(view, before, from);
    } else if (make_room(from)) {
        slots_.keeping.watch(view, before, from);
    }
}

void lock_engine::extend(const impl::view_ptr& view, duration lease, lock::caller from) {
    if (!view) {
        done_.refuse(from, errc::not_owner);
    } else if (!core::lease_is_good(lease, true)) {
        done_.refuse(from, errc::invalid_lease);
    } else if (drain_.armed() ? make_room(from) : admit(from)) {
        // In a drain too: who still holds may need the time to come to an end.
        slots_.keeping.extend(view, lease, from);
    }
}

void lock_engine::downgrade(const impl::view_ptr& view, lock::caller from) {
    if (!view) {
        done_.refuse(from, errc::not_owner);
    } else if (admit(from)) {
        slots_.downgrading.downgrade_level(view, from);
    }
}

void lock_engine::status(const impl::spec_ptr& spec, const status_options& options,
                         lock::caller from, lock_status* result) {
    if (admit(from)) {
        queries_.query_status(spec, options, from, result);
    }
}

void lock_engine::force_unlock(const impl::spec_ptr& spec, lock::caller from) {
    if (admit(from)) {
        queries_.force_unlock(spec, from);
    }
}

void lock_engine::watch(const impl::spec_ptr& spec, const status_options& options,
                        lock::caller from, lock_status* result) {
    if (admit(from)) {
        lookouts_.watch(spec, options, from, result);
    }
}

void lock_engine::permits(const impl::rate_spec_ptr& spec, std::uint64_t permits, duration wait,
                          bool try_only, lock::caller from, rate_verdict* result,
                          bool log_refusal) {
    if (permits == 0 || permits > spec->burst()) {
        done_.refuse(from, errc::invalid_permits);
    } else if (wait < duration::zero()) {
        done_.refuse(from, errc::invalid_wait);
    } else if (admit(from)) {
        limiters_.acquire(spec, permits, wait, try_only, from, result, log_refusal);
    }
}

void lock_engine::acquire_permits(const impl::count_spec_ptr& spec, std::int64_t permits,
                                  duration wait, bool try_only, lock::caller from) {
    if (permits < 1 || permits > protocol::most_permits) {
        done_.refuse(from, errc::invalid_permits);
    } else if (wait < duration::zero()) {
        done_.refuse(from, errc::invalid_wait);
    } else if (admit(from)) {
        counters_.acquire(spec, permits, wait, try_only, from);
    }
}

void lock_engine::change_permits(const impl::count_spec_ptr& spec, lock::counter_change::kind what,
                                 std::int64_t permits, lock::caller from, std::int64_t* result) {
    if (permits > protocol::most_permits || permits < -protocol::most_permits) {
        done_.refuse(from, errc::invalid_permits);
    } else if (counters_.changing() >= 2 * env_.settings.max_pending) {
        done_.refuse(from, errc::overloaded);
    } else if (admit(from)) {
        counters_.change(spec, what, permits, from, result);
    }
}

void lock_engine::cancel(lock::pending& running, error_code why) {
    running.what.cancel(done_, running, why);
}

void lock_engine::release(impl::hold_view& view) {
    if (lock::level_of(view)) {
        slots_.keeping.release_level(impl::view_ptr{&view}, {});
    }
}

void lock_engine::release_dropped(impl::hold_view& view) {
    if (const lock::level* const l = lock::level_of(view)) {
        env_.telemetry.dropped(l->of->home.name(), env_.now - l->since);
        release(view);
    }
}

void lock_engine::detach(impl::hold_view& view) { slots_.keeping.detach_level(view); }

void lock_engine::on_ready(void* self, wire::link& l) {
    lock::slots& slots = static_cast<lock_engine*>(self)->slots_;
    slots.names.for_each_acquisition([&](lock::acquisition& a) {
        if (&a.home.link() == &l) {
            slots.renewing.check_first(a);
        }
    });
}

void lock_engine::on_lost(void* self, wire::link& l, errc lasting_reason) {
    auto& e = *static_cast<lock_engine*>(self);
    if (lasting_reason == errc{}) {
        e.slots_.replicas.connection_lost(l);
        return;
    }
    e.queries_.give_up_all(lasting_reason, &l);
    e.lookouts_.give_up_all(lasting_reason, &l);
    e.questions_.give_up_all(lasting_reason, &l);
    e.limiters_.give_up_all(lasting_reason, &l);
    e.counters_.give_up_all(lasting_reason, l);
    e.slots_.give_up_all(lasting_reason, &l);
}

void lock_engine::on_regrouped(void* self) {
    auto& e = *static_cast<lock_engine*>(self);
    e.slots_.regrouped();
    e.counters_.regrouped();
    e.lookouts_.regrouped();
}

void lock_engine::on_changed(void* self, const connection_change& c) {
    static_cast<lock_engine*>(self)->env_.telemetry.connection_changed(c);
}

void lock_engine::connected(std::size_t i) { connection(i).connected(); }

void lock_engine::connection_broken(std::string_view why, errc lasting, std::size_t i) {
    connection(i).broken(why, lasting);
}

void lock_engine::received(std::size_t i) { connection(i).received(); }

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
    return halted_ ? env_.now : std::min(env_.timers.next(), slots_.renewing.next_deadline());
}

}  // namespace conch::engine
