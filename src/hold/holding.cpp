// SPDX-License-Identifier: BSL-1.0
#include "hold/holding.hpp"

#include "core/check.hpp"
#include "hold/composite_view.hpp"
#include "hold/holds.hpp"

#include <algorithm>

namespace conch::lock {
namespace {

// The server said so: there is nothing to release.
bool is_gone(errc why) noexcept { return why == errc::lock_lost || why == errc::lost_in_failover; }

// It was not renewed for want of progress, and no report has come since.
bool is_silent(const acquisition& a) noexcept {
    return a.is_withheld() && a.last_report() < a.progress->withheld;
}

hold_span span_of(const level& l, time_point now, const error_code& reason = {}) noexcept {
    const acquisition& a = *l.of;
    return {.name = a.home.name(),
            .number = a.number,
            .fence = a.fence,
            .began = l.since,
            .ended = now,
            .renewals = a.renewals - l.renewals_before,
            .reason = reason,
            .memo = &a.home.spec->memo()};
}

}  // namespace

errc reason_of(const impl::hold_view& view) noexcept {
    const int lost = view.lost.load(std::memory_order_relaxed);
    return lost != 0 ? static_cast<errc>(lost) : errc::already_released;
}

errc reason_at_deadline(const acquisition& a) noexcept {
    return a.last         ? errc::max_hold_reached
           : is_silent(a) ? errc::no_progress
           : a.refused    ? errc::renewal_refused
                          : errc::lease_expired;
}

void keeper::on_deadline(void* acquisition_) {
    auto& a = *static_cast<acquisition*>(acquisition_);
    CONCH_CHECK(a.now == acquisition::phase::held);
    a.home.client.keeping.lose(a, reason_at_deadline(a));
}

void keeper::set_deadline(acquisition& a, time_point sent, duration lease) {
    if (a.now != acquisition::phase::held) {
        a.ends = core::after(a.given ? env_.now : sent, a.acquiring->max_hold);
        a.extended_by = a.acquiring->lease;
    }
    a.extended = std::max(a.extended, sent);
    a.last = a.last || core::after(sent, lease) >= a.ends;
    a.extended_by = std::max(a.extended_by, lease);
    a.valid_until = std::max(a.valid_until, std::min(core::lease_end(sent, lease), a.ends));
    for (level& l : a.levels) {
        l.valid_until.store(a.valid_until.time_since_epoch().count(), std::memory_order_release);
    }
    if (a.now == acquisition::phase::held) {
        env_.timers.set(a.timer, a.valid_until);
    }
}

// The grant: the deadline, the renewals.
void keeper::begin_hold(acquisition& a) {
    a.now = acquisition::phase::held;
    a.depth = 1;
    pool_.end_attempt(a);
    a.timer.fire = &on_deadline;
    env_.timers.set(a.timer, a.valid_until);
    renewals_.schedule(a);
}

impl::view_ptr keeper::add_level(acquisition& a, time_point last_report) {
    if (a.now != acquisition::phase::held) {
        begin_hold(a);
    }
    ++levels_;
    level* const l =
        a.progress ? new reporting_level{a, env_.now, last_report} : new level{a, env_.now};
    intrusive_ptr_add_ref(l);  // let go of when it ends
    a.levels.push_back(*l);
    env_.telemetry.hold_began([&] { return span_of(*l, env_.now); });
    return impl::view_ptr{l};
}

// The end of one public hold: `why` is none where it was released or detached.
void keeper::end_level(level& l, errc why) {
    acquisition& a = *l.of;
    const error_code reason = why != errc{} ? make_error_code(why) : error_code{};
    if (reason) {
        l.lost.store(static_cast<int>(why), std::memory_order_release);
    }
    for_each_of<watcher>(a.requests, [&](watcher& w) {
        if (&w.of == &l) {
            tell(w, reason);
        }
    });
    env_.telemetry.hold_ended([&] { return span_of(l, env_.now, reason); });
    if (a.progress) {
        a.progress->last = a.last_report();
    }
    l.of = nullptr;
    a.levels.erase(a.levels.iterator_to(l));
    --levels_;
    intrusive_ptr_release(&l);
}

void keeper::lose_gone(acquisition& a) {
    lose(a, a.failed_over() ? errc::lost_in_failover : errc::lock_lost);
}

bool keeper::lose_missing(acquisition& a) {
    const bool lost = !downgrading_.looks_for_other_field(a);
    if (lost) {
        lose_gone(a);
    }
    return lost;
}

void keeper::lose(acquisition& a, errc why) {
    CONCH_CHECK(a.now == acquisition::phase::held);
    env_.telemetry.lost(a.home.name(), why);
    renewals_.drop(a);
    while (!a.levels.empty()) {
        end_level(a.levels.front(), why);
    }
    fail_extensions(a, why);
    nesting_.end_changes(a, why);
    downgrading_.end_all(a, why);
    noting_.end_all(a, why);
    // Where one of several permits is gone, the others may still be taken.
    if (is_gone(why) && a.spec->permits() <= 1) {
        a.now = acquisition::phase::releasing;
        events_.ended(a, false);
        releases_.end_untaken(a);
    } else {
        releases_.start_release(a);
    }
}

acquisition* keeper::end_last_level(const impl::view_ptr& view, caller from) {
    level* const l = level_of(*view);
    if (!l) {
        done_.answer(from, reason_of(*view));
        return nullptr;
    }
    acquisition& a = *l->of;
    end_level(*l, errc{});
    CONCH_CHECK(a.depth > 0);
    --a.depth;
    if (nester::is_wanted(a)) {
        nesting_.leave_level(a, from);
        return nullptr;
    }
    return &a;
}

void keeper::release_level(const impl::view_ptr& view, caller from) {
    acquisition* const a = end_last_level(view, from);
    if (!a) {
        return;
    }
    if (events_.pass_on(*a)) {
        done_.answer(from, {});
        return;
    }
    end_hold(*a, from);
}

void keeper::leave_level(const impl::view_ptr& view, duration lease, caller from) {
    acquisition* const a = end_last_level(view, from);
    if (!a) {
        return;
    }
    if (a->two_fields && !protocol::is_shared(*a->spec)) {  // which one to ask for isn't known
        done_.answer(from, errc::outcome_unknown);
        end_hold(*a);
        return;
    }
    end_quietly(*a);
    releases_.start_leave(*a, lease, from);
}

void keeper::end_hold(acquisition& a, caller from) {
    CONCH_CHECK(a.levels.empty());
    end_quietly(a);
    releases_.start_release(a, from);
}

// Nobody wants it any more. Its alarm still stands: the caller moves or cancels it.
void keeper::end_quietly(acquisition& a) {
    if (!a.requests.empty()) {
        nesting_.end_changes(a, {});
        downgrading_.end_all(a, errc::already_released);
        noting_.end_all(a, errc::already_released);
        fail_extensions(a, errc::already_released);
    }
    renewals_.drop(a);
}

void keeper::detach_level(impl::hold_view& view) {
    level* const l = level_of(view);
    if (!l) {
        return;
    }
    acquisition& a = *l->of;
    end_level(*l, errc{});
    --a.depth;
    if (nester::is_wanted(a)) {
        return;
    }
    end_quietly(a);
    env_.timers.cancel(a.timer);
    a.now = acquisition::phase::releasing;
    events_.ended(a, false);
    a.home.forget(a);
}

void keeper::watch(const impl::view_ptr& view, duration before, caller from) {
    level* const l = level_of(*view);
    if (!l) {
        const errc why = reason_of(*view);
        done_.answer(from, why == errc::already_released ? error_code{} : make_error_code(why));
        return;
    }
    watcher& w = watchers_.make(from, *this, *l, before);
    l->of->requests.push_back(w);
    if (before > duration::zero()) {
        set_soon(w);
    }
}

void keeper::extend(const impl::view_ptr& view, duration lease, caller from) {
    level* const l = level_of(*view);
    if (!l) {
        done_.answer(from, reason_of(*view));
        return;
    }
    acquisition& a = *l->of;
    a.grows_no_more = a.grows_no_more && servers_.may_still_run(a.granted_at, env_.now);
    if (a.grows_no_more && lease > a.extended_by) {
        done_.answer(from, errc::not_connected);
        return;
    }
    if (core::after(env_.now, lease - core::drift_margin(lease)) > a.ends) {
        done_.answer(from, errc::max_hold_reached);
        return;
    }
    extension& e = extensions_.make(from, *this, a, lease, env_.now);
    a.requests.push_back(e);
    env_.timers.set(e.patience, core::after(env_.now, env_.settings.operation_timeout));
    renewals_.check(a);
}

}  // namespace conch::lock
