// SPDX-License-Identifier: BSL-1.0
#include "hold/downgrading.hpp"

#include "core/check.hpp"
#include "hold/holds.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <string_view>

namespace conch::lock {

const wire::call_type downgrader::type{
    .name = "downgrade",
    .after_loss = wire::retry::replay,
    .order = wire::priority::urgent,
    .kind = wire::call_kind::script,
    .encode = &downgrader::encode,
    .done =
        [](wire::call& c, const wire::outcome& o) {
            auto& d = static_cast<downgrade&>(c);
            d.home.answered(d, o);
        },
};

const pending_kind downgrade::own_kind{.cancel = [](completions&, pending& p, error_code why) {
    auto& d = static_cast<downgrade&>(p);
    d.home.give_up(d, why);
}};

downgrade::downgrade(caller c, downgrader& d, acquisition& a) noexcept
    : pending{own_kind, c},
      wire::call{downgrader::type},
      home{d},
      of{&a},
      first{!a.two_fields},
      patience{this, &downgrader::on_patience_over} {}

const downgrade* downgrade_of(const acquisition& a) noexcept {
    const auto found = std::find_if(a.requests.begin(), a.requests.end(), &is<downgrade>);
    return found != a.requests.end() ? static_cast<const downgrade*>(&*found) : nullptr;
}

void downgrader::encode(wire::call& c, resp::writer& w) {
    auto& d = static_cast<downgrade&>(c);
    acquisition& a = *d.of;
    // A lease that isn't renewed is not made longer either.
    const duration wanted = a.terms.renew ? due_lease(a, d.home.env_.now) : duration{};
    d.lease = lease_to_send(a, wanted, d.home.env_.now);
    a.extended_by = std::max(a.extended_by, d.lease);
    a.two_fields = true;
    a.spec->protocol().encode_downgrade(c,
                                        {.spec = *a.spec,
                                         .holder = field_of(a),
                                         .lease = d.lease,
                                         .sharded = a.home.client.servers.sharded()},
                                        w);
}

void downgrader::downgrade_level(const impl::view_ptr& view, caller from) {
    level* const l = level_of(*view);
    if (!l) {
        done_.answer(from, reason_of(*view));
        return;
    }
    acquisition& a = *l->of;
    if (protocol::is_shared(*a.spec) && a.two_fields) {  // done before
        done_.answer(from, {});
    } else if (!a.spec->protocol().shared_form) {
        done_.answer(from, errc::not_a_writer);
    } else if (a.depth > 1) {
        done_.answer(from, errc::nested_hold);
    } else {
        begin(a, from);
    }
}

// One that lost its caller goes on for the next.
void downgrader::begin(acquisition& a, caller from) {
    for (pending& p : a.requests) {
        if (is<downgrade>(p) && p.completed()) {
            p.serve(from);
            set_patience(static_cast<downgrade&>(p));
            return;
        }
    }
    downgrade& d = downgrades_.make(from, *this, a);
    a.requests.push_back(d);
    set_patience(d);
    a.home.submit(d);
}

void downgrader::set_patience(downgrade& d) {
    if (!d.completed()) {
        env_.timers.set(d.patience, core::after(env_.now, env_.settings.operation_timeout));
    }
}

void downgrader::on_patience_over(void* downgrade_) {
    auto& d = *static_cast<downgrade*>(downgrade_);
    const bool goes_on = d.history.copies > 0;
    d.home.give_up(d, goes_on ? errc::not_connected : d.of->home.link().why_unanswered(d));
}

// Nobody waits for it any more. The link drops it if no copy was written yet.
void downgrader::give_up(downgrade& d, error_code why) {
    env_.timers.cancel(d.patience);
    done_.complete(d, why);
    if (d.where == wire::call::state::waiting && d.history.copies == 0) {
        d.of->home.link().withdraw(d);
        not_done(d);
    }
}

// No copy of it has run, and none will.
void downgrader::not_done(downgrade& d) {
    acquisition& a = *d.of;
    const bool is_writer = d.first && !protocol::is_shared(*a.spec);
    a.two_fields = a.two_fields && !is_writer;
    finish(d);
    renewals_.check_soon(a);
    if (is_writer) {
        events_.downgraded(a, false);
    }
}

void downgrader::finish(downgrade& d) {
    env_.timers.cancel(d.patience);
    downgrades_.free(d);
}

void downgrader::answered(downgrade& d, const wire::outcome& o) {
    acquisition* const a = d.of;
    if (!a || o.lost()) {
        finish(d);
        return;
    }
    if (o.refused() && !d.first) {
        // Who extends the hold may wait for this, as a renewal found the one field missing.
        const std::string_view words = o.reply.text();
        holds_.not_extended(*a, wire::to_errc(words),
                            wire::classify(words) == wire::refusal::passing);
    }
    const auto answer = o.answered() ? a->spec->protocol().read_nest(o.reply)
                                     : protocol::nest_answer::unintelligible;
    if (answer == protocol::nest_answer::gone) {
        holds_.lose_gone(*a);
        finish(d);
    } else if (answer == protocol::nest_answer::done) {
        const time_point sent = d.history.last_sent;
        const duration lease = d.lease;
        done_.complete(d, {});
        finish(d);
        if (o.answered_on == &a->home.link()) {
            a->was_seen();
        }
        done(*a, sent, lease);
    } else if (o.refused() && !d.history.in_doubt()) {
        done_.complete(d, wire::to_errc(o.reply.text()));
        not_done(d);
    } else {
        // A copy may have run: the next renewal finds the writer's field, or doesn't.
        done_.complete(d, o.refused() ? errc::not_connected : errc::protocol_error);
        finish(d);
        renewals_.check_soon(*a);
    }
}

void downgrader::done(acquisition& a, time_point sent, duration lease) {
    const bool was_writer = !protocol::is_shared(*a.spec);
    if (was_writer) {
        // What is on its way for the writer's field ends: each level that it leaves is left.
        renewals_.drop(a);
        nesting_.end_changes(a, {});
        a.spec = impl::lock_spec::make(*a.spec->protocol().shared_form, a.spec->name(), {});
    }
    holds_.set_deadline(a, sent, lease);
    if (holds_.extended(a, sent, lease) || a.server_moved || a.failed_over()) {
        renewals_.check(a);
    } else {
        renewals_.schedule(a);
    }
    if (was_writer) {
        events_.downgraded(a, true);
    }
}

bool downgrader::looks_for_other_field(acquisition& a) {
    if (a.two_fields && !downgrade_of(a)) {
        begin(a, {});
    }
    return downgrade_of(a);
}

void downgrader::end_all(acquisition& a, errc why) {
    for_each_of<downgrade>(a.requests, [&](downgrade& d) {
        d.pending_hook::unlink();
        env_.timers.cancel(d.patience);
        done_.complete(d, why);
        d.of = nullptr;
        if (d.where == wire::call::state::waiting) {
            a.home.link().withdraw(d);
            finish(d);
        } else {
            d.abandon();
        }
    });
}

}  // namespace conch::lock
