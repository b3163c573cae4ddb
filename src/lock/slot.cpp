// SPDX-License-Identifier: BSL-1.0
#include "lock/slot.hpp"

#include "core/check.hpp"
#include "lock/context.hpp"
#include "lock/holding.hpp"
#include "lock/releasing.hpp"

#include <conch/observer.hpp>

#include <algorithm>
#include <string>

namespace conch::lock {

const pending_kind waiter::own_kind{.cancel = [](context& ctx, pending& p, error_code why) {
    auto& w = static_cast<waiter&>(p);
    ++ctx.counters.cancelled;
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
        if (live_) {
            contest_->ours_since = live_->levels.empty() ? ctx.now : live_->levels.front().since;
        }
    }
    return *contest_;
}

void slot::stop_listening() noexcept {
    ctx.timers.cancel(contest_->poll);
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

core::frame_pool& slot::frames() noexcept { return ctx.frames; }

bool slot::idle() const noexcept {
    return waiters_.empty() && acquisitions_ == 0 && !contending_ && !in_grace();
}

acquisition* slot::held_by(std::uint64_t owner) const noexcept {
    const bool nests = owner != 0 && live_ && live_->terms.owner == owner;
    return nests ? live_ : nullptr;
}

void slot::acquire(waiter& w, duration wait) {
    if (w.no_wait && (has_waiters() || live_ || trying_)) {
        leave(w, errc::timed_out, {}, !link().ready());
        return;
    }
    if (follows_release() && !w.no_wait) {
        count_pass();
    }
    if (in_grace()) {
        ctx.timers.cancel(contest_->poll);
    }
    w.queued = has_waiters() || live_;
    waiters_.push_back(w);
    if (!w.no_wait && wait != forever) {
        ctx.timers.set(w.deadline, core::after(w.since, wait));
    }
    if (!contending_) {
        advance();
        listen_soon();
    } else if (&head() == &w) {
        try_again();  // the contender still sleeps for one who left
    }
}

void slot::leave(waiter& w, error_code why, impl::view_ptr view, bool unheard) {
    if (why == errc::timed_out) {
        ++ctx.counters.timeouts;
        if (w.try_only) {
            why = {};
        }
    }
    ctx.timers.cancel(w.deadline);
    observe(w, why, view ? level_of(*view)->of : nullptr);
    ctx.complete(w, why, std::move(view), unheard);
    ctx.waiters.free(w);
}

void slot::observe(const waiter& w, error_code why, const acquisition* granted_) {
    stats& counters = ctx.counters;
    const duration waited = ctx.now - w.since;
    ++counters.waits;
    counters.wait_time += waited;
    counters.longest_wait = std::max(counters.longest_wait, waited);
    if (ctx.log.wants(log_level::debug)) {
        ctx.log(log_level::debug, granted_ ? "granted: " : "not granted: ", name(), " after ",
                std::to_string(std::chrono::ceil<std::chrono::microseconds>(waited).count()), " us",
                why ? ": " + why.message() : std::string{});
    }
    if (ctx.settings.observer) {
        ctx.settings.observer->waited({.name = name(),
                                       .number = granted_ ? granted_->number : 0,
                                       .began = w.since,
                                       .ended = ctx.now,
                                       .contended = w.tried || w.queued,
                                       .result = why});
    }
}

void slot::give_up(waiter& w, error_code why) {
    const bool was_head = &head() == &w;
    leave(w, why);
    if (was_head && trying_) {
        if (!has_waiters() || !fits(*trying_, head())) {
            abandon(*std::exchange(trying_, nullptr));
            last_busy_ = false;
        }
    }
    if (contending_) {
        wake();
    } else {
        advance();
    }
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
    if (!live_ || !has_waiters() || contending_) {
        return;
    }
    core::timer& poll = begin_contest().poll;
    if (!poll.armed()) {
        ctx.timers.set(poll, core::after(ctx.now, listening_delay));
    }
}

// No-op where a try is on its way, or will be when the local hold ends.
void slot::try_again() {
    untried_head_ = true;
    advance();
}

void slot::wake() noexcept {
    if (contest_) {
        ctx.awake.wake(contest_->contender);
    }
}

// With a contender the conversation decides; else the next waiter tries at once.
void slot::advance() {
    if (contending_) {
        wake();
        return;
    }
    if (live_ || trying_ || !has_waiters()) {
        return;
    }
    if (owes_turn_ && !head().no_wait) {
        contend(*this);
        return;
    }
    try_now();
}

void slot::hold_ended(acquisition& a, bool passed_on) {
    if (live_ != &a) {
        return;
    }
    live_ = nullptr;
    if (passed_on && has_waiters()) {
        count_pass();
    } else if (!has_waiters() && !contending_ && !others_wait_) {
        end_contest();
    } else if (contest_ && !passed_on) {
        begin_streak({});
    }
    advance();
}

void slot::begin_streak(time_point since) noexcept {
    contest_->passes = 0;
    contest_->ours_since = since;
}

// A release of our own is (or, at worst, may be) on its way, and the next try would leave with it
// or behind it; or its answer just came: those who hear of the release come too late.
bool slot::follows_release() const noexcept {
    return others_wait_ && contest_ && !live_ && !trying_ && !owes_turn_ &&
           (acquisitions_ > 0 || in_grace());
}

// A caller that locks again as soon as its release is answered would win without end against
// others, which take longer to hear of it.
void slot::begin_grace() noexcept {
    if (!live_ && !contending_) {
        const duration d = std::max(shortest_turn, 2 * link().round_trip());
        ctx.timers.set(contest_->poll, core::after(ctx.now, d));
    }
}

bool slot::in_grace() const noexcept {
    return !live_ && !contending_ && contest_ && contest_->poll.armed() && !ctx.closing;
}

// The lock passes to a local waiter, unless others have their turn.
void slot::count_pass() noexcept {
    owes_turn_ = others_wait_ && streak_ends();
    if (owes_turn_) {
        begin_streak({});
    } else {
        ++contest_->passes;
        ++ctx.counters.hand_offs;
    }
}

// Hand-offs are bounded in number and, for long holds, in time.
bool slot::streak_ends() const noexcept {
    const contest& c = *contest_;
    return c.passes + 1 >= ctx.settings.max_passes ||
           (c.ours_since != time_point{} && ctx.now - c.ours_since >= ctx.settings.max_pass_time);
}

// What the server had confirmed for the last holder is as good for the next. Others hear of it when
// the streak ends, with a release that also tells whether there are any.
bool slot::pass_on(acquisition& a) {
    if (live_ != &a || !has_waiters() || streak_ends() || !fits_as_it_is(a, head())) {
        return false;
    }
    waiter& w = head();
    ++contest_->passes;
    ++ctx.counters.hand_offs;
    ++ctx.counters.releases;
    ++ctx.counters.contended;
    a.terms = w.terms;
    a.ends = core::after(ctx.now, w.max_hold);
    a.depth = 1;
    leave(w, {}, add_level(a));
    if (contending_ && !has_waiters()) {
        wake();
    }
    return true;
}

bool slot::can_hand_over(const acquisition& a) const noexcept {
    if (live_ != &a || waiters_.empty() || streak_ends()) {
        return false;
    }
    // Where a cluster moves the lock from one server to another, both of its keys must be on one:
    // what releases it must not wait for that.
    return a.spec->fenced() && a.spec->takes_as(*head().spec) && !a.spec->replicas() &&
           !ctx.servers.clustered() && a.valid_until > ctx.now && link().ready() &&
           !a.releasing->acquires;
}

void slot::hand_over(acquisition& a) {
    live_ = nullptr;
    ++contest_->passes;
    ++ctx.counters.hand_offs;
    try_now(a.releasing);
    if (contending_) {
        wake();
    }
}

// A streak for which nobody else waited begins anew. Where others wait it is counted from now on,
// even if nobody waits here.
void slot::release_reached(std::int64_t clients) {
    const bool us = clients > 0 && link().channels().hears_now(spec->channel().text());
    others_wait_ = clients > (us ? 1 : 0);
    if (others_wait_) {
        begin_contest();
        begin_grace();
        return;
    }
    if (contest_) {
        begin_streak(ctx.now);
    }
    if (owes_turn_ && contending_) {  // there is nobody whose turn it could be
        poll_due_ = true;
        wake();
    }
}

void slot::forget(acquisition& a) {
    --acquisitions_;
    ctx.acquisitions.erase(ctx.acquisitions.iterator_to(a));
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
    const bool unanswered = !w.tried && &s.head() == &w && !s.live_;
    // At least one try is made, and perhaps a connection for it; a local hold is an answer.
    if (unanswered && !w.overdue) {
        w.overdue = true;
        s.ctx.timers.set(w.deadline, core::after(s.ctx.now, answer_grace));
        s.try_again();
        return;
    }
    const bool unreachable = unanswered || s.link().down_since(s.ctx.now) <= w.since;
    const bool waits_for_replicas = s.trying_ && is_unconfirmed(*s.trying_->acquiring);
    s.give_up(w, !unreachable || s.live_ || waits_for_replicas ? errc::timed_out
                 : unanswered && s.trying_ ? s.link().why_unanswered(*s.trying_->acquiring)
                                           : s.link().why_down());
}

}  // namespace conch::lock
