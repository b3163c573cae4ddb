// SPDX-License-Identifier: BSL-1.0
#include "lock/confirming.hpp"

#include "core/check.hpp"
#include "lock/context.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace conch::lock {
namespace {

using state = wire::call::state;

errc verdict(const confirmation& c, const wire::outcome& o) noexcept {
    if (o.refused()) {
        return wire::to_errc(o.reply.text());
    }
    if (!o.reply.is_integer()) {
        return errc::protocol_error;
    }
    return o.reply.integer() >= c.terms.at_least ? errc{} : errc::not_replicated;
}

}  // namespace

// Behind what it is about, as that is of no lower priority.
const wire::call_type confirmer::type{
    .name = "wait",
    .after_loss = wire::retry::replay,
    .order = wire::priority::normal,
    .is_script = false,
    .answered_by_push = false,
    .encode = &confirmer::encode,
    .done = &confirmer::done,
};

confirmation::confirmation(context& h, wire::link& l, impl::replication t) noexcept
    : wire::call{confirmer::type}, house{h}, link{l}, terms{t} {}

// What the server has answered on this connection was written on it. A later call has a greater
// number.
bool confirmation::covers(std::uint64_t of) const noexcept {
    return where == state::waiting || (where == state::written && serial > of);
}

confirmer::~confirmer() {
    for (const auto& c : all_) {
        CONCH_CHECK(c->where == state::idle);
        c->now.acquires.clear();
        c->next.acquires.clear();
    }
}

confirmation& confirmer::of(wire::link& link, impl::replication terms) {
    for (const auto& c : all_) {
        if (&c->link == &link && c->terms == terms) {
            return *c;
        }
    }
    return *all_.emplace_back(std::make_unique<confirmation>(house_, link, terms));
}

void confirmer::submit(confirmation& c) {
    if (c.where == state::waiting) {
        c.link.withdraw(c);
    }
    c.link.submit(c);
}

void confirmer::follow(wire::link& link, impl::replication terms) {
    confirmation& c = of(link, terms);
    if (c.where == state::written) {
        c.again = true;
    } else {
        submit(c);
    }
}

// In place of a WAIT that left before, or never, there will be another.
confirmation::burden& confirmer::burden_of(const acquisition& a, std::uint64_t serial) {
    confirmation& c = of(a.home.link(), a.spec->replicas());
    if (c.covers(serial)) {
        return c.now;
    }
    if (c.where == state::written) {
        c.again = true;
        return c.next;
    }
    submit(c);
    return c.now;
}

void confirmer::granted(acquisition& a) {
    burden_of(a, a.call->serial).acquires.push_back(*a.call);
}

void confirmer::renewed(const acquisition& a, std::uint64_t serial) {
    ++burden_of(a, serial).renewals;
}

void confirmer::connection_ready(wire::link& link) {
    for (const auto& c : all_) {
        if (&c->link != &link) {
            continue;
        }
        wire::call_list again;
        again.splice(again.end(), c->now.acquires);
        again.splice(again.end(), c->next.acquires);
        c->now.renewals = c->next.renewals = 0;
        c->again = false;
        const bool wanted = c->where == state::waiting || !again.empty();
        while (!again.empty()) {
            wire::call& last = again.back();
            again.pop_back();
            link.repeat(last);
        }
        if (wanted) {
            submit(*c);
        }
    }
}

void confirmer::encode(wire::call& c, resp::writer& w) {
    const impl::replication& terms = static_cast<const confirmation&>(c).terms;
    w.command(3).arg("WAIT").arg(terms.at_least).arg(terms.within_ms);
}

void confirmer::done(wire::call& call, const wire::outcome& o) {
    auto& c = static_cast<confirmation&>(call);
    confirmer& self = c.house.confirming;
    if (o.lost()) {
        return;  // closed
    }
    confirmation::burden judged;
    judged.acquires.swap(c.now.acquires);
    judged.renewals = std::exchange(c.now.renewals, 0);
    c.now.acquires.swap(c.next.acquires);
    c.now.renewals = std::exchange(c.next.renewals, 0);
    // First, so that what the verdict leads to finds it waiting.
    if (std::exchange(c.again, false)) {
        submit(c);
    }
    self.judge(c, judged, o);
    self.forget_idle();
}

void confirmer::judge(const confirmation& c, confirmation::burden& judged, const wire::outcome& o) {
    const errc why = verdict(c, o);
    if (why != errc{} && judged.renewals > 0) {
        report(c, judged.renewals, o);
    }
    while (!judged.acquires.empty()) {
        acquisition& a = owner_of(judged.acquires.front());
        judged.acquires.pop_front();
        a.home.confirmed(a, why);
    }
}

void confirmer::report(const confirmation& c, std::uint64_t renewals, const wire::outcome& o) {
    house_.counters.renewals_not_replicated += renewals;
    const std::string acknowledged =
        o.answered() && o.reply.is_integer()
            ? std::to_string(o.reply.integer()) + " of " + std::to_string(c.terms.at_least) +
                  " replicas acknowledged them in " + std::to_string(c.terms.within_ms) + " ms"
            : std::string{o.reply.text()};
    house_.log(log_level::warning, "renewals not replicated: ", std::to_string(renewals), ": ",
               acknowledged);
    // What the replicas have of them may end before the next holder would know.
    for (acquisition& a : house_.acquisitions) {
        a.thin = a.thin || a.spec->replicas() == c.terms;
    }
}

void confirmer::forget_idle() {
    if (all_.size() > most_kept) {
        std::erase_if(all_, [](const auto& c) {
            return c->where == state::idle && c->now.empty() && c->next.empty();
        });
    }
}

}  // namespace conch::lock
