// SPDX-License-Identifier: BSL-1.0
#include "lock/slot.hpp"

#include "core/check.hpp"
#include "lock/context.hpp"
#include "lock/holding.hpp"
#include "lock/releasing.hpp"

#include <algorithm>

namespace conch::lock {

const pending_kind waiter::own_kind{.cancel = [](context& ctx, pending& p, error_code why) {
    auto& w = static_cast<waiter&>(p);
    ++ctx.telemetry.counters.cancelled;
    w.home.give_up(w, why);
}};

waiter::waiter(caller c, slot& s, impl::spec_ptr sp, const request_terms& w, time_point now)
    : pending{own_kind, c},
      try_only{w.try_only},
      no_wait{w.wait == duration::zero()},
      home{s},
      spec{std::move(sp)},
      terms{w},
      max_hold{w.max_hold},
      since{now},
      deadline{this, &slot::on_wait_over} {}

slot::slot(context& h, impl::spec_ptr s) : ctx{h}, spec{std::move(s)} {}

slot::~slot() { end_contest(); }

std::uint16_t slot::hash_slot() const noexcept {
    if (hash_slot_ == wire::no_hash_slot && ctx.servers.by_hash_slot()) {
        hash_slot_ = spec->hash_slot();
    }
    return hash_slot_;
}

wire::link& slot::link() const noexcept {
    return ctx.servers.serving(hash_slot(), static_cast<bool>(spec->replicas()));
}

void slot::submit(wire::call& c) {
    ctx.servers.submit(c, hash_slot(), static_cast<bool>(spec->replicas()));
}

slot::contest& slot::begin_contest() {
    if (!contest_) {
        contest_ = &ctx.contests.make(*this);
        if (const acquisition* const a = acquisitions_.alone()) {
            contest_->turns.begin_streak(a->levels.empty() ? ctx.now : a->levels.front().since);
        }
    }
    return *contest_;
}

void slot::set_timer(core::timer::function fire, time_point at) {
    contest_->timer.fire = fire;
    ctx.timers.set(contest_->timer, at);
}

void slot::stop_listening() noexcept {
    ctx.timers.cancel(contest_->timer);
    wire::subscriptions::leave(contest_->listener);
}

void slot::end_contest() noexcept {
    if (contest_) {
        stop_listening();
        ctx.contests.free(*std::exchange(contest_, nullptr));
    }
}

// Messages come, or will.
bool slot::hears() const noexcept {
    return contest_ && wire::subscriptions::works(contest_->listener);
}

bool slot::idle() const noexcept {
    return waiters_.empty() && acquisitions_.empty() && !contending_ && !in_grace();
}

void slot::acquire(waiter& w, duration wait) {
    ctx.telemetry.wait_began({.name = name(), .began = w.since});
    if (w.no_wait && is_busy_for(w)) {
        leave(w, errc::timed_out, !link().ready());
        return;
    }
    if (follows_release() && !w.no_wait) {
        pass_or_owe();
    }
    if (in_grace()) {
        ctx.timers.cancel(contest_->timer);
    }
    w.queued = has_waiters() || !acquisitions_.admit(w.shared());
    waiters_.push_back(w);
    if (!w.no_wait && wait != forever) {
        ctx.timers.set(w.deadline, core::after(w.since, wait));
    }
    if (!contending_) {
        advance();
        listen_soon();
    } else if (&head() == &w) {
        try_for_head(wait::wake::head);  // contend() still sleeps for one who left
    }
}

void slot::leave(waiter& w, error_code why, bool unheard) {
    ctx.timers.cancel(w.deadline);
    observe(w, why, nullptr);
    if (why == errc::timed_out && w.try_only) {
        why = {};
    }
    ctx.complete(w, why, {}, unheard);
    ctx.waiters.free(w);
}

void slot::grant(acquisition& a, waiter& w) {
    ctx.timers.cancel(w.deadline);
    observe(w, {}, &a);
    ctx.complete(w, {}, a.now == acquisition::phase::held ? add_level(a) : begin_hold(a));
    ctx.waiters.free(w);
}

void slot::observe(const waiter& w, error_code why, const acquisition* granted_) {
    ctx.telemetry.wait_ended({.name = name(),
                              .number = granted_ ? granted_->number : 0,
                              .began = w.since,
                              .ended = ctx.now,
                              .contended = w.tried || w.queued,
                              .result = why},
                             w.try_only);
}

void slot::give_up(waiter& w, error_code why) {
    const bool was_head = &head() == &w;
    leave(w, why);
    if (was_head && trying_) {
        if (!has_waiters() || !fits(*trying_, head())) {
            abandon(*std::exchange(trying_, nullptr));
            tell(wait::wake::tried);
        }
    }
    tell(has_waiters() ? wait::wake::head_left : wait::wake::nobody);
    advance();
    ctx.may_be_idle(*this);
}

void slot::give_up_all(error_code why) {
    while (has_waiters()) {
        // From the back: what is tried for the head is abandoned once.
        give_up(static_cast<waiter&>(waiters_.back()), why);
    }
}

// Those who wait behind a local hold listen too, so that they and the holder hear of a forced
// release; but not if the hold is short.
void slot::listen_soon() {
    if (!blocked() || contending_) {
        return;
    }
    begin_contest();
    if (!contest_->timer.armed() || in_grace()) {
        set_timer(&slot::on_listening_due, core::after(ctx.now, listening_delay));
    }
}

void slot::on_listening_due(void* self) {
    slot& s = *static_cast<slot*>(self);
    if (s.blocked() && !s.contending_) {
        contend(s);
    } else {
        s.ctx.may_be_idle(s);
    }
}

// No-op where a try is on its way, or will be when the local hold ends.
void slot::try_for_head(wait::wake why) {
    if (contest_) {
        heard(why);
    }
    advance();
}

void slot::tell(wait::wake what) noexcept {
    if (contest_ && (contest_->awaited & wait::bit(what)) != 0) {
        contest_->awaited = 0;
        contest_->came = what;
        ctx.awake.wake(contest_->contender);
    }
}

// With contend() at work, that decides; else the next waiter tries at once.
void slot::advance() {
    if (contending_ || !has_waiters()) {
        return;
    }
    ride();
    if (trying_ || !has_waiters() || blocked()) {
        return;
    }
    if (owes_turn() && !head().no_wait) {
        contend(*this);
        return;
    }
    try_now();
}

void slot::hold_ended(acquisition& a, bool passed_on) {
    if (!acquisitions_.end_hold(a) || acquisitions_.held()) {
        return;
    }
    if (passed_on && has_waiters()) {
        pass_or_owe();
    } else if (!has_waiters() && !contending_ && !others_wait()) {
        end_contest();
    } else if (contest_ && !passed_on) {
        contest_->turns.begin_streak();
    }
    tell(wait::wake::local_release);
    advance();
}

// A release of our own is (or, at worst, may be) on its way, and the next try would leave with it
// or behind it; or its answer just came: those who hear of the release come too late.
bool slot::follows_release() const noexcept {
    return others_wait() && !acquisitions_.held() && !trying_ && !owes_turn() &&
           (!acquisitions_.empty() || in_grace());
}

// A caller that locks again as soon as its release is answered would win without end against
// others, which take longer to hear of it.
void slot::begin_grace() noexcept {
    if (!acquisitions_.held() && !contending_) {
        const duration d = std::max(shortest_turn, 2 * link().round_trip());
        set_timer(&slot::on_grace_over, core::after(ctx.now, d));
    }
}

void slot::on_grace_over(void* self) { on_listening_due(self); }

bool slot::in_grace() const noexcept {
    return contest_ && contest_->timer.armed() && contest_->timer.fire == &slot::on_grace_over &&
           !ctx.closing;
}

// The lock passes to a local waiter, unless others have their turn. Passes are bounded in number
// and, for long holds, in time.
void slot::pass_or_owe() noexcept {
    ctx.telemetry.counters.hand_offs +=
        !contest_ || contest_->turns.pass(ctx.now, bounds()) ? 1 : 0;
}

bool slot::streak_ends() const noexcept { return contest_->turns.streak_ends(ctx.now, bounds()); }

wait::turns::bounds slot::bounds() const noexcept {
    return {.passes = ctx.settings.max_passes, .time = ctx.settings.max_pass_time};
}

// What the server had confirmed for the last holder is as good for the next. Others hear of it when
// the streak ends, with a release that also tells whether there are any.
bool slot::pass_on(acquisition& a) {
    if (acquisitions_.alone() != &a || !has_waiters() || streak_ends() ||
        !fits_as_it_is(a, head())) {
        return false;
    }
    waiter& w = head();
    contest_->turns.passed();
    ++ctx.telemetry.counters.hand_offs;
    ++ctx.telemetry.counters.releases;
    a.terms = w.terms;
    a.ends = core::after(ctx.now, w.max_hold);
    a.depth = 1;
    grant(a, w);
    if (!has_waiters()) {
        tell(wait::wake::nobody);
    }
    return true;
}

bool slot::can_hand_over(const acquisition& a) noexcept {
    if (acquisitions_.alone() != &a || waiters_.empty() || streak_ends()) {
        return false;
    }
    // Where a cluster moves the lock from one server to another, both of its keys must be on one:
    // what releases it must not wait for that.
    return a.spec->fenced() && a.spec->takes_as(*head().spec) && !a.spec->replicas() &&
           !ctx.servers.clustered() && a.valid_until > ctx.now && link().ready() &&
           !a.releasing->acquires;
}

void slot::hand_over(acquisition& a) {
    acquisitions_.end_hold(a);
    contest_->turns.passed();
    ++ctx.telemetry.counters.hand_offs;
    try_now(a.releasing);
    tell(wait::wake::local_release);
}

// A streak for which nobody else waited begins anew. Where others wait it is counted from now on,
// even if nobody waits here.
void slot::release_reached(std::int64_t clients) {
    const bool us = clients > 0 && link().channels().hears_now(spec->channel().text());
    if (clients > (us ? 1 : 0)) {
        begin_contest().turns.others_wait(true);
        begin_grace();
        return;
    }
    if (contest_) {
        contest_->turns.others_wait(false);
        contest_->turns.begin_streak(ctx.now);
    }
    tell(wait::wake::no_others);
}

void slot::forget(acquisition& a) {
    acquisitions_.remove(a);
    if (a.acquiring) {
        ctx.attempts.free(*a.acquiring);
    }
    if (a.releasing) {
        ctx.releases.free(*a.releasing);
    }
    ctx.acquisition_pool.free(a);
    ctx.may_be_idle(*this);
}

void slot::on_wait_over(void* waiter_) {
    auto& w = *static_cast<waiter*>(waiter_);
    slot& s = w.home;
    const bool unanswered = !w.tried && &s.head() == &w && !s.blocked();
    // At least one try is made, and perhaps a connection for it; a local hold is an answer.
    if (unanswered && !w.overdue) {
        w.overdue = true;
        s.ctx.timers.set(w.deadline, core::after(s.ctx.now, answer_grace));
        s.try_for_head(wait::wake::overdue);
        return;
    }
    const bool unreachable = unanswered || s.link().down_since(s.ctx.now) <= w.since;
    const bool waits_for_replicas = s.trying_ && is_unconfirmed(*s.trying_->acquiring);
    s.give_up(w, !unreachable || s.blocked() || waits_for_replicas ? errc::timed_out
                 : unanswered && s.trying_ ? s.link().why_unanswered(*s.trying_->acquiring)
                                           : s.link().why_down());
}

}  // namespace conch::lock
