// SPDX-License-Identifier: BSL-1.0
#include "hold/nesting.hpp"

#include "core/check.hpp"
#include "hold/downgrading.hpp"
#include "hold/holding.hpp"
#include "hold/holds.hpp"
#include "wire/server_error.hpp"

#include <algorithm>

namespace conch::lock {

const wire::call_type nester::type{
    .name = "nest",
    .after_loss = wire::retry::replay,
    .order = wire::priority::urgent,
    .kind = wire::call_kind::script,
    .encode = &nester::encode_nest,
    .done =
        [](wire::call& call, const wire::outcome& o) {
            auto& c = static_cast<level_change&>(call);
            c.home.nest_done(c, o);
        },
};

const pending_kind level_change::own_kind{
    .cancel = [](completions& done, pending& p, error_code why) {
        const auto& c = static_cast<level_change&>(p);
        c.home.env_.telemetry.counters.cancelled += c.enters ? 1 : 0;
        done.complete(p, why);
    }};

level_change::level_change(caller c, nester& n, acquisition& a, bool deeper) noexcept
    : pending{own_kind, c},
      wire::call{nester::type},
      home{n},
      of{&a},
      enters{deeper},
      patience{this, &nester::on_change_overdue} {}

void nester::encode_nest(wire::call& c, resp::writer& w) {
    auto& change = static_cast<level_change&>(c);
    acquisition& a = *change.of;
    change.lease = lease_to_send(a, due_lease(a, change.home.env_.now), change.home.env_.now);
    a.extended_by = std::max(a.extended_by, change.lease);
    // What is wanted now: changes that were refused for a while may be sent again in any order.
    a.spec->protocol().encode_nest(
        c, {.spec = *a.spec, .holder = field_of(a), .depth = a.depth, .lease = change.lease}, w);
}

void nester::on_change_overdue(void* change_) {
    auto& c = *static_cast<level_change*>(change_);
    c.home.done_.complete(c, c.of->home.link().why_unanswered(c));
}

void nester::finish(level_change& c) {
    env_.timers.cancel(c.patience);
    changes_.free(c);
}

void nester::begin_change(acquisition& a, caller from, bool enters) {
    level_change& c = changes_.make(from, *this, a, enters);
    a.requests.push_back(c);
    env_.timers.set(c.patience, core::after(env_.now, env_.settings.operation_timeout));
    a.home.submit(c);
}

// A level that was entered for nobody, or not at all, is taken back.
void nester::leave_unwanted(acquisition& a) {
    CONCH_CHECK(a.depth > 0);
    if (--a.depth > 0) {
        leave_level(a, {});
    } else {
        holds_.end_hold(a);
    }
}

void nester::nest_done(level_change& c, const wire::outcome& o) {
    acquisition* const a = c.of;
    if (!a || o.lost()) {
        finish(c);
        return;
    }
    const auto answer = o.answered() ? a->spec->protocol().read_nest(o.reply)
                                     : protocol::nest_answer::unintelligible;
    if (answer == protocol::nest_answer::gone) {
        // The outer hold is lost, and this change ends with it; or it is a reader's by now, whose
        // levels the server does not count.
        const bool enters = c.enters;
        const bool lost = holds_.lose_missing(*a);
        done_.complete(c, enters ? make_error_code(errc::lock_lost) : error_code{});
        finish(c);
        if (enters && !lost) {
            leave_unwanted(*a);
        }
        return;
    }
    const bool done = answer == protocol::nest_answer::done;
    const bool wanted = !c.completed();
    const bool entered = c.enters && done;
    const bool undo = c.enters && !(entered && wanted);
    if (!done) {
        done_.complete(c, o.refused() ? wire::to_errc(o.reply.text()) : errc::protocol_error);
    } else {
        holds_.set_deadline(*a, c.history.last_sent, c.lease);
        if (wanted) {
            done_.complete(c, {},
                           entered ? holds_.add_level(*a, a->last_report()) : impl::view_ptr{});
        }
    }
    finish(c);
    if (undo) {
        leave_unwanted(*a);
    }
}

void nester::enter_level(acquisition& a, caller from) {
    CONCH_CHECK(a.now == acquisition::phase::held);
    ++a.depth;
    if (is_reader(a)) {
        done_.answer(from, {}, holds_.add_level(a, a.last_report()));
    } else {
        begin_change(a, from, true);
    }
}

bool nester::is_wanted(const acquisition& a) noexcept {
    const auto enters = [](const pending& p) {
        return is<level_change>(p) && static_cast<const level_change&>(p).enters && !p.completed();
    };
    return !a.levels.empty() || std::any_of(a.requests.begin(), a.requests.end(), enters);
}

void nester::leave_level(acquisition& a, caller from) {
    if (is_reader(a)) {
        done_.answer(from, {});
    } else {
        begin_change(a, from, false);
    }
}

void nester::end_changes(acquisition& a, error_code why) {
    for_each_of<level_change>(a.requests, [&](level_change& c) {
        c.pending_hook::unlink();
        env_.timers.cancel(c.patience);
        if (c.enters && !why) {  // there is nothing to enter
            --a.depth;
            done_.complete(c, errc::lock_lost);
        }
        done_.complete(c, why);
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
