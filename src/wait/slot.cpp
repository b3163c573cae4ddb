// SPDX-License-Identifier: BSL-1.0
#include "wait/slot.hpp"

#include "core/check.hpp"
#include "wait/slots.hpp"

#include <limits>
#include <utility>

namespace conch::lock {

slot::slot(slots& a, impl::spec_ptr s) noexcept : slot_state{a, std::move(s)} {}

const hold_events slot::on_holds{
    .confirmed = [](acquisition& a, errc why) { static_cast<slot&>(a.home).confirmed(a, why); },
    .pass_on = [](acquisition& a) { return static_cast<slot&>(a.home).pass_on(a); },
    .hand_over =
        [](acquisition& a) {
            slot& s = static_cast<slot&>(a.home);
            const bool can = s.can_hand_over(a);
            if (can) {
                s.hand_over(a);
            }
            return can;
        },
    .downgraded = [](acquisition& a, bool done) { static_cast<slot&>(a.home).downgraded(a, done); },
    .ended = [](acquisition& a,
                bool releasing) { static_cast<slot&>(a.home).hold_ended(a, releasing); },
    .release_reached = [](lock_name& n,
                          std::int64_t clients) { static_cast<slot&>(n).release_reached(clients); },
    .forgotten =
        [](lock_name& n) {
            slot& s = static_cast<slot&>(n);
            s.all().may_be_idle(s);
        },
};

contest& slot::begin_contest() {
    if (!contest_) {
        contest_ = &all().contests.make(*this, &slot::on_news);
        if (const acquisition* const a = acquisitions_.alone()) {
            contest_->turns.begin_streak(a->levels.empty() ? env().now : a->levels.front().since);
        }
    }
    return *contest_;
}

bool slot::idle() const noexcept { return queue_.empty() && acquisitions_.empty() && !contending_; }

void slot::acquire(waiter& w, duration wait) {
    env().telemetry.wait_began([&]() -> wait_span {
        return {.name = name(),
                .began = w.since,
                .caller = all().done.context_of(w),
                .memo = &spec->memo()};
    });
    if (w.no_wait && is_busy_for(w)) {
        leave(w, errc::timed_out, link().ready() ? impl::remark::none : impl::remark::unasked);
        return;
    }
    w.queued = protocol::takes_permits(*spec) ? contending_ && has_waiters()
                                              : has_waiters() || !acquisitions_.admit(w.shared());
    // Only the server knows who stands in the line of a fair lock.
    if ((w.queued || protocol::has_places(*spec)) && all().would_deadlock(w)) {
        leave(w, errc::deadlock);
        return;
    }
    if (follows_release() && !w.no_wait) {
        pass_or_owe();
    }
    if (contest_) {
        contest_->turns.end_grace();
    }
    queue_.join(w, wait, env().timers);
    if (!contending_) {
        advance();
        contend_soon();
    } else if (&queue_.head() == &w) {
        try_for_head(wake::head);  // contend() still sleeps for one who left
    }
}

void slot::leave(waiter& w, error_code why, impl::remark said) {
    left(w, why, nullptr);
    if (why == errc::timed_out && w.try_only) {
        why = {};
    }
    all().done.complete(w, why, {}, said);
    all().waiters.free(w);
}

void slot::grant(acquisition& a, waiter& w) {
    left(w, {}, &a);
    all().done.complete(w, {}, client.keeping.add_level(a, env().now));
    all().waiters.free(w);
}

void slot::left(waiter& w, error_code why, const acquisition* granted_) {
    if (w.trying) {
        pass_try_on(w);
    }
    queue::leave(w, env().timers);
    all().wait_ended(w);
    env().telemetry.wait_ended({.name = name(),
                                .number = granted_ ? granted_->number : 0,
                                .began = w.since,
                                .ended = env().now,
                                .contended = w.tried || w.queued,
                                .result = why,
                                .caller = all().done.context_of(w),
                                .memo = &spec->memo()},
                               w.try_only);
}

void slot::give_up(waiter& w, error_code why) {
    const bool was_head = &queue_.head() == &w;
    leave(w, why);
    others_left(was_head);
}

// Some waiters are gone, perhaps the first one.
void slot::others_left(bool head_too) {
    try_ended();
    if (head_too && !trying()) {
        head_changed();
    }
    if (!has_waiters()) {
        tell(wake::nobody);
    } else if (!blocked()) {  // else it goes on as it is: the next look at the hold isn't put off
        tell(wake::head_left);
    }
    leave_line();
    advance();
    all().may_be_idle(*this);
}

// There may be permits enough for the next one, of which no message tells.
void slot::head_changed() {
    if (protocol::takes_permits(*spec) && has_waiters()) {
        heard(wake::head);
    }
}

void slot::give_up_all(error_code why) {
    while (has_waiters()) {
        // From the back: what is tried for the head is abandoned once.
        give_up(queue_.last(), why);
    }
}

// Those who wait behind a local hold listen too, so that they and the holder hear of a forced
// release; but not if the hold is short.
void slot::contend_soon() {
    if (!blocked() || contending_) {
        return;
    }
    begin_contest().contend_later();
}

void slot::contend_now() {
    if (blocked() && !contending_) {
        contend(*this);
    }
}

// The reason stays until a try has seen it. One leaves at once, unless one is on its way already or
// a local hold is in front.
void slot::try_for_head(wake why) {
    heard(why);
    advance();
}

// With contend() at work, that decides; else the next waiter tries at once.
void slot::advance() {
    if (contending_ || !has_waiters()) {
        return;
    }
    ride();
    if (!has_waiters() || blocked()) {
        return;
    }
    if (!trying() && (owes_turn() || expects_to_wait()) && !queue_.head().no_wait) {
        contend(*this);
        return;
    }
    try_next(std::numeric_limits<std::size_t>::max());
}

void slot::hold_ended(acquisition& a, bool releasing) {
    all().hold_ended(a);
    if (!acquisitions_.end_hold(a)) {
        return;
    }
    client.names.hold_ended(*this);
    if (acquisitions_.held()) {
        return;
    }
    if (protocol::takes_permits(*spec)) {
        return;  // who waits for some hears of the release, as others do
    }
    if (releasing && has_waiters()) {
        pass_or_owe();
    } else if (contest_ && !has_waiters() && !contending_ && !others_wait()) {
        end_contest();
    } else if (contest_ && !releasing) {
        contest_->turns.begin_streak();
    }
    tell(wake::local_release);
    advance();
}

// The lock passes to a local waiter, unless others have their turn. Passes are bounded in number
// and, for long holds, in time.
void slot::pass_or_owe() noexcept {
    env().telemetry.counters.hand_offs +=
        !contest_ || contest_->turns.pass(env().now, bounds_of_streak()) ? 1 : 0;
}

// What the server had confirmed for the last holder is as good for the next. Others hear of it when
// the streak ends, with a release that also tells whether there are any.
bool slot::pass_on(acquisition& a) {
    if (acquisitions_.alone() != &a || !has_waiters() || streak_ends() ||
        !queue_.head().would_take_as_it_is(a, env().now)) {
        return false;
    }
    waiter& w = queue_.head();
    contest_->turns.passed();
    ++env().telemetry.counters.hand_offs;
    ++env().telemetry.counters.releases;
    a.terms = w.terms;
    a.expect_progress(w.progress_within);
    a.ends = core::after(env().now, w.max_hold);
    a.depth = 1;
    grant(a, w);
    if (!has_waiters()) {
        tell(wake::nobody);
    }
    return true;
}

bool slot::can_hand_over(const acquisition& a) noexcept {
    if (acquisitions_.alone() != &a || queue_.empty() || streak_ends()) {
        return false;
    }
    // Where a cluster moves the lock from one server to another, both of its keys must be on one:
    // what releases it must not wait for that.
    return a.spec->fenced() && a.spec->takes_as(*queue_.head().spec) && !a.spec->replicas() &&
           !client.servers.clustered() && a.valid_until > env().now && link().ready() &&
           !a.releasing->acquires;
}

void slot::hand_over(acquisition& a) {
    all().hold_ended(a);
    acquisitions_.end_hold(a);
    client.names.hold_ended(*this);
    contest_->turns.passed();
    ++env().telemetry.counters.hand_offs;
    try_now(queue_.head(), a.releasing);
    tell(wake::local_release);
}

// A streak for which nobody else waited begins anew. Where others wait it is counted from now on,
// even if nobody waits here.
void slot::release_reached(std::int64_t clients) {
    if (protocol::takes_permits(*spec)) {
        return;
    }
    if (protocol::has_places(*spec)) {
        if (clients > 0) {
            all().wanted.note(name(), env().now);
        }
        return;
    }
    const bool us = clients > 0 && link().channels().hears_now(spec->channel().text());
    if (clients > (us ? 1 : 0)) {
        begin_contest().turns.others_wait(true);
        if (!acquisitions_.held() && !contending_) {
            contest_->begin_grace();
        }
        return;
    }
    if (contest_) {
        contest_->turns.others_wait(false);
        contest_->turns.begin_streak(env().now);
    }
    tell(wake::no_others);
}

void slot::on_wait_over(void* waiter_) {
    auto& w = *static_cast<waiter*>(waiter_);
    slot& s = w.home;
    const bool is_head = &s.queue_.head() == &w;
    // Each waiter makes at least one try, for which it may need a connection. A local hold counts
    // as an answer. So does a waiter in front of it, unless that one may be given its permits just
    // now.
    const bool has_its_turn =
        is_head || w.trying || (protocol::takes_permits(*s.spec) && !s.contending_);
    const bool unanswered = !w.tried && has_its_turn && !s.blocked();
    if (unanswered && !w.overdue) {
        w.overdue = true;
        s.env().timers.set(w.deadline, core::after(s.env().now, answer_grace));
        if (is_head) {
            s.try_for_head(wake::overdue);
        }
        return;
    }
    const bool unreachable = (unanswered && is_head) || s.link().down_since(s.env().now) <= w.since;
    const bool waits_for_replicas = s.trying() && is_unconfirmed(*s.trying()->acquiring);
    s.give_up(w, !unreachable || s.blocked() || waits_for_replicas ? errc::timed_out
                 : unanswered && w.trying ? s.link().why_unanswered(*w.trying->acquiring)
                                          : s.link().why_down());
}

}  // namespace conch::lock
