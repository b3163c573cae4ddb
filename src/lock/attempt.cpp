// SPDX-License-Identifier: BSL-1.0
#include "core/check.hpp"
#include "lock/context.hpp"
#include "lock/holding.hpp"
#include "lock/nesting.hpp"
#include "lock/releasing.hpp"
#include "lock/replica_waits.hpp"
#include "lock/slot.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <utility>

// One try of a slot: from the script to a grant, a "busy" or an error.
namespace conch::lock {
namespace {

using acquire_kind = protocol::acquire_answer::kind;

}  // namespace

const wire::call_type slot::acquire_type{
    .name = "acquire",
    .after_loss = wire::retry::replay,
    .order = wire::priority::normal,
    .is_script = true,
    .answered_by_push = false,
    .encode = &slot::encode_acquire,
    .done = &slot::acquire_done,
    .joint = &slot::joint_acquire,
};

// As a release, it doesn't wait behind the acquires of others.
const wire::call_type slot::take_over_type{
    .name = "take over",
    .after_loss = wire::retry::replay,
    .order = wire::priority::urgent,
    .is_script = true,
    .answered_by_push = false,
    .encode = &slot::encode_acquire,
    .done = &slot::acquire_done,
    .joint = &slot::joint_acquire,
};

const wire::joint_form slot::joint_acquire{
    .script =
        [](const wire::call& c) {
            const protocol::acquire_request r = request_of(attempt_of(c));
            return r.spec.protocol().acquire_form(r);
        },
    .keys =
        [](const wire::call& c, resp::writer& w) {
            const protocol::acquire_request r = request_of(attempt_of(c));
            r.spec.protocol().acquire_keys(r, w);
        },
    .args =
        [](const wire::call& c, resp::writer& w) {
            const protocol::acquire_request r = request_of(attempt_of(c));
            r.spec.protocol().acquire_args(r, w);
        },
};

protocol::acquire_request slot::request_of(const attempt& t) {
    const acquisition& a = t.of;
    const slot& s = a.home;
    const bool first = t.history.copies <= 1 && !t.history.in_doubt();
    protocol::acquire_request r{.spec = *a.spec,
                                .mine = field_of(a),
                                .lease = a.extended_by,
                                .plainly = first && !s.contending_ && s.acquisitions_.only_one()};
    if (s.has_waiters() && !s.head().no_wait) {
        r.waits_for = 3 * s.ctx.settings.max_poll_interval;  // and then it asks again
    }
    if (s.contest_) {
        r.beside = s.contest_->beside.get();
    }
    if (t.replaces) {
        r.from = field_of(t.replaces->of);
    }
    return r;
}

void slot::encode_acquire(wire::call& c, resp::writer& w) {
    protocol::encode_acquire(c, request_of(attempt_of(c)), w);
}

void slot::acquire_done(wire::call& c, const wire::outcome& o) {
    acquisition& a = attempt_of(c).of;
    a.home.ctx.timers.cancel(a.timer);
    if (a.acquiring->replaces) {
        end_hand_over(*a.acquiring, o);
    }
    if (a.now == acquisition::phase::abandoned) {
        a.home.tried_in_vain(a, o);
    } else {
        a.home.tried(a, o);
    }
}

time_point slot::patience(const waiter& w) const noexcept {
    const time_point since = std::max(w.since, link().down_since(ctx.now));
    return core::after(since, ctx.settings.operation_timeout);
}

void slot::try_now(release* leaving) {
    CONCH_CHECK(!trying_ && has_waiters() && !blocked());
    waiter& w = head();
    acquisition& a = ctx.acquisition_pool.make(*this, ctx.next_number++, w);
    a.acquiring = &ctx.attempts.make(leaving ? take_over_type : acquire_type, a);
    if (leaving) {
        join(*a.acquiring, *leaving);
    }
    a.timer.fire = &slot::on_patience_over;
    acquisitions_.add(a);
    trying_ = &a;
    a.acquiring->begun = ctx.now;
    a.acquiring->max_hold = w.max_hold;
    if (contest_) {
        contest_->wakeup.try_began();
    }
    link().use();  // patience with a connection counts from when it was wanted
    ctx.timers.set(a.timer, patience(w));
    submit(*a.acquiring);
    if (a.spec->replicas()) {
        ctx.replicas.follow(link(), a.spec->replicas());
    }
}

// A younger waiter may have inherited the try; a copy that was just sent may yet be answered, but a
// server that drops each connection doesn't prolong this for ever.
time_point slot::patience_with(const acquisition& a) noexcept {
    const duration timeout = ctx.settings.operation_timeout;
    const time_point until = core::after(head().since, timeout);
    if (a.acquiring->where != wire::call::state::written && !is_unconfirmed(*a.acquiring)) {
        return until;
    }
    return std::max(until,
                    std::min(core::after(a.acquiring->history.last_sent, timeout),
                             core::after(core::after(a.acquiring->begun, timeout), timeout)));
}

void slot::on_patience_over(void* acquisition_) {
    auto& a = *static_cast<acquisition*>(acquisition_);
    slot& s = a.home;
    CONCH_CHECK(s.trying_ == &a);
    waiter& w = s.head();
    const time_point until = s.patience_with(a);
    if (until > s.ctx.now) {
        s.ctx.timers.set(a.timer, until);
        return;
    }
    const std::uint64_t number = a.number;
    s.give_up(w, s.link().why_unanswered(*a.acquiring));
    // By the number: another try may be in the place of this one.
    if (s.trying_ && s.trying_->number == number) {
        s.ctx.timers.set(a.timer, s.ctx.now);  // it goes on for the next waiter
    }
}

void slot::tried(acquisition& a, const wire::outcome& o) {
    // A wanted acquire is replayed: only one that was abandoned ends as lost.
    CONCH_CHECK(trying_ == &a && has_waiters() && !o.lost());
    o.answered_on->took(ctx.now - a.acquiring->history.last_sent);
    if (o.refused()) {
        trying_ = nullptr;
        const errc why = wire::to_errc(o.reply.text());
        end_refused(a);
        failed(why);
        return;
    }
    const bool elsewhere = o.answered_on != &link();
    const bool was_taking_over = a.acquiring->type == &take_over_type;
    protocol::acquire_answer answer = protocol::read_acquire(*a.spec, o.reply);
    a.fence = answer.fence;
    if (answer.what == acquire_kind::granted && (a.fence != 0 || !a.spec->fenced())) {
        a.was_seen();
        a.server_moved = elsewhere;
        if (a.spec->replicas()) {
            ctx.replicas.granted(a, *o.answered_on);
            ctx.timers.set(a.timer, patience_with(a));
        } else {
            granted(a);
        }
        return;
    }
    trying_ = nullptr;
    if (answer.what == acquire_kind::busy) {
        end_untaken(a);
        busy(std::move(answer), elsewhere);
    } else if (answer.what == acquire_kind::gone && was_taking_over) {
        end_untaken(a);
        tell(wait::wake::tried);
        advance();
    } else {
        // It may have taken the lock; a grant without a fence would be let in by any resource.
        compensate(a);
        failed(errc::protocol_error);
    }
}

void slot::confirmed(acquisition& a, errc why) {
    CONCH_CHECK(trying_ == &a && has_waiters());
    ctx.timers.cancel(a.timer);
    if (why == errc{}) {
        granted(a);
        return;
    }
    ctx.telemetry.counters.not_replicated += why == errc::not_replicated ? 1 : 0;
    trying_ = nullptr;
    compensate(a);
    failed(why);
}

void slot::granted(acquisition& a) {
    CONCH_CHECK(a.spec->takes_as(*head().spec));
    trying_ = nullptr;
    set_deadline(a, a.acquiring->history.last_sent, a.extended_by);
    if (a.valid_until <= ctx.now) {
        // The answer took longer than the lease.
        ctx.telemetry.warn("granted too late", name());
        compensate(a);
        busy({.ttl_ms = 0});
        return;
    }
    acquisitions_.begin_hold(a);
    a.granted_at = ctx.now;
    rides_ = 0;
    if (contest_) {
        contest_->turns.granted(ctx.now);
    }
    grant(a, head());
    if (has_waiters()) {
        nest_others(a);
        ride();
    }
    tell(wait::wake::tried);
    listen_soon();
    advance();
}

// Waiters of the same owner would wait for themselves.
void slot::nest_others(acquisition& a) {
    if (a.terms.owner == 0) {
        return;
    }
    for (auto it = waiters_.begin(); it != waiters_.end();) {
        auto& w = static_cast<waiter&>(*it++);
        if (w.terms.owner == a.terms.owner && (w.shared() || !protocol::is_shared(*a.spec))) {
            ctx.timers.cancel(w.deadline);
            w.unlink();
            observe(w, {}, &a);
            const caller from = w.from;
            ctx.waiters.free(w);
            enter_level(a, from);
        }
    }
}

void slot::busy(protocol::acquire_answer&& answer, bool elsewhere) {
    ++ctx.telemetry.counters.busy;
    waiter& w = head();
    // A reader that crashed is in the way of a caller that does not wait, too.
    const bool asks_again =
        !std::exchange(w.tried, true) && w.no_wait && !contending_ && !answer.beside.empty();
    if (contest_ || asks_again || !w.no_wait) {
        contest& c = begin_contest();
        c.ttl_ms = answer.ttl_ms;
        c.beside = answer.beside.empty()
                       ? nullptr
                       : std::make_unique<std::vector<std::string>>(std::move(answer.beside));
        c.wakeup.try_was_busy(elsewhere);
        c.turns.busy();
        c.turns.begin_streak();
    }
    if (asks_again) {
        advance();
        return;
    }
    const bool to_read = w.shared();
    const bool over = w.no_wait || w.overdue;
    if (over) {
        leave(w, errc::timed_out);
    }
    if (to_read) {
        end_tries();
    }
    if (over) {
        if (!contending_ && has_waiters()) {
            advance();
            return;
        }
    }
    if (contending_) {
        tell(wait::wake::busy);
    } else if (has_waiters()) {
        contend(*this);
    }
}

void slot::failed(error_code why) {
    leave(head(), why);
    tell(wait::wake::tried);
    advance();
    ctx.may_be_idle(*this);
}

bool slot::fits(const acquisition& a, const waiter& w) const noexcept {
    const hold_terms& wanted = w.terms;
    return a.terms == wanted && a.acquiring->max_hold == w.max_hold && a.spec->takes_as(*w.spec);
}

// Not if a resource or another process shall see the change; nor if the hold is in doubt or due to
// be renewed, or a new grant would be; nor if it is not where the next holder wants it to be.
bool slot::fits_as_it_is(const acquisition& a, const waiter& w) const noexcept {
    const hold_terms& now = a.terms;
    const hold_terms& next = w.terms;
    return a.spec->takes_as(*w.spec) && !a.spec->fenced() && !a.under_replicated && now.renew &&
           next.renew && now.owner == 0 && next.owner == 0 && now.lease == next.lease &&
           w.max_hold > next.lease && !a.last && !a.refused && !a.due && !a.renewing &&
           std::all_of(a.requests.begin(), a.requests.end(), &is<watcher>) && link().ready() &&
           core::lease_end(ctx.now, next.lease) - a.valid_until <= next.lease / 3 &&
           a.valid_until <= core::after(ctx.now, w.max_hold);
}

// An acquire that nobody wants any more is never sent again. What of it may have reached the server
// is released once its fate is known.
void slot::abandon(acquisition& a) {
    ctx.timers.cancel(a.timer);
    a.now = acquisition::phase::abandoned;
    a.acquiring->abandon();
    if (is_unconfirmed(*a.acquiring)) {
        a.acquiring->unlink();
        compensate(a);
        return;
    }
    if (a.acquiring->where != wire::call::state::waiting) {
        return;  // written: the answer, or the loss of the connection, will tell
    }
    link().withdraw(*a.acquiring);
    if (a.acquiring->replaces) {
        release_apart(*a.acquiring);
    }
    if (a.acquiring->history.copies == 0) {
        end_untaken(a);
    } else {
        compensate(a);
    }
}

void slot::tried_in_vain(acquisition& a, const wire::outcome& o) {
    if (o.refused()) {
        end_refused(a);
        return;
    }
    const acquire_kind answer =
        o.answered() ? protocol::read_acquire(*a.spec, o.reply).what : acquire_kind::unintelligible;
    if (answer == acquire_kind::busy || answer == acquire_kind::gone) {
        end_untaken(a);
    } else {
        compensate(a);
    }
}

}  // namespace conch::lock
