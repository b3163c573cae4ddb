// SPDX-License-Identifier: BSL-1.0
#include "wait/counter_change.hpp"

#include "protocol/permits.hpp"
#include "wait/counter.hpp"
#include "wait/counters.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <chrono>

namespace conch::lock {
namespace {

constexpr duration pause_after_refusal = std::chrono::seconds{1};

protocol::count_change change_of(counter_change::kind k) noexcept {
    using kind = counter_change::kind;
    switch (k) {
        case kind::set: return protocol::count_change::set;
        case kind::try_set: return protocol::count_change::try_set;
        case kind::drain: return protocol::count_change::drain;
        case kind::arm: return protocol::count_change::arm;
        case kind::count_down: return protocol::count_change::count_down;
        case kind::add:
        case kind::look:
        case kind::look_out:
        case kind::look_total: break;
    }
    return protocol::count_change::add;
}

}  // namespace

const wire::call_type counter_change::change_type{
    .name = "change permits",
    .after_loss = wire::retry::replay,
    .order = wire::priority::normal,
    .kind = wire::call_kind::script,
    .encode = &counter_change::encode,
    .done = &counter_change::done,
};

const wire::call_type counter_change::look_type{
    .name = "available permits",
    .after_loss = wire::retry::replay,
    .order = wire::priority::normal,
    .encode =
        [](wire::call& c, resp::writer& w) {
            protocol::encode_available(*static_cast<counter_change&>(c).of.spec, w);
        },
    .done = &counter_change::looked,
};

const wire::call_type counter_change::look_leased_type{
    .name = "count permits",
    .after_loss = wire::retry::replay,
    .order = wire::priority::normal,
    .kind = wire::call_kind::script,
    .encode =
        [](wire::call& c, resp::writer& w) {
            protocol::encode_count_permits(c, static_cast<counter_change&>(c).of.spec->name(), w);
        },
    .done = &counter_change::looked,
};

const wire::call_type& counter_change::type_for(kind k, const counter& s) noexcept {
    if (k < kind::look) {
        return change_type;
    }
    return s.spec->what() == impl::count_spec::kind::permits ? look_leased_type : look_type;
}

const pending_kind counter_change::own_kind{.cancel = [](completions&, pending& p, error_code why) {
    static_cast<counter_change&>(p).leave(why);
}};

counter_change::counter_change(caller c, counter& s, kind k, std::int64_t permits,
                               std::int64_t* result)
    : pending{own_kind, c},
      wire::call{type_for(k, s)},
      of{s},
      kind_{k},
      permits_{permits},
      number_{s.all.next_number()},
      result_{result},
      patience_{this, &counter_change::on_overdue} {
    ++of.changes;
}

counter_change::~counter_change() {
    --of.changes;
    of.all.env.timers.cancel(patience_);
}

void counter_change::begin() {
    core::environment& env = of.all.env;
    env.timers.set(patience_, core::after(env.now, of.all.patience()));
    if (completed()) {
        told_at_ = env.now;
    }
    of.all.servers.submit(*this, of.spec->hash_slot());
}

void counter_change::encode(wire::call& c, resp::writer& w) {
    auto& p = static_cast<counter_change&>(c);
    protocol::encode_change(c, *p.of.spec, {p.of.all.request_prefix, p.number_}, p.wanted(),
                            change_of(p.kind_), p.permits_, p.of.all.servers.sharded(), w);
}

void counter_change::done(wire::call& c, const wire::outcome& o) {
    auto& p = static_cast<counter_change&>(c);
    if (o.answered()) {
        p.answered(o.reply);
    } else if (o.refused() && p.goes_on() && (p.completed() || c.history.in_doubt())) {
        p.of.all.done.complete(p, p.why_in_doubt(wire::to_errc(o.reply.text())));
        p.result_ = nullptr;
        p.told_at_ = std::min(p.told_at_, p.of.all.env.now);
        p.retry_later();
    } else if (c.history.in_doubt()) {
        if (p.unsettled()) {
            p.of.all.lost(*p.of.spec);
        }
        p.end(errc::outcome_unknown);
    } else {
        p.end(o.lost() ? errc::not_connected : wire::to_errc(o.reply.text()));
    }
}

// What nobody heard of, when it was drained, comes back: the caller has nothing.
error_code counter_change::why_in_doubt(error_code why) const noexcept {
    return kind_ == kind::drain || kind_ >= kind::look ? why : errc::outcome_unknown;
}

void counter_change::answered(const resp::value& reply) {
    const auto answer = protocol::read_change(reply);
    if (!answer) {
        end(errc::protocol_error);
        return;
    }
    using answer_kind = protocol::change_answer::kind;
    const bool is_done = answer->what == answer_kind::done;
    if (kind_ == kind::drain) {
        if (result_) {
            *result_ = answer->before;
        } else if (is_done && answer->before != 0) {
            of.all.give_back(of, answer->before);
        }
    } else if (is_done && (kind_ != kind::count_down || answer->before <= permits_)) {
        of.changed();
    }
    end(answer->what == answer_kind::too_many ? errc::invalid_permits : error_code{}, is_done);
}

void counter_change::looked(wire::call& c, const wire::outcome& o) {
    auto& p = static_cast<counter_change&>(c);
    if (!o.answered()) {
        p.end(o.lost() ? errc::not_connected : wire::to_errc(o.reply.text()));
        return;
    }
    const auto permits = p.read_look(o.reply);
    if (p.result_ && permits) {
        *p.result_ = *permits;
    }
    p.end(permits ? error_code{} : errc::wrong_type);
}

std::optional<std::int64_t> counter_change::read_look(const resp::value& reply) const {
    if (type != &look_leased_type) {
        return protocol::read_available(reply);
    }
    const auto counts = protocol::read_permit_counts(reply);
    if (!counts) {
        return std::nullopt;
    }
    return kind_ == kind::look_out     ? counts->out
           : kind_ == kind::look_total ? counts->left + counts->out
                                       : counts->left;
}

void counter_change::end(error_code why, bool is_done) {
    of.all.done.complete(*this, why, {}, impl::done_if(is_done));
    of.all.ended(*this);
}

bool counter_change::goes_on() const noexcept {
    return is_owed() || (kind_ == kind::drain && first_copy() != core::never);
}

time_point counter_change::first_copy() const noexcept {
    return history.copies > 0 ? std::min(first_copy_, history.first_sent) : first_copy_;
}

// A copy that came later might find the request key gone, and do it once more. What was never
// written has as much time, or it would count in another round of a latch.
time_point counter_change::repeated_until() const noexcept {
    return core::after(std::min(first_copy(), told_at_), duration{protocol::request_repeated});
}

// A server without memory, or one that an administrator forbids this, may allow it later.
void counter_change::retry_later() {
    first_copy_ = history.in_doubt() ? first_copy() : first_copy_;
    core::environment& env = of.all.env;
    env.timers.set(patience_, core::after(env.now, pause_after_refusal));
}

void counter_change::leave(error_code why) {
    result_ = nullptr;
    told_at_ = std::min(told_at_, of.all.env.now);
    of.all.done.complete(*this, why);
    if (goes_on()) {
        of.all.env.timers.set(patience_, repeated_until());
    } else {
        stop();
    }
}

// Who may ask again must know that nothing comes of this any more; else the outcome is unknown.
void counter_change::fail(error_code why) {
    if (first_copy() != core::never) {
        leave(why_in_doubt(why));
        return;
    }
    of.all.done.complete(*this, why);
    stop();
}

void counter_change::stop() {
    of.all.env.timers.cancel(patience_);
    if (where == state::written || abandoned()) {
        abandon();
        return;
    }
    if (where == state::waiting) {
        of.all.servers.withdraw(*this);
    }
    of.all.ended(*this);
}

void counter_change::on_overdue(void* self) {
    auto& p = *static_cast<counter_change*>(self);
    core::environment& env = p.of.all.env;
    if (!p.completed()) {
        p.fail(p.of.link().why_unanswered(p));
        return;
    }
    const time_point over = p.repeated_until();
    if (over <= env.now) {
        p.of.all.lost(*p.of.spec);
        p.stop();
        return;
    }
    env.timers.set(p.patience_, over);
    if (p.where == state::idle) {
        p.of.all.servers.submit(p, p.of.spec->hash_slot());
    }
}

}  // namespace conch::lock
