// SPDX-License-Identifier: BSL-1.0
#include "hold/renewal.hpp"

#include "core/check.hpp"
#include "hold/holding.hpp"
#include "hold/holds.hpp"
#include "hold/replica_waits.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <utility>

namespace conch::lock {
namespace {

constexpr duration retry_delay_min = std::chrono::milliseconds{20};

// Between two renewals, or two looks at a hold that isn't renewed.
duration interval(const acquisition& a) noexcept {
    return (renews(a) ? a.terms.lease : std::min(a.terms.lease, a.extended_by)) / 3;
}

// After a refusal.
duration pause_of(const acquisition& a) noexcept {
    return renews(a) ? std::max(retry_delay_min, a.terms.lease / 30) : interval(a);
}

// Until it is looked whether its holder goes on.
duration pause_of_stuck(const acquisition& a) noexcept {
    return std::min(pause_of(a), a.progress_within() / 2);
}

// Of a look at what isn't renewed: less is left of it than was promised, so that the server lost
// what had made it longer; its data may have been another's meanwhile.
bool fell_behind(const acquisition& a, const renewal& r, const renewal::item& item,
                 const protocol::renew_answer& answer) {
    const bool looked = item.lease == duration::zero() && !item.lowers && answer.longer_ms > 1;
    return looked && answer.longer_ms < core::ceil_millis(a.valid_until - r.sent());
}

}  // namespace

const wire::call_type renewer::type{
    .name = "renew",
    .after_loss = wire::retry::never,
    .order = wire::priority::urgent,
    .kind = wire::call_kind::script,
    .encode = &renewer::encode,
    .done = &renewer::done,
};

const wire::call_type renewer::divisible_type{
    .name = "renew",
    .after_loss = wire::retry::never,
    .order = wire::priority::urgent,
    .kind = wire::call_kind::script,
    .divisible = true,
    .encode = &renewer::encode,
    .done = &renewer::done,
};

renewal::renewal(renewer& h) noexcept : wire::call{renewer::type}, home{h} {}

renewer::~renewer() { CONCH_CHECK(pool_.live() == 0); }

void renewer::schedule(acquisition& a) {
    if (!renews(a)) {
        // Somebody may take it away, and this is how its holder gets to know.
        renewals_.set(a, core::after(env_.now, interval(a)));
        return;
    }
    const duration left = a.valid_until - env_.now;
    if (left < a.terms.lease / 3 * 2) {
        renewals_.set(a, env_.now);
    } else {
        renewals_.set(a, core::after(a.extended, interval(a)));
    }
}

void renewer::check(acquisition& a) {
    if (a.due || a.renewing || a.now != acquisition::phase::held) {
        return;
    }
    a.due = true;
    due_.push_back(&a);
}

void renewer::check_again(acquisition& a) {
    check(a);
    a.renew_again = a.renew_again || a.renewing;
}

// A server that its name was led to before may not answer for long. But what lowers the TTL there
// must be known to have run, or to be lost.
void renewer::check_first(acquisition& a) {
    if (a.renewing && a.renewing->where == wire::call::state::written &&
        !a.renewing->items[a.place].lowers) {
        leave(*std::exchange(a.renewing, nullptr), a);
        a.renew_again = false;
    }
    check(a);
}

// Nobody knows what the server that had it before did last for this hold, or for the hold whose
// place it took.
void renewer::check_elsewhere(acquisition& a) {
    a.server_moved = true;
    check_again(a);
    if (a.renewing) {  // nor is its answer waited for, once there is a connection
        a.home.link().use();
    }
}

void renewer::drop(acquisition& a) {
    renewals_.cancel(a);
    if (a.renewing) {
        leave(*std::exchange(a.renewing, nullptr), a);
    }
    if (a.due) {
        a.due = false;
        std::erase(due_, &a);
    }
}

// While its holder shows no progress, a hold is looked at here alone; but each third of the lease
// the server is asked whether it is still there.
bool renewer::is_left_alone(acquisition& a) {
    if (!renews(a) || !a.shows_no_progress(env_.now) || is_extending(a)) {
        return false;
    }
    progress_record& p = *a.progress;
    // After a refusal, the server is the reason, and came first.
    if (!a.refusal_logged && (!a.is_withheld() || a.last_report() >= p.withheld)) {
        p.withheld = env_.now;
    }
    const bool is_to_ask = env_.now >= p.asks_at;
    if (is_to_ask) {
        p.asks_at = core::after(env_.now, interval(a));
    }
    return !is_to_ask;
}

void renewer::tick() {
    std::vector<acquisition*> left_alone;
    const acquisition* first = nullptr;
    for (time_point until = env_.now; acquisition* const a = renewals_.pop_due(until);) {
        if (is_left_alone(*a)) {
            left_alone.push_back(a);
            continue;
        }
        check(*a);
        if (!first) {
            first = a;
            until =
                core::after(env_.now, (a->is_withheld() ? pause_of_stuck(*a) : interval(*a)) / 4);
        }
    }
    // Not before: they would be due again by then.
    for (acquisition* const a : left_alone) {
        renewals_.set(*a, core::after(env_.now, pause_of_stuck(*a)));
    }
}

void renewer::done(wire::call& c, const wire::outcome& o) {
    auto& r = static_cast<renewal&>(c);
    renewer& self = r.home;
    if (!o.lost()) {
        if (o.refused() && r.count > 1) {
            self.retry_singly(r);
        } else if (o.refused() && r.type->divisible && wire::is_divided(o.reply.text())) {
            self.retry_by_key(r);
        } else {
            self.judge(r, o);
        }
    }
    for (std::uint32_t i = 0; i < r.count; ++i) {
        if (acquisition* a = r.items[i].of) {
            a->renewing = nullptr;
            a->renew_again = false;
            if (r.items[i].lowers && o.lost()) {
                self.holds_.forbid_growth(*a);
            }
            self.check(*a);  // where it belongs now, that may be a connection that nobody used yet
        }
    }
    self.pool_.free(r);
}

void renewer::judge(renewal& r, const wire::outcome& o) {
    for (std::uint32_t i = 0; i < r.count; ++i) {
        acquisition* const a = std::exchange(r.items[i].of, nullptr);
        if (!a) {
            continue;
        }
        a->renewing = nullptr;
        if (o.refused()) {
            failed(*a, o.reply.text(), *o.answered_on);
        } else {
            answered(*a, r.items[i], r, protocol::read_renewal(*r.protocol, o.reply, i),
                     *o.answered_on);
        }
    }
}

void renewer::answered(acquisition& a, const renewal::item& item, const renewal& r,
                       const protocol::renew_answer& answer, wire::link& answered_on) {
    switch (answer.what) {
        case protocol::renew_answer::kind::refused: failed(a, answer.words, answered_on); return;
        case protocol::renew_answer::kind::gone: holds_.lose_missing(a); return;
        case protocol::renew_answer::kind::held:
            if (r.part > 0 && r.part < r.protocol->renew_parts.size()) {
                send_part(r, item, a);
                return;
            }
            // This renewal was to lower the TTL. If the server did not, the next one will try.
            a.overlong = !item.lowers && answer.longer_ms > core::ceil_millis(a.extended_by);
            a.renew_again = a.renew_again || a.overlong;
            renewed(a, r, item.lease, answered_on);
            if (fell_behind(a, r, item, answer)) {
                check_elsewhere(a);
            }
            return;
    }
}

void renewer::renewed(acquisition& a, const renewal& r, duration lease, wire::link& answered_on) {
    a.refused = false;
    if (a.refusal_logged) {
        a.refusal_logged = false;
        env_.telemetry.renewals_accepted(answered_on.target().text());
    }
    if (&answered_on == &a.home.link()) {
        a.was_seen();
    }
    const time_point sent = r.sent();
    if (lease > duration::zero()) {
        count(a, sent);
        if (a.progress && !a.shows_no_progress(sent)) {  // else it got no more than it had
            a.progress->withheld = {};
        }
        holds_.set_deadline(a, sent, lease);
        if (a.spec->replicas()) {
            replicas_.renewed(a, answered_on);
        }
    }
    const bool more = holds_.extended(a, sent, lease);
    if (more || a.renew_again) {
        check(a);
    }
    a.renew_again = false;
    schedule(a);
}

void renewer::count(acquisition& a, time_point sent) noexcept {
    ++a.renewals;
    const duration late = sent - core::after(a.extended, interval(a));
    env_.telemetry.renewed(
        {.name = a.home.name(),
         .number = a.number,
         .late = renews(a) && !a.is_withheld() ? std::max(late, duration{}) : duration{}});
}

void renewer::failed(acquisition& a, std::string_view words, wire::link& answered_on) {
    ++env_.telemetry.counters.renewal_failures;
    if (answered_on.part_refused(words)) {
        a.renew_again = false;
        if (&answered_on != &a.home.link()) {
            check(a);  // else the next connection begins with that
        }
        return;
    }
    a.ask_next_time();
    env_.telemetry.renewal_refused(answered_on.target().text(), a.home.name(), words);
    a.refusal_logged = true;
    const bool passes = wire::classify(words) == wire::refusal::passing;
    a.refused = renews(a) && !passes;
    const duration pause = holds_.not_extended(a, wire::to_errc(words), passes);
    renewals_.set(a, core::after(env_.now, std::min(pause, pause_of(a))));
}

void renewer::check_soon(acquisition& a) {
    a.ask_next_time();
    const time_point at = core::after(env_.now, pause_of(a));
    renewals_.set(a, a.armed() ? std::min(a.at, at) : at);
}

}  // namespace conch::lock
