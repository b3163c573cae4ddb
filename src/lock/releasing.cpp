// SPDX-License-Identifier: BSL-1.0
#include "lock/releasing.hpp"

#include "core/check.hpp"
#include "lock/context.hpp"
#include "lock/verdict.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <utility>

namespace conch::lock {
namespace {

constexpr duration round_delay_min = std::chrono::milliseconds{50};
constexpr duration round_delay_max = std::chrono::seconds{1};

bool is_sharded(const wire::call& c) noexcept { return owner_of(c).home.ctx.servers.sharded(); }

constexpr wire::joint_form joint_release{
    .script =
        [](const wire::call& c) {
            const std::uint8_t args = is_sharded(c) ? 3 : 2;
            return wire::joint_script{owner_of(c).spec->family().release, 1, args};
        },
    .keys = [](const wire::call& c, resp::writer& w) { w.arg(owner_of(c).home.name()); },
    .args =
        [](const wire::call& c, resp::writer& w) {
            const acquisition& a = owner_of(c);
            write_field(w, a);
            write_name(w, a.spec->channel());
            if (is_sharded(c)) {
                w.arg("spublish");
            }
        },
};

void release_done(wire::call& c, const wire::outcome& o);

constexpr wire::call_type release_type{
    .name = "release",
    .after_loss = wire::retry::replay,
    .order = wire::priority::urgent,
    .is_script = true,
    .answered_by_push = false,
    .encode = &wire::write_alone,
    .done = &release_done,
    .joint = &joint_release,
};

void finish(acquisition& a) {
    CONCH_CHECK(!a.call || a.call->unlocking.completed());
    a.home.ctx.timers.cancel(a.timer);
    a.home.forget(a);
}

// An older copy of the acquire may still be in the buffers of a connection that could not be ended.
bool suspect(const acquisition& a) noexcept {
    return a.call && a.call->suspect_since && a.home.ctx.now < a.call->suspect_until &&
           a.home.ctx.servers.may_still_run(*a.call->suspect_since, a.call->suspect_last);
}

void next_round_later(acquisition& a) {
    const unsigned doublings = std::min<unsigned>(a.call->release_rounds++, 6);
    const duration d = std::min(round_delay_max, round_delay_min * (1 << doublings));
    a.home.ctx.timers.set(a.timer, core::after(a.home.ctx.now, d));
}

// When the key must have expired by itself, whatever became of the release.
time_point gone_by(const acquisition& a) noexcept {
    const duration twice = 2 * a.extended_by + core::drift_margin(a.extended_by);
    return std::max(core::after(a.extended, twice), a.call->suspect_until);
}

void part(acquisition_call& c) noexcept {
    if (c.partner) {
        std::exchange(c.partner, nullptr)->partner = nullptr;
    }
}

// What releases it: a call of its own, or the acquire of the next.
errc why_unanswered(const acquisition& a) noexcept {
    const acquisition_call* const released_by = a.call->partner ? a.call->partner : a.call;
    return a.home.link().why_unanswered(*released_by);
}

void on_release_timer(void* acquisition_) {
    auto& a = *static_cast<acquisition*>(acquisition_);
    context& ctx = a.home.ctx;
    // Its caller was patient enough. The release goes on; the acquire of the next may be it.
    if (ctx.now < a.valid_until && (!a.call->unlocking.completed() || a.call->partner)) {
        ctx.complete(a.call->unlocking, why_unanswered(a));
        ctx.timers.set(a.timer, a.valid_until);
        return;
    }
    if (ctx.now >= a.valid_until) {
        ctx.complete(a.call->unlocking, errc::lease_expired);
    }
    const time_point gone = gone_by(a);
    if (a.call->where == wire::call::state::idle) {
        part(*a.call);
        if (ctx.now < gone) {
            a.home.submit(*a.call);
            ctx.timers.set(a.timer, gone);
        } else {
            finish(a);
        }
        return;
    }
    if (ctx.now < gone) {
        ctx.timers.set(a.timer, gone);
    } else if (a.call->where == wire::call::state::waiting) {
        a.home.link().withdraw(*a.call);
        finish(a);
    } else {
        a.call->wanted = false;  // its answer, or the loss of its connection, ends it
    }
}

// The server answered `by`, which was to release it.
void finish_release(acquisition& a, bool was_holder, const wire::call& via) {
    context& ctx = a.home.ctx;
    ctx.counters.releases += was_holder ? 1 : 0;
    if (!a.call->unlocking.completed()) {
        const errc verdict = release_verdict({.was_holder = was_holder,
                                              .may_have_run = via.in_doubt,
                                              .first_sent = via.first_sent,
                                              .valid_until = a.valid_until});
        ctx.complete(a.call->unlocking,
                     verdict != errc{} ? make_error_code(verdict) : error_code{});
    }
    if (suspect(a)) {
        next_round_later(a);
    } else {
        finish(a);
    }
}

void release_done(wire::call& c, const wire::outcome& o) {
    acquisition& a = owner_of(c);
    context& ctx = a.home.ctx;
    if (o.lost()) {
        finish(a);
        return;
    }
    if (o.refused() || !o.reply.is_integer()) {  // unintelligible: nothing is confirmed
        ctx.complete(a.call->unlocking,
                     o.refused() ? wire::to_errc(o.reply.text()) : errc::protocol_error);
        next_round_later(a);
        return;
    }
    const std::int64_t clients = o.reply.integer();
    if (clients >= 0) {
        a.home.release_reached(clients);
    }
    finish_release(a, clients >= 0, c);
}

}  // namespace

void start_release(acquisition& a, caller from) {
    context& ctx = a.home.ctx;
    if (!a.call) {
        a.call = &ctx.calls.make(release_type, a);
    }
    CONCH_CHECK(a.call->where == wire::call::state::idle);
    a.now = acquisition::phase::releasing;
    a.call->type = &release_type;
    a.call->unlocking.serve(from);
    a.timer.fire = &on_release_timer;
    a.extended = std::max(a.extended, ctx.now);
    const time_point patience = core::after(ctx.now, ctx.settings.operation_timeout);
    ctx.timers.set(a.timer,
                   a.call->unlocking.completed() ? gone_by(a) : std::min(patience, a.valid_until));
    if (a.home.can_hand_over(a)) {
        a.home.hand_over(a);
        return;
    }
    a.home.submit(*a.call);
    a.home.hold_ended(a, true);
}

void join(acquisition_call& taking, acquisition_call& leaving) noexcept {
    taking.partner = &leaving;
    leaving.partner = &taking;
}

void end_hand_over(acquisition_call& taking, const wire::outcome& o) {
    if (!o.answered() || !(o.reply.is_text() || o.reply.is_integer())) {
        release_apart(taking);
        return;
    }
    acquisition& before = taking.partner->of;
    part(taking);
    finish_release(before, o.reply.is_text(), taking);
}

void release_apart(acquisition_call& taking) {
    acquisition_call& leaving = *taking.partner;
    part(taking);
    leaving.of.home.submit(leaving);
    // As if it had been written by itself.
    leaving.copies = taking.copies;
    leaving.first_sent = taking.first_sent;
    leaving.in_doubt = taking.in_doubt;
    leaving.lost_at = taking.lost_at;
}

void compensate(acquisition& a) {
    ++a.home.ctx.counters.compensations;
    a.call->suspect_lost_copy();
    start_release(a);
}

void end_refused(acquisition& a) {
    if (a.call->in_doubt) {
        compensate(a);
    } else {
        end_untaken(a);
    }
}

void end_untaken(acquisition& a) {
    a.home.ctx.timers.cancel(a.timer);
    if (a.now != acquisition::phase::releasing) {
        a.call->suspect_lost_copy();
    }
    if (suspect(a)) {
        start_release(a);
    } else {
        a.home.forget(a);
    }
}

}  // namespace conch::lock
