// SPDX-License-Identifier: BSL-1.0
#include "hold/releasing.hpp"

#include "core/check.hpp"
#include "hold/holds.hpp"
#include "hold/verdict.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <utility>

namespace conch::lock {
namespace {

using release_kind = protocol::release_answer::kind;

constexpr duration round_delay_min = std::chrono::milliseconds{50};
constexpr duration round_delay_max = std::chrono::seconds{1};

acquisition& owner_of(wire::call& c) noexcept { return static_cast<release&>(c).of; }
const acquisition& owner_of(const wire::call& c) noexcept {
    return static_cast<const release&>(c).of;
}

// It is at several keys, as far as is known.
bool releases_more(const acquisition& a) noexcept {
    return protocol::releases_more(*a.spec) || a.two_fields;
}

protocol::release_request request_of(const wire::call& c) noexcept {
    const acquisition& a = owner_of(c);
    return {.spec = *a.spec,
            .holder = field_of(a),
            .sharded = a.home.client.servers.sharded(),
            .lock_key_only = releases_more(a) && !c.type->divisible,
            .downgraded = a.two_fields};
}

bool leaves(const acquisition& a) noexcept { return a.releasing->stays > time_point{}; }

// When the key must have expired by itself, whatever became of the release.
time_point gone_by(const acquisition& a) noexcept {
    const duration twice = 2 * a.extended_by + core::drift_margin(a.extended_by);
    const time_point by_itself = core::after(a.extended, twice);
    const auto& lost = a.releasing->acquires;
    return lost ? std::max(by_itself, lost->until) : by_itself;
}

void part(attempt& taking, release& leaving) noexcept {
    taking.replaces = nullptr;
    leaving.replaced_by = nullptr;
}

errc why_unanswered(const release& r) noexcept {
    const wire::link& link = r.of.home.link();
    return r.replaced_by ? link.why_unanswered(*r.replaced_by) : link.why_unanswered(r);
}

}  // namespace

const wire::call_type releaser::type{
    .name = "release",
    .after_loss = wire::retry::replay,
    .order = wire::priority::urgent,
    .kind = wire::call_kind::script,
    .encode = [](wire::call& c, resp::writer& w) { protocol::encode_release(c, request_of(c), w); },
    .done = &releaser::release_done,
    .joint = &protocol::joint<&request_of, &protocol::lock_protocol::release_form,
                              &protocol::lock_protocol::release_keys,
                              &protocol::lock_protocol::release_args>,
};

const wire::call_type releaser::divisible_type = [] {
    wire::call_type t = releaser::type;
    t.divisible = true;
    return t;
}();

const wire::call_type releaser::leave_type{
    .name = "leave",
    .after_loss = wire::retry::replay,
    .order = wire::priority::urgent,
    .kind = wire::call_kind::script,
    .encode = &releaser::encode_leave,
    .done = &releaser::release_done,
};

const pending_kind unlock::own_kind{
    .cancel = [](completions& done, pending& p, error_code why) { done.complete(p, why); }};

release::release(acquisition& a) noexcept
    : wire::call{releases_more(a) ? releaser::divisible_type : releaser::type},
      of{a} {}

// Each copy asks for the time that is left when it is written. A longer TTL is only made shorter: a
// copy that comes late can't make it longer again.
void releaser::encode_leave(wire::call& c, resp::writer& w) {
    const acquisition& a = owner_of(c);
    const time_point now = a.home.client.releasing.env_.now;
    constexpr duration shortest = std::chrono::milliseconds{1};
    const duration left = std::max(a.releasing->stays - now, shortest);
    protocol::encode_leave(
        c,
        {.spec = *a.spec,
         .holder = field_of(a),
         .lease = left,
         .is_longer = a.valid_until - now >= left && !a.server_moved && !a.failed_over()},
        w);
}

void releaser::start_release(acquisition& a, caller from) {
    release& r = begin(a, from);
    if (events_.hand_over(a)) {
        return;
    }
    a.home.submit(r);
    events_.ended(a, true);
}

void releaser::start_leave(acquisition& a, duration lease, caller from) {
    release& r = pool_.release_of(a);
    r.type = &leave_type;
    r.stays = core::after(env_.now, lease);
    begin(a, from);
    a.home.submit(r);
    events_.ended(a, false);
}

release& releaser::begin(acquisition& a, caller from) {
    release& r = pool_.release_of(a);
    CONCH_CHECK(!a.acquiring && r.where == wire::call::state::idle);
    a.now = acquisition::phase::releasing;
    r.unlocking.serve(from);
    a.timer.fire = &on_release_timer;
    a.extended = std::max(a.extended, env_.now);
    const time_point patience = core::after(env_.now, env_.settings.operation_timeout);
    env_.timers.set(a.timer,
                    r.unlocking.completed() ? gone_by(a) : std::min(patience, a.valid_until));
    return r;
}

void releaser::compensate(acquisition& a) {
    ++env_.telemetry.counters.compensations;
    a.extended_by = std::max(a.extended_by, a.acquiring->lasts());
    a.in_line = a.in_line || a.acquiring->gets_place();
    pool_.end_attempt(a);
    start_release(a);
}

void releaser::on_release_timer(void* acquisition_) {
    auto& a = *static_cast<acquisition*>(acquisition_);
    a.home.client.releasing.due(a);
}

void releaser::due(acquisition& a) {
    release& r = *a.releasing;
    // The caller has waited long enough. The release goes on; the next waiter's acquire may do it.
    if (env_.now < a.valid_until && (!r.unlocking.completed() || r.replaced_by)) {
        done_.complete(r.unlocking, why_unanswered(r));
        env_.timers.set(a.timer, a.valid_until);
        return;
    }
    if (env_.now >= a.valid_until) {
        done_.complete(r.unlocking, errc::lease_expired);
    }
    const time_point gone = gone_by(a);
    if (r.where == wire::call::state::idle) {
        if (attempt* const taking = r.replaced_by) {
            part(*taking, r);
            a.home.link().calm(*taking);  // on a new connection, what is held is checked before it
        }
        if (env_.now < gone) {
            a.home.submit(r);
            env_.timers.set(a.timer, gone);
        } else {
            finish(a);
        }
        return;
    }
    if (env_.now < gone) {
        env_.timers.set(a.timer, gone);
    } else if (r.where == wire::call::state::waiting) {
        a.home.link().withdraw(r);
        finish(a);
    } else {
        r.abandon();  // its answer, or the loss of its connection, ends it
    }
}

void releaser::release_done(wire::call& c, const wire::outcome& o) {
    acquisition& a = owner_of(c);
    a.home.client.releasing.answered(a, c.history, o);
}

void releaser::answered(acquisition& a, const wire::call_history& sent, const wire::outcome& o) {
    if (o.lost()) {
        finish(a);
        return;
    }
    release& r = *a.releasing;
    if (o.refused() && r.type == &divisible_type && wire::is_divided(o.reply.text())) {
        // The others in line find out by asking again; the place of this one is given back later. A
        // reader's own key ends by itself.
        r.type = &type;
        submit_again(r);
        return;
    }
    const protocol::lock_protocol& p = a.spec->protocol();
    const protocol::release_answer answer = o.refused()
                                                ? protocol::release_answer{.words = o.reply.text()}
                                            : leaves(a) ? protocol::read_leave(p, o.reply)
                                                        : p.read_release(o.reply);
    if (answer.what == release_kind::unintelligible) {  // nothing is confirmed
        const bool in_part = !o.refused() && !answer.words.empty();
        if (in_part && o.answered_on->part_refused(answer.words)) {
            submit_again(r);
            return;
        }
        done_.complete(a.releasing->unlocking,
                       answer.words.empty() ? errc::protocol_error : wire::to_errc(answer.words));
        next_round_later(a);
        return;
    }
    const bool released = answer.what == release_kind::released;
    if (released && !leaves(a)) {
        events_.release_reached(a.home, answer.heard_by);
    }
    finish_release(a, released, sent);
}

void releaser::submit_again(release& r) {
    const wire::call_history before = r.history;
    r.of.home.submit(r);
    r.history.keep_doubt(before);
}

// The server answered what was to release the lock, or to leave it for a time. If the lock was
// released, no copy left anything. If it was left, it is gone once that time is over.
void releaser::finish_release(acquisition& a, bool was_holder, const wire::call_history& sent) {
    env_.telemetry.counters.releases += was_holder && !leaves(a) ? 1 : 0;
    unlock& caller = a.releasing->unlocking;
    if (!caller.completed()) {
        const bool would_be_gone = !leaves(a) || env_.now >= a.releasing->stays;
        const errc verdict = release_verdict({.was_holder = was_holder,
                                              .may_have_run = sent.in_doubt() && would_be_gone,
                                              .first_sent = sent.first_sent,
                                              .valid_until = a.valid_until});
        done_.complete(caller, verdict != errc{} ? make_error_code(verdict) : error_code{});
    }
    const bool place_is_left = a.in_line && a.releasing->type == &type;
    if (place_is_left || may_come_back(a)) {
        next_round_later(a);
    } else {
        finish(a);
    }
}

void releaser::finish(acquisition& a) {
    CONCH_CHECK(!a.releasing || a.releasing->unlocking.completed());
    env_.timers.cancel(a.timer);
    a.home.forget(a);
}

// A lost copy of the acquire may still be in the buffers of a connection that could not be ended.
bool releaser::may_come_back(const acquisition& a) const noexcept {
    if (!a.releasing || !a.releasing->acquires) {
        return false;
    }
    const lost_copies& lost = *a.releasing->acquires;
    return env_.now < lost.until && servers_.may_still_run(lost.first_sent, lost.last_lost);
}

void releaser::next_round_later(acquisition& a) {
    if (releases_more(a) && !leaves(a)) {
        a.releasing->type = &divisible_type;
    }
    const unsigned doublings = std::min<unsigned>(a.releasing->rounds++, 6);
    const duration d = std::min(round_delay_max, round_delay_min * (1 << doublings));
    env_.timers.set(a.timer, core::after(env_.now, d));
}

// As a release, it doesn't wait behind the acquires of others.
void releaser::join(attempt& taking, release& leaving) noexcept {
    taking.order = wire::priority::urgent;
    taking.takes_over = true;
    taking.replaces = &leaving;
    leaving.replaced_by = &taking;
}

void releaser::end_hand_over(attempt& taking, const wire::outcome& o) {
    using kind = protocol::acquire_answer::kind;
    const kind answer =
        o.answered() ? protocol::read_acquire(*taking.of.spec, o.reply).what : kind::unintelligible;
    if (answer == kind::unintelligible) {
        release_apart(taking);
        return;
    }
    release& leaving = *taking.replaces;
    part(taking, leaving);
    finish_release(leaving.of, answer == kind::granted, taking.history);
}

void releaser::release_apart(attempt& taking) {
    release& leaving = *taking.replaces;
    part(taking, leaving);
    leaving.of.home.submit(leaving);
    leaving.history = taking.history;  // as if it had been written by itself
}

void releaser::end_refused(acquisition& a) {
    if (a.acquiring->history.in_doubt()) {
        compensate(a);
    } else {
        end_untaken(a);
    }
}

void releaser::end_untaken(acquisition& a) {
    env_.timers.cancel(a.timer);
    if (a.acquiring) {
        a.extended_by = std::max(a.extended_by, a.acquiring->lasts());
        pool_.end_attempt(a);
    }
    // A lost copy may have run since it had the lock: that got a place.
    a.in_line = a.in_line || (protocol::has_places(*a.spec) && a.releasing &&
                              a.releasing->acquires && env_.now < a.releasing->acquires->until);
    if (a.in_line || may_come_back(a)) {
        start_release(a);
    } else {
        a.home.forget(a);
    }
}

}  // namespace conch::lock
