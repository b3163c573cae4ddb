// SPDX-License-Identifier: BSL-1.0
#include "lock/nesting.hpp"

#include "core/check.hpp"
#include "lock/context.hpp"
#include "lock/holding.hpp"
#include "wire/server_error.hpp"

#include <algorithm>

namespace conch::lock {
namespace {

void encode_nest(wire::call& c, resp::writer& w) {
    auto& change = static_cast<level_change&>(c);
    acquisition& a = *change.of;
    change.lease = lease_to_send(a, a.terms.lease, a.home.ctx.now);
    a.extended_by = std::max(a.extended_by, change.lease);
    // What is wanted now: changes that were refused for a while may be sent again in any order.
    a.spec->protocol().encode_nest(
        c, {.spec = *a.spec, .holder = field_of(a), .depth = a.depth, .lease = change.lease}, w);
}

void nest_done(wire::call& c, const wire::outcome& o);

constexpr wire::call_type nest_type{
    .name = "nest",
    .after_loss = wire::retry::replay,
    .order = wire::priority::urgent,
    .is_script = true,
    .answered_by_push = false,
    .encode = &encode_nest,
    .done = &nest_done,
};

void on_change_overdue(void* change_) {
    auto& c = *static_cast<level_change*>(change_);
    c.ctx.complete(c, c.of->home.link().why_unanswered(c));
}

void finish(level_change& c) {
    context& ctx = c.ctx;
    ctx.timers.cancel(c.patience);
    ctx.changes.free(c);
}

void begin_change(acquisition& a, caller from, bool enters) {
    context& ctx = a.home.ctx;
    level_change& c = ctx.changes.make(from, a, enters);
    a.requests.push_back(c);
    ctx.timers.set(c.patience, core::after(ctx.now, ctx.settings.operation_timeout));
    a.home.submit(c);
}

// A level that was entered for nobody, or not at all, is taken back.
void leave_unwanted(acquisition& a) {
    CONCH_CHECK(a.depth > 0);
    if (--a.depth > 0) {
        leave_level(a, {});
    } else {
        end_hold(a);
    }
}

void nest_done(wire::call& call, const wire::outcome& o) {
    auto& c = static_cast<level_change&>(call);
    acquisition* const a = c.of;
    context& ctx = c.ctx;
    if (!a || o.lost()) {
        finish(c);
        return;
    }
    const auto answer = o.answered() ? a->spec->protocol().read_nest(o.reply)
                                     : protocol::nest_answer::unintelligible;
    if (answer == protocol::nest_answer::gone) {
        // The outer hold is lost, and this change ends with it.
        lose_gone(*a);
        finish(c);
        return;
    }
    const bool done = answer == protocol::nest_answer::done;
    const bool wanted = !c.completed();
    const bool entered = c.enters && done;
    const bool undo = c.enters && !(entered && wanted);
    if (!done) {
        ctx.complete(c, o.refused() ? wire::to_errc(o.reply.text()) : errc::protocol_error);
    } else {
        set_deadline(*a, call.history.last_sent, c.lease);
        if (wanted) {
            ctx.complete(c, {}, entered ? add_level(*a) : impl::view_ptr{});
        }
    }
    finish(c);
    if (undo) {
        leave_unwanted(*a);
    }
}

}  // namespace

const pending_kind level_change::own_kind{.cancel = [](context& ctx, pending& p, error_code why) {
    ctx.telemetry.counters.cancelled += static_cast<level_change&>(p).enters ? 1 : 0;
    ctx.complete(p, why);
}};

level_change::level_change(caller c, acquisition& a, bool deeper) noexcept
    : pending{own_kind, c},
      wire::call{nest_type},
      ctx{a.home.ctx},
      of{&a},
      enters{deeper},
      patience{this, &on_change_overdue} {}

void enter_level(acquisition& a, caller from) {
    CONCH_CHECK(a.now == acquisition::phase::held);
    ++a.depth;
    if (protocol::is_shared(*a.spec)) {  // the server counts no levels of a reader
        a.home.ctx.answer(from, {}, add_level(a));
    } else {
        begin_change(a, from, true);
    }
}

bool is_wanted(const acquisition& a) noexcept {
    const auto enters = [](const pending& p) {
        return is<level_change>(p) && static_cast<const level_change&>(p).enters && !p.completed();
    };
    return !a.levels.empty() || std::any_of(a.requests.begin(), a.requests.end(), enters);
}

void leave_level(acquisition& a, caller from) {
    if (protocol::is_shared(*a.spec)) {
        a.home.ctx.answer(from, {});
    } else {
        begin_change(a, from, false);
    }
}

void end_changes(acquisition& a, error_code why) {
    context& ctx = a.home.ctx;
    for_each_of<level_change>(a.requests, [&](level_change& c) {
        c.pending_hook::unlink();
        ctx.timers.cancel(c.patience);
        ctx.complete(c, why);
        c.of = nullptr;
        if (c.where == wire::call::state::waiting) {
            a.home.link().withdraw(c);
            finish(c);
        } else {
            c.abandon();
        }
    });
}

}  // namespace conch::lock
