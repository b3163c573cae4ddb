// SPDX-License-Identifier: BSL-1.0
#include "lock/holding.hpp"

#include "core/check.hpp"
#include "lock/context.hpp"
#include "lock/nesting.hpp"
#include "lock/releasing.hpp"

#include <conch/observer.hpp>

#include <algorithm>
#include <utility>

namespace conch::lock {
namespace {

// Why the hold ends, if it does at its deadline.
errc reason_at_deadline(const acquisition& a) noexcept {
    return a.last      ? errc::max_hold_reached
           : a.refused ? errc::renewal_refused
                       : errc::lease_expired;
}

void on_deadline(void* acquisition_) {
    auto& a = *static_cast<acquisition*>(acquisition_);
    CONCH_CHECK(a.now == acquisition::phase::held);
    lose(a, reason_at_deadline(a));
}

void tell(watcher& w, error_code why) {
    context& ctx = w.ctx;
    ctx.complete(w, why);
    ctx.watchers.free(w);
}

time_point notice_of_closing(const watcher& w) noexcept {
    return w.ctx.closes_at - std::min(w.before, w.ctx.closing_notice);
}

void set_soon(watcher& w) {
    const time_point at = std::min(w.of->of->valid_until - w.before, notice_of_closing(w));
    w.ctx.timers.set(w.soon, std::max(w.ctx.now, at));
}

// Looks again when it fires: a renewal doesn't move it.
void on_soon(void* watcher_) {
    auto& w = *static_cast<watcher*>(watcher_);
    const acquisition& a = *w.of->of;
    if (a.valid_until - w.before <= w.ctx.now) {
        tell(w, reason_at_deadline(a));
    } else if (notice_of_closing(w) <= w.ctx.now) {
        tell(w, errc::client_closed);
    } else {
        set_soon(w);
    }
}

// The server said so: there is nothing to release.
bool is_gone(errc why) noexcept { return why == errc::lock_lost || why == errc::lost_in_failover; }

void on_patience_over(void* extension_) {
    auto& e = *static_cast<extension*>(extension_);
    context& ctx = e.ctx;
    const acquisition& a = *e.of;
    ctx.complete(e, a.renewing            ? a.home.link().why_unanswered(*a.renewing)
                    : e.refused != errc{} ? e.refused
                                          : errc::not_connected);
    ctx.extensions.free(e);
}

hold_span span_of(const level& l, error_code reason = {}) noexcept {
    const acquisition& a = *l.of;
    return {.name = a.home.name(),
            .number = a.number,
            .fence = a.fence,
            .began = l.since,
            .ended = a.home.ctx.now,
            .renewals = a.renewals - l.renewals_before,
            .reason = reason};
}

// The end of one public hold: `why` is none where it was released or detached.
void end_level(level& l, errc why) {
    acquisition& a = *l.of;
    const error_code reason = why != errc{} ? make_error_code(why) : error_code{};
    if (reason) {
        l.lost.store(static_cast<int>(why), std::memory_order_release);
    }
    for_each_of<watcher>(a.requests, [&](watcher& w) {
        if (w.of == &l) {
            tell(w, reason);
        }
    });
    a.home.ctx.telemetry.hold_ended(span_of(l, reason));
    l.of = nullptr;
    a.levels.erase(a.levels.iterator_to(l));
    --a.home.ctx.level_count;
    intrusive_ptr_release(&l);
}

void fail_extensions(acquisition& a, errc why) {
    context& ctx = a.home.ctx;
    for_each_of<extension>(a.requests, [&](extension& e) {
        ctx.complete(e, why);
        ctx.extensions.free(e);
    });
}

// Why a hold whose level is gone can't be used any more.
errc reason_of(const impl::hold_view& view) noexcept {
    const int lost = view.lost.load(std::memory_order_relaxed);
    return lost != 0 ? static_cast<errc>(lost) : errc::already_released;
}

}  // namespace

const pending_kind watcher::own_kind{
    .cancel = [](context&, pending& p, error_code why) { tell(static_cast<watcher&>(p), why); }};

const pending_kind extension::own_kind{.cancel = [](context& ctx, pending& p, error_code why) {
    ctx.complete(p, why);
    ctx.extensions.free(static_cast<extension&>(p));
}};

extension::extension(caller c, context& h, acquisition* a, duration l) noexcept
    : pending{own_kind, c},
      ctx{h},
      of{a},
      lease{l},
      since{h.now},
      patience{this, &on_patience_over} {}

watcher::watcher(caller c, context& h, level* l, duration b) noexcept
    : pending{own_kind, c}, ctx{h}, of{l}, before{b}, soon{this, &on_soon} {}

watcher::~watcher() { ctx.timers.cancel(soon); }

extension::~extension() { ctx.timers.cancel(patience); }

void set_deadline(acquisition& a, time_point sent, duration lease) {
    if (a.now != acquisition::phase::held) {
        a.ends = core::after(sent, a.acquiring->max_hold);
    }
    a.extended = std::max(a.extended, sent);
    a.last = a.last || core::after(sent, lease) >= a.ends;
    a.extended_by = std::max(a.extended_by, lease);
    a.valid_until = std::max(a.valid_until, std::min(core::lease_end(sent, lease), a.ends));
    for (level& l : a.levels) {
        l.valid_until.store(a.valid_until.time_since_epoch().count(), std::memory_order_release);
    }
    if (a.now == acquisition::phase::held) {
        a.home.ctx.timers.set(a.timer, a.valid_until);
    }
}

impl::view_ptr begin_hold(acquisition& a) {
    context& ctx = a.home.ctx;
    a.now = acquisition::phase::held;
    a.depth = 1;
    end_attempt(a);
    a.timer.fire = &on_deadline;
    ctx.timers.set(a.timer, a.valid_until);
    ctx.renewing.schedule(a);
    return add_level(a);
}

impl::view_ptr add_level(acquisition& a) {
    context& ctx = a.home.ctx;
    ++ctx.level_count;
    level* const l = new level{a, ctx.now};
    intrusive_ptr_add_ref(l);  // let go of when it ends
    a.levels.push_back(*l);
    ctx.telemetry.hold_began(span_of(*l));
    return impl::view_ptr{l};
}

void lose_gone(acquisition& a) {
    lose(a, a.failed_over() ? errc::lost_in_failover : errc::lock_lost);
}

void lose(acquisition& a, errc why) {
    CONCH_CHECK(a.now == acquisition::phase::held);
    slot& home = a.home;
    home.ctx.telemetry.lost(home.name(), why);
    home.ctx.timers.cancel(a.timer);
    home.ctx.renewing.drop(a);
    while (!a.levels.empty()) {
        end_level(a.levels.front(), why);
    }
    fail_extensions(a, why);
    end_changes(a, why);
    if (is_gone(why)) {
        a.now = acquisition::phase::releasing;
        home.hold_ended(a, false);
        end_untaken(a);
    } else {
        start_release(a);
    }
}

void release_level(context& ctx, const impl::view_ptr& view, caller from) {
    level* const l = level_of(*view);
    if (!l) {
        ctx.answer(from, reason_of(*view));
        return;
    }
    acquisition& a = *l->of;
    end_level(*l, errc{});
    CONCH_CHECK(a.depth > 0);
    --a.depth;
    if (is_wanted(a)) {
        leave_level(a, from);
        return;
    }
    if (a.home.pass_on(a)) {
        ctx.answer(from, {});
        return;
    }
    end_hold(a, from);
}

void end_hold(acquisition& a, caller from) {
    CONCH_CHECK(a.levels.empty());
    end_changes(a, {});
    fail_extensions(a, errc::already_released);
    a.home.ctx.timers.cancel(a.timer);
    a.home.ctx.renewing.drop(a);
    start_release(a, from);
}

void detach_level(impl::hold_view& view) {
    level* const l = level_of(view);
    if (!l) {
        return;
    }
    acquisition& a = *l->of;
    end_level(*l, errc{});
    --a.depth;
    if (is_wanted(a)) {
        return;
    }
    context& ctx = a.home.ctx;
    fail_extensions(a, errc::already_released);
    end_changes(a, {});
    ctx.timers.cancel(a.timer);
    ctx.renewing.drop(a);
    a.now = acquisition::phase::releasing;
    a.home.hold_ended(a, false);
    a.home.forget(a);
}

bool is_watched(impl::hold_view& view) noexcept {
    const level* const l = level_of(view);
    return l && std::any_of(l->of->requests.begin(), l->of->requests.end(), [&](const pending& p) {
               return is<watcher>(p) && static_cast<const watcher&>(p).of == l;
           });
}

void watch(context& ctx, const impl::view_ptr& view, duration before, caller from) {
    level* const l = level_of(*view);
    if (!l) {
        const errc why = reason_of(*view);
        tell(ctx.watchers.make(from, ctx, nullptr, before),
             why == errc::already_released ? error_code{} : make_error_code(why));
        return;
    }
    watcher& w = ctx.watchers.make(from, ctx, l, before);
    l->of->requests.push_back(w);
    if (before > duration::zero()) {
        set_soon(w);
    }
}

void notify_closing(acquisition& a) {
    for_each_of<watcher>(a.requests, [](watcher& w) {
        if (w.before > duration::zero()) {
            set_soon(w);
        } else {
            tell(w, errc::client_closed);
        }
    });
}

void forbid_growth(acquisition& a) {
    context& ctx = a.home.ctx;
    a.grows_no_more = true;
    for_each_of<extension>(a.requests, [&](extension& e) {
        if (e.lease > a.extended_by) {
            ctx.complete(e, errc::not_connected);
            ctx.extensions.free(e);
        }
    });
}

void extend(context& ctx, const impl::view_ptr& view, duration lease, caller from) {
    level* const l = level_of(*view);
    acquisition* const held = l ? l->of : nullptr;
    extension& e = ctx.extensions.make(from, ctx, held, lease);
    if (!held) {
        ctx.complete(e, reason_of(*view));
        ctx.extensions.free(e);
        return;
    }
    acquisition& a = *held;
    a.grows_no_more = a.grows_no_more && ctx.servers.may_still_run(a.granted_at, ctx.now);
    if (a.grows_no_more && lease > a.extended_by) {
        ctx.complete(e, errc::not_connected);
        ctx.extensions.free(e);
        return;
    }
    if (core::after(ctx.now, lease - core::drift_margin(lease)) > a.ends) {
        ctx.complete(e, errc::max_hold_reached);
        ctx.extensions.free(e);
        return;
    }
    a.requests.push_back(e);
    ctx.timers.set(e.patience, core::after(ctx.now, ctx.settings.operation_timeout));
    ctx.renewing.check(a);
}

}  // namespace conch::lock
