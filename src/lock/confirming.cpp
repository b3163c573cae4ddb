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
    .after_loss = wire::retry::never,
    .order = wire::priority::normal,
    .is_script = false,
    .answered_by_push = false,
    .encode = &confirmer::encode,
    .done = &confirmer::done,
};

confirmation::confirmation(context& h, wire::link& l, impl::replication t) noexcept
    : wire::call{confirmer::type}, house{h}, link{l}, terms{t} {}

confirmer::~confirmer() {
    for (const auto& c : all_) {
        CONCH_CHECK(c->where == state::idle);
        c->acquires.clear();
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

// One that is waiting, or was written behind it; in place of one that left before, or elsewhere, a
// new one.
confirmation& confirmer::about(const acquisition& a, wire::link& by) {
    confirmation& c = of(by, a.spec->replicas());
    if (c.where == state::idle) {
        submit(c);
    }
    return c;
}

void confirmer::granted(acquisition& a, wire::link& by) {
    about(a, by).acquires.push_back(*a.call);
}

void confirmer::renewed(const acquisition& a, wire::link& by) { ++about(a, by).renewals; }

// The acquires wait as if they had not been answered, and go where their like go.
void confirmer::connection_lost(wire::link& link) {
    for (const auto& c : all_) {
        if (&c->link != &link) {
            continue;
        }
        if (c->where == state::waiting) {
            link.withdraw(*c);
        }
        c->renewals = 0;
        c->again = false;
        while (!c->acquires.empty()) {
            wire::call& last = c->acquires.back();
            c->acquires.pop_back();
            link.repeat(last);
        }
    }
}

// One that nothing was granted for yet would keep a link in use that has nothing else to do.
void confirmer::regrouped() {
    for (const auto& c : all_) {
        leave(*c);
        if (c->where == state::waiting && c->acquires.empty() && c->renewals == 0) {
            c->link.withdraw(*c);
        }
    }
}

// Its lock has another master by now, with replicas of its own. One that was sent on for this once
// is where it was granted, until that is told of its part.
bool confirmer::strays(const confirmation& c, const wire::call& acquire) const {
    const slot& home = owner_of(acquire).home;
    return &home.link() != &c.link && (!acquire.asking || house_.servers.moved(home.hash_slot()));
}

void confirmer::ask_at_home(confirmation& c, wire::call& acquire) {
    c.link.doubt(acquire);
    acquire.asking = false;
    owner_of(acquire).home.link().adopt(acquire);
}

void confirmer::leave(confirmation& c) {
    for (auto it = c.acquires.begin(); it != c.acquires.end();) {
        wire::call& acquire = *it++;
        if (strays(c, acquire)) {
            acquire.unlink();
            ask_at_home(c, acquire);
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
        return;  // `connection_lost()` tends to what it was about
    }
    wire::call_list judged;
    judged.swap(c.acquires);
    const std::uint64_t renewals = std::exchange(c.renewals, 0);
    // First, so that what the verdict leads to finds it waiting.
    if (std::exchange(c.again, false)) {
        submit(c);
    }
    const errc why = verdict(c, o);
    if (why != errc{} && renewals > 0) {
        self.report(c, renewals, o);
    }
    while (!judged.empty()) {
        wire::call& acquire = judged.front();
        judged.pop_front();
        if (self.strays(c, acquire)) {
            ask_at_home(c, acquire);
        } else {
            acquisition& a = owner_of(acquire);
            a.home.confirmed(a, why);
        }
    }
    self.forget_idle();
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
        a.thin = a.thin || (a.spec->replicas() == c.terms && &a.home.link() == &c.link);
    }
}

void confirmer::forget_idle() {
    if (all_.size() > most_kept) {
        std::erase_if(all_,
                      [](const auto& c) { return c->where == state::idle && c->acquires.empty(); });
    }
}

}  // namespace conch::lock
