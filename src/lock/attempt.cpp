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
#include <charconv>

// One try of a slot: from the script to a grant, a "busy" or an error.
namespace conch::lock {
namespace {

constexpr unsigned most_unused_turns = 7;

/// The script's word for a lock that is gone, instead of what is left of its holder's lease.
constexpr std::int64_t is_free = -2;

/// 0 if the text is no number.
std::uint64_t fence_in(std::string_view text) noexcept {
    std::uint64_t token = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, token);
    return read.ec == std::errc{} && read.ptr == end ? token : 0;
}

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
    .script = &slot::script_of,
    .keys = &slot::encode_keys,
    .args = &slot::encode_args,
};

wire::joint_script slot::script_of(const wire::call& c) {
    const acquisition& a = attempt_of(c).of;
    if (a.home.takes_plainly(a)) {
        return wire::leaves_alone;
    }
    const std::uint8_t keys = a.spec->fenced() ? 2 : 1;
    const std::uint8_t args = a.acquiring->replaces ? 4 : 3;
    return {a.spec->family().acquire, keys, args};
}

void slot::encode_keys(const wire::call& c, resp::writer& w) {
    const acquisition& a = attempt_of(c).of;
    w.arg(a.home.name());
    if (a.spec->fenced()) {
        write_name(w, a.spec->fence_key());
    }
}

void slot::encode_args(const wire::call& c, resp::writer& w) {
    const acquisition& a = attempt_of(c).of;
    write_field(w, a);
    w.arg(core::ceil_millis(a.extended_by));
    w.arg(a.spec->fence_key_ttl_ms());
    if (a.acquiring->replaces) {
        write_field(w, a.acquiring->replaces->of);
    }
}

void slot::encode_acquire(wire::call& c, resp::writer& w) {
    const acquisition& a = attempt_of(c).of;
    if (a.home.takes_plainly(a)) {
        w.command(6).arg("SET").arg(a.home.name());
        write_field(w, a);
        w.arg("NX").arg("PX").arg(core::ceil_millis(a.extended_by));
        return;
    }
    wire::write_alone(c, w);
}

// Where a first copy may have run, SET NX would not find it again; and it says nothing of the
// holder's lease, on which waiters rely.
bool slot::takes_plainly(const acquisition& a) const noexcept {
    return a.spec->family().plain && !a.spec->fenced() && a.acquiring->history.copies <= 1 &&
           !a.acquiring->history.in_doubt() && !contending_ && acquisitions_ == 1;
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
    CONCH_CHECK(!trying_ && !live_ && has_waiters());
    waiter& w = head();
    acquisition& a = ctx.acquisition_pool.make(*this, ctx.next_number++, w);
    a.acquiring = &ctx.attempts.make(leaving ? take_over_type : acquire_type, a);
    if (leaving) {
        join(*a.acquiring, *leaving);
    }
    a.timer.fire = &slot::on_patience_over;
    ++acquisitions_;
    ctx.acquisitions.push_back(a);
    trying_ = &a;
    a.acquiring->begun = ctx.now;
    a.acquiring->max_hold = w.max_hold;
    untried_head_ = false;
    last_busy_ = false;
    if (contest_) {
        contest_->tried = contest_->wakes;
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
    CONCH_CHECK(trying_ == &a && has_waiters() && !o.lost());
    o.answered_on->took(ctx.now - a.acquiring->history.last_sent);
    if (o.answered() && o.reply.is_text()) {
        a.fence = fence_in(o.reply.text());
        if (a.spec->fenced() && a.fence == 0) {
            // A resource would let in whoever comes without a fence.
            trying_ = nullptr;
            compensate(a);
            failed(errc::protocol_error);
            return;
        }
        a.was_seen();
        a.server_moved = o.answered_on != &link();
        if (a.spec->replicas()) {
            ctx.replicas.granted(a, *o.answered_on);
            ctx.timers.set(a.timer, patience_with(a));
        } else {
            granted(a);
        }
        return;
    }
    trying_ = nullptr;
    const bool elsewhere = o.answered_on != &link();
    const bool from_partner = a.acquiring->type == &take_over_type;
    if (o.refused()) {
        const errc why = wire::to_errc(o.reply.text());
        end_refused(a);
        failed(why);
    } else if (from_partner && o.reply.is_integer() && o.reply.integer() == is_free) {
        end_untaken(a);
        advance();
    } else if (o.reply.is_integer() && o.reply.integer() > is_free) {
        end_untaken(a);
        busy(o.reply.integer(), elsewhere);
    } else if (o.reply.is_null()) {
        end_untaken(a);
        busy(-1, elsewhere);
    } else {
        compensate(a);  // unintelligible: it may have taken the lock
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
    ctx.counters.not_replicated += why == errc::not_replicated ? 1 : 0;
    trying_ = nullptr;
    compensate(a);
    failed(why);
}

void slot::granted(acquisition& a) {
    trying_ = nullptr;
    set_deadline(a, a.acquiring->history.last_sent, a.extended_by);
    if (a.valid_until <= ctx.now) {
        // The answer took longer than the lease.
        ctx.tell("granted too late", name());
        compensate(a);
        busy(0);
        return;
    }
    live_ = &a;
    if (contest_ && contest_->ours_since == time_point{}) {
        contest_->ours_since = ctx.now;
    }
    if (turn_was_unused_ && others_wait_ && unused_turns_ < most_unused_turns) {
        ++unused_turns_;
    }
    turn_was_unused_ = false;
    waiter& w = head();
    if (w.tried || w.queued) {
        ++ctx.counters.contended;
    }
    leave(w, {}, begin_hold(a));
    nest_others(a);
    if (contending_) {
        wake();
    } else {
        listen_soon();
    }
}

// Waiters of the same owner would wait for themselves.
void slot::nest_others(acquisition& a) {
    if (a.terms.owner == 0) {
        return;
    }
    for (auto it = waiters_.begin(); it != waiters_.end();) {
        auto& w = static_cast<waiter&>(*it++);
        if (w.terms.owner == a.terms.owner) {
            ctx.timers.cancel(w.deadline);
            w.unlink();
            const caller from = w.from;
            ctx.waiters.free(w);
            enter_level(a, from);
        }
    }
}

void slot::busy(std::int64_t ttl_ms, bool elsewhere) {
    ++ctx.counters.busy;
    last_busy_ = true;
    turn_was_unused_ = false;
    unused_turns_ = 0;
    waiter& w = head();
    w.tried = true;
    if (contest_ || !w.no_wait) {
        contest& c = begin_contest();
        c.ttl_ms = ttl_ms;
        // Messages come in the order of the server's doing: those before this answer are answered
        // by it. Those of another server are not, if they came while it was on its way.
        c.seen = elsewhere ? c.tried : c.wakes;
        begin_streak({});
    }
    if (w.no_wait || w.overdue) {
        leave(w, errc::timed_out);
        if (!contending_ && has_waiters()) {
            advance();
            return;
        }
    }
    if (contending_) {
        wake();
    } else if (has_waiters()) {
        contend(*this);
    }
}

void slot::failed(error_code why) {
    last_busy_ = false;
    leave(head(), why);
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
    return !a.spec->fenced() && !w.spec->fenced() && !a.under_replicated &&
           a.spec->replicas() == w.spec->replicas() && now.renew && next.renew && now.owner == 0 &&
           next.owner == 0 && now.lease == next.lease && w.max_hold > next.lease && !a.last &&
           !a.refused && !a.due && !a.renewing && a.requests.empty() && link().ready() &&
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
    } else if (o.answered() && (o.reply.is_integer() || o.reply.is_null())) {
        end_untaken(a);
    } else {
        compensate(a);
    }
}

}  // namespace conch::lock
