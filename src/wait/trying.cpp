// SPDX-License-Identifier: BSL-1.0
#include "core/check.hpp"
#include "wait/slot.hpp"
#include "wait/slots.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <utility>

// The tries of a slot: from the script to a grant, a "busy" or an error.
namespace conch::lock {
namespace {

using acquire_kind = protocol::acquire_answer::kind;

slot& slot_of(const attempt& t) noexcept { return static_cast<slot&>(t.of.home); }

protocol::acquire_request request_of(const wire::call& c) {
    const attempt& t = attempt_of(c);
    return slot_of(t).request_of(t);
}

constexpr wire::call_type acquire_type{
    .name = "acquire",
    .after_loss = wire::retry::replay,
    .order = wire::priority::normal,
    .kind = wire::call_kind::script,
    .encode =
        [](wire::call& c, resp::writer& w) {
            attempt& t = attempt_of(c);
            ++t.of.tries;
            const protocol::acquire_request r = request_of(c);
            t.behind = r.behind != 0;
            protocol::encode_acquire(c, r, w);
        },
    .done = [](wire::call& c,
               const wire::outcome& o) { slot_of(attempt_of(c)).answered(attempt_of(c), o); },
    .joint = &protocol::joint<&request_of, &protocol::lock_protocol::acquire_form,
                              &protocol::lock_protocol::acquire_keys,
                              &protocol::lock_protocol::acquire_args>,
};

time_point patience(const waiter& w, const wire::link& to, const core::environment& env) noexcept {
    const time_point since = std::max(w.since, to.down_since(env.now));
    return core::after(since, env.settings.operation_timeout);
}

}  // namespace

protocol::acquire_request slot::request_of(const attempt& t) {
    const acquisition& a = t.of;
    const bool first = t.history.copies <= 1 && !t.history.in_doubt();
    protocol::acquire_request r{.spec = *a.spec,
                                .mine = field_of(a),
                                .lease = t.lease,
                                .plainly = first && !contending_ && acquisitions_.only_one(),
                                .waits_for = t.waits_for,
                                .try_number = a.tries,
                                .sharded = client.servers.sharded()};
    if (contest_) {
        r.beside = contest_->beside();
    }
    if (t.replaces) {
        r.from = field_of(t.replaces->of);
    }
    if (last_tried_ != &queue_.head()) {
        const waiter* const front = queue_.before(static_cast<waiter&>(*t.wanted_by));
        r.behind = front ? front->trying->number : 0;
    }
    return r;
}

void slot::answered(attempt& t, const wire::outcome& o) {
    acquisition& a = t.of;
    if (t.replaces) {
        client.releasing.end_hand_over(t, o);
    }
    if (a.now == acquisition::phase::trying && trying() != &a) {
        // The first one's try was put off, or its server changed: nobody overtakes it.
        fall_back();
    }
    if (a.now == acquisition::phase::abandoned) {
        tried_in_vain(a, o);
    } else {
        tried(a, o);
    }
}

// A waiter with a place at the server keeps that place, and its field there, over its tries.
acquisition& slot::acquisition_to_try(const waiter& w, release* leaving) {
    if (protocol::has_places(*spec) && !acquisitions_.empty()) {
        acquisition& kept = acquisitions_.first();
        if (!kept.acquiring) {
            client.pool.begin_attempt(kept, w.max_hold, acquire_type);
        }
        return kept;
    }
    acquisition& a = client.pool.make(*this, w.spec, w.terms, w.max_hold, acquire_type);
    a.expect_progress(w.progress_within);
    if (leaving) {
        releaser::join(*a.acquiring, *leaving);
    }
    a.timer.fire = &slot::on_patience_over;
    acquisitions_.add(a);
    return a;
}

void slot::try_now(waiter& w, release* leaving) {
    CONCH_CHECK(!w.trying && !blocked());
    acquisition& a = acquisition_to_try(w, leaving);
    if (contest_ && !last_tried_) {
        contest_->try_began();
    }
    make_for(w, a);
    a.acquiring->begun = env().now;
    a.acquiring->waits_for = w.no_wait ? duration{} : 3 * all().poll_interval();
    wire::link& to = link();
    to.use();  // patience with a connection counts from when it was wanted
    env().timers.set(a.timer, patience(w, to, env()));
    submit(*a.acquiring);
    if (a.spec->replicas()) {
        client.replicas.follow(link(), a.spec->replicas());
    }
}

// A younger waiter may have inherited the try; a copy that was just sent may yet be answered, but a
// server that drops each connection doesn't prolong this for ever.
time_point slot::patience_with(const acquisition& a) const noexcept {
    const duration timeout = env().settings.operation_timeout;
    const waiter& w = static_cast<const waiter&>(*a.acquiring->wanted_by);
    const time_point until = core::after(w.since, timeout);
    if (a.acquiring->where != wire::call::state::written && !is_unconfirmed(*a.acquiring)) {
        return until;
    }
    return std::max(until,
                    std::min(core::after(a.acquiring->history.last_sent, timeout),
                             core::after(core::after(a.acquiring->begun, timeout), timeout)));
}

void slot::on_patience_over(void* acquisition_) {
    auto& a = *static_cast<acquisition*>(acquisition_);
    slot& s = slot_of(*a.acquiring);
    auto& w = static_cast<waiter&>(*a.acquiring->wanted_by);
    CONCH_CHECK(w.trying == &a);
    const time_point until = s.patience_with(a);
    if (until > s.env().now) {
        s.env().timers.set(a.timer, until);
        return;
    }
    s.env().timers.set(a.timer, s.env().now);  // if it goes on for the next waiter
    s.give_up(w, s.link().why_unanswered(*a.acquiring));
}

void slot::tried(acquisition& a, const wire::outcome& o) {
    // A wanted acquire is replayed: only one that was abandoned ends as lost.
    CONCH_CHECK(trying() == &a && !o.lost());
    o.answered_on->took(env().now - a.acquiring->history.last_sent);
    if (o.refused()) {
        take_try(queue_.head());
        const errc why = wire::to_errc(o.reply.text());
        client.releasing.end_refused(a);
        failed(why);
        return;
    }
    const bool elsewhere = o.answered_on != &link();
    const bool may_be_gone = a.acquiring->takes_over || a.acquiring->behind;
    protocol::acquire_answer answer = protocol::read_acquire(*a.spec, o.reply);
    a.fence = answer.fence;
    if (answer.what == acquire_kind::granted && (a.fence != 0 || !a.spec->fenced())) {
        a.was_seen();
        a.server_moved = elsewhere;
        if (a.spec->replicas()) {
            client.replicas.granted(a, *o.answered_on);
            env().timers.set(a.timer, patience_with(a));
        } else {
            granted(a);
        }
        return;
    }
    take_try(queue_.head());
    if (answer.what == acquire_kind::busy) {
        if (protocol::has_places(*a.spec)) {
            stand_in_line(a);
        } else {
            client.releasing.end_untaken(a);
        }
        busy(std::move(answer), elsewhere);
    } else if (answer.what == acquire_kind::gone && may_be_gone) {
        client.releasing.end_untaken(a);
        fall_back();
        try_ended();
        advance();
    } else {
        // It may have taken the lock; a grant without a fence would be let in by any resource.
        client.releasing.compensate(a);
        failed(errc::protocol_error);
    }
}

void slot::confirmed(acquisition& a, errc why) {
    CONCH_CHECK(trying() == &a);
    if (why == errc{}) {
        granted(a);
        return;
    }
    env().telemetry.counters.not_replicated += why == errc::not_replicated ? 1 : 0;
    take_try(queue_.head());
    client.releasing.compensate(a);
    failed(why);
}

void slot::granted(acquisition& a) {
    CONCH_CHECK(a.spec->takes_as(*queue_.head().spec));
    take_try(queue_.head());
    client.keeping.set_deadline(a, a.acquiring->history.last_sent, a.acquiring->lease);
    if (a.valid_until <= env().now) {
        // The answer took longer than the lease.
        env().telemetry.warn("granted too late", name());
        if (protocol::has_places(*a.spec)) {  // it may have the lock, or will be in line again
            a.in_line = true;
            stand_in_line(a);
        } else {
            client.releasing.compensate(a);
            // The next answer may be as late: a try that left at once would each time come before
            // those of others, who must hear of this release first.
            if (others_wait()) {
                contest_->turns.owe();
            }
        }
        busy({.ttl_ms = 0});
        return;
    }
    one_at_a_time_ = false;
    begin_hold(a);
    try_ended();
    contend_soon();
    advance();
}

void slot::begin_hold(acquisition& a) {
    acquisitions_.begin_hold(a);
    all().hold_began(a);
    a.in_line = false;
    a.granted_at = env().now;
    rides_ = 0;
    if (contest_) {
        contest_->turns.granted(env().now);
    }
    grant(a, queue_.head());
    client.names.hold_began(*this);
    nest_others(a);
    if (has_waiters()) {
        ride();
    }
}

void slot::busy(protocol::acquire_answer&& answer, bool elsewhere) {
    ++env().telemetry.counters.busy;
    fall_back();
    if (protocol::has_places(*spec)) {
        all().wanted.note(name(), env().now);
    }
    waiter& w = queue_.head();
    // A reader that crashed is in the way of a caller that does not wait, too.
    const bool asks_again = !w.tried && w.no_wait && !contending_ && !answer.beside.empty();
    w.tried = true;
    if (contest_ || asks_again || !w.no_wait) {
        begin_contest().try_was_busy(std::move(answer), elsewhere);
    }
    if (asks_again) {
        advance();
        return;
    }
    const bool limited = protocol::takes_permits(*spec);
    const bool all_alike = w.shared() || limited;
    const std::uint32_t permits = w.spec->permits();
    const bool timed_out = w.no_wait || w.overdue;
    const bool over = timed_out || all().would_deadlock(w);
    if (over) {
        leave(w, timed_out ? errc::timed_out : errc::deadlock);
    }
    if (all_alike) {  // nobody overtakes one who waits
        end_tries(over ? permits : 0);
    }
    if (over && limited) {
        head_changed();
    }
    if (over) {
        leave_line();
        if (!contending_ && has_waiters()) {
            advance();
            return;
        }
    }
    if (contending_) {
        tell(wake::busy);
    } else if (has_waiters()) {
        contend(*this);
    }
}

void slot::failed(error_code why) {
    leave(queue_.head(), why);
    try_ended();
    advance();
    all().may_be_idle(*this);
}

// An acquire that nobody wants any more is never sent again. What of it may have reached the server
// is released once its fate is known.
void slot::abandon(acquisition& a) {
    env().timers.cancel(a.timer);
    a.now = acquisition::phase::abandoned;
    a.acquiring->abandon();
    if (is_unconfirmed(*a.acquiring)) {
        a.acquiring->unlink();
        client.releasing.compensate(a);
        return;
    }
    if (a.acquiring->where != wire::call::state::waiting) {
        return;  // written: the answer, or the loss of the connection, will tell
    }
    link().withdraw(*a.acquiring);
    if (a.acquiring->replaces) {
        releaser::release_apart(*a.acquiring);
    }
    if (a.acquiring->history.copies == 0) {
        client.releasing.end_untaken(a);
    } else {
        client.releasing.compensate(a);
    }
}

}  // namespace conch::lock
