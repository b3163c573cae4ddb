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
    shortest_ms_ = std::min(shortest_ms_, terms.within_ms);
    return *all_.emplace_back(std::make_unique<confirmation>(house_, link, terms));
}

confirmation* confirmer::on_its_way(const wire::link& link) const noexcept {
    const auto it = std::find_if(all_.begin(), all_.end(), [&](const auto& c) {
        return &c->link == &link && c->where != state::idle;
    });
    return it == all_.end() ? nullptr : it->get();
}

void confirmer::submit(confirmation& c) {
    c.again = false;
    c.link.submit(c);
}

void confirmer::follow(wire::link& link, impl::replication terms) {
    confirmation& c = of(link, terms);
    confirmation* const first = on_its_way(link);
    if (!first) {
        submit(c);
    } else if (first->where == state::written) {
        c.again = true;
    } else {
        link.withdraw(*first);
        submit(*first);  // behind this, too
    }
}

// Whichever is on its way is behind it, as it was not answered before. Else the one that was is
// over, or went elsewhere.
confirmation& confirmer::about(const acquisition& a, wire::link& by) {
    confirmation& c = of(by, a.spec->replicas());
    if (!on_its_way(c.link)) {
        submit(c);
    }
    return c;
}

// Each in its turn: what others ask for meanwhile is behind it in the row.
void confirmer::submit_next(const confirmation& last) {
    const auto asks = [&](const auto& c) {
        return &c->link == &last.link && (c->again || !c->acquires.empty() || c->renewals > 0);
    };
    const auto behind =
        std::find_if(all_.begin(), all_.end(), [&](const auto& c) { return c.get() == &last; }) + 1;
    auto next = std::find_if(behind, all_.end(), asks);
    if (next == all_.end()) {
        next = std::find_if(all_.begin(), behind, asks);
        if (next == behind) {
            return;
        }
    }
    submit(**next);
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
            submit_next(*c);
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

// A renewal that is written behind it must come in time, and it may be that of a shorter lease than
// those that ask by these terms have.
std::chrono::milliseconds confirmer::time_for(const confirmation& c) const {
    std::chrono::milliseconds most{c.terms.within_ms};
    if (c.terms.within_ms <= shortest_ms_) {
        return most;  // no more than a quarter of any lease
    }
    for (const acquisition& a : house_.acquisitions) {
        if (a.want.renew && &a.home.link() == &c.link) {
            most = std::min(most, std::chrono::floor<std::chrono::milliseconds>(a.want.lease / 4));
        }
    }
    return most;
}

void confirmer::encode(wire::call& call, resp::writer& w) {
    auto& c = static_cast<confirmation&>(call);
    c.given_ms = static_cast<std::uint16_t>(c.house.confirming.time_for(c).count());
    w.command(3).arg("WAIT").arg(c.terms.at_least).arg(c.given_ms);
}

// What was answered before this one was written before it, whatever its terms.
wire::call_list confirmer::take_met(const confirmation& c, const wire::outcome& o) {
    wire::call_list met;
    for (const auto& other : all_) {
        if (&other->link == &c.link && verdict(*other, o) == errc{}) {
            met.splice(met.end(), other->acquires);
            other->renewals = 0;
        }
    }
    return met;
}

void confirmer::done(wire::call& call, const wire::outcome& o) {
    auto& c = static_cast<confirmation&>(call);
    confirmer& self = c.house.confirming;
    if (o.lost()) {
        return;  // `connection_lost()` tends to what it was about
    }
    wire::call_list met = self.take_met(c, o);
    wire::call_list failed;
    failed.swap(c.acquires);
    const std::uint64_t renewals = std::exchange(c.renewals, 0);
    // First, so that what the verdict leads to finds it waiting.
    self.submit_next(c);
    if (renewals > 0) {
        self.report(c, renewals, o);
    }
    self.judge(c, met, errc{});
    self.judge(c, failed, verdict(c, o));
    self.forget_idle();
}

void confirmer::judge(confirmation& c, wire::call_list& judged, errc why) {
    while (!judged.empty()) {
        wire::call& acquire = judged.front();
        judged.pop_front();
        if (strays(c, acquire)) {
            ask_at_home(c, acquire);
        } else {
            acquisition& a = owner_of(acquire);
            a.home.confirmed(a, why);
        }
    }
}

void confirmer::report(const confirmation& c, std::uint64_t renewals, const wire::outcome& o) {
    house_.counters.renewals_not_replicated += renewals;
    const std::string acknowledged =
        o.answered() && o.reply.is_integer()
            ? std::to_string(o.reply.integer()) + " of " + std::to_string(c.terms.at_least) +
                  " replicas acknowledged them in " + std::to_string(c.given_ms) + " ms"
            : std::string{o.reply.text()};
    house_.tell("renewals not replicated", std::to_string(renewals), acknowledged);
    // What the replicas have of them may end before the next holder would know.
    for (acquisition& a : house_.acquisitions) {
        a.thin = a.thin || (a.spec->replicas() == c.terms && &a.home.link() == &c.link);
    }
}

void confirmer::forget_idle() {
    if (all_.size() > most_kept) {
        std::erase_if(all_, [](const auto& c) {
            return c->where == state::idle && c->acquires.empty() && c->renewals == 0 && !c->again;
        });
    }
}

}  // namespace conch::lock
