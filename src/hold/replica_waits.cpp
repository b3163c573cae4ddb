// SPDX-License-Identifier: BSL-1.0
#include "hold/replica_waits.hpp"

#include "core/check.hpp"
#include "hold/holds.hpp"
#include "protocol/replica_count.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace conch::lock {
namespace {

using state = wire::call::state;

errc verdict(const replica_wait& c, const wire::outcome& o) noexcept {
    if (o.refused()) {
        return wire::to_errc(o.reply.text());
    }
    const auto count = protocol::read_replica_count(o.reply);
    if (!count) {
        return errc::protocol_error;
    }
    return *count >= c.replicas.at_least ? errc{} : errc::not_replicated;
}

}  // namespace

// Behind what it is about, as that is of no lower priority.
const wire::call_type replica_waits::type{
    .name = "wait",
    .after_loss = wire::retry::never,
    .order = wire::priority::normal,
    .encode = &replica_waits::encode,
    .done = &replica_waits::done,
};

replica_wait::replica_wait(replica_waits& h, wire::link& l, impl::replication t) noexcept
    : wire::call{replica_waits::type}, home{h}, link{l}, replicas{t} {}

replica_waits::~replica_waits() {
    for (const auto& c : all_) {
        CONCH_CHECK(c->where == state::idle);
        c->acquires.clear();
    }
}

replica_wait& replica_waits::of(wire::link& link, impl::replication replicas) {
    for (const auto& c : all_) {
        if (&c->link == &link && c->replicas == replicas) {
            return *c;
        }
    }
    shortest_ms_ = std::min(shortest_ms_, replicas.within_ms);
    return *all_.emplace_back(std::make_unique<replica_wait>(*this, link, replicas));
}

replica_wait* replica_waits::on_its_way(const wire::link& link) const noexcept {
    const auto it = std::find_if(all_.begin(), all_.end(), [&](const auto& c) {
        return &c->link == &link && c->where != state::idle;
    });
    return it == all_.end() ? nullptr : it->get();
}

void replica_waits::submit(replica_wait& c) {
    c.ask_again = false;
    c.link.submit(c);
}

void replica_waits::follow(wire::link& link, impl::replication replicas) {
    replica_wait& c = of(link, replicas);
    replica_wait* const first = on_its_way(link);
    if (!first) {
        submit(c);
    } else if (first->where == state::written) {
        c.ask_again = true;
    } else {
        link.withdraw(*first);
        submit(*first);  // behind this, too
    }
}

// A WAIT on its way was written after what this acquisition wrote. If there is none, one is sent.
replica_wait& replica_waits::about(const acquisition& a, wire::link& answered_on) {
    replica_wait& c = of(answered_on, a.spec->replicas());
    if (!on_its_way(c.link)) {
        submit(c);
    }
    return c;
}

// Each in its turn: what others ask for meanwhile is behind it in the row.
void replica_waits::submit_next(const replica_wait& last) {
    const auto asks = [&](const auto& c) {
        return &c->link == &last.link && (c->ask_again || !c->acquires.empty() || c->renewals > 0);
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

void replica_waits::granted(acquisition& a, wire::link& answered_on) {
    about(a, answered_on).acquires.push_back(*a.acquiring);
}

void replica_waits::renewed(const acquisition& a, wire::link& answered_on) {
    ++about(a, answered_on).renewals;
}

// The acquires wait as if they had not been answered, and go where their like go.
void replica_waits::connection_lost(wire::link& link) {
    for (const auto& c : all_) {
        if (&c->link != &link) {
            continue;
        }
        if (c->where == state::waiting) {
            link.withdraw(*c);
        }
        c->renewals = 0;
        c->ask_again = false;
        while (!c->acquires.empty()) {
            wire::call& last = c->acquires.back();
            c->acquires.pop_back();
            link.repeat(last);
        }
    }
}

// One that nothing was granted for yet would keep a link in use that has nothing else to do.
void replica_waits::regrouped() {
    for (const auto& c : all_) {
        leave(*c);
        if (c->where == state::waiting && c->acquires.empty() && c->renewals == 0) {
            c->link.withdraw(*c);
            submit_next(*c);
        }
    }
}

// Its lock has another master by now, with replicas of its own. An acquire that was sent on by ASK
// is where it was granted, until the cluster tells that its hash slot moved.
bool replica_waits::strays(const replica_wait& c, const wire::call& acquire) const {
    const lock_name& home = attempt_of(acquire).of.home;
    return &home.link() != &c.link && (!acquire.asks() || servers_.moved(home.hash_slot()));
}

void replica_waits::ask_at_home(replica_wait& c, wire::call& acquire) {
    c.link.doubt(acquire);
    acquire.ask = wire::call::asking::no;
    attempt_of(acquire).of.home.link().adopt(acquire);
}

void replica_waits::leave(replica_wait& c) {
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
std::chrono::milliseconds replica_waits::time_for(const replica_wait& c) const {
    std::chrono::milliseconds most{c.replicas.within_ms};
    if (c.replicas.within_ms <= shortest_ms_) {
        return most;  // no more than a quarter of any lease
    }
    names_.for_each_acquisition([&](const acquisition& a) {
        if (a.terms.renew && &a.home.link() == &c.link) {
            most = std::min(most, std::chrono::floor<std::chrono::milliseconds>(a.terms.lease / 4));
        }
    });
    return most;
}

void replica_waits::encode(wire::call& call, resp::writer& w) {
    auto& c = static_cast<replica_wait&>(call);
    c.given_ms = static_cast<std::uint16_t>(c.home.time_for(c).count());
    protocol::encode_replica_count(c.replicas.at_least, c.given_ms, w);
}

// What was answered before this one was written before it, whatever its terms.
wire::call_list replica_waits::take_met(const replica_wait& c, const wire::outcome& o) {
    wire::call_list met;
    for (const auto& other : all_) {
        if (&other->link == &c.link && verdict(*other, o) == errc{}) {
            met.splice(met.end(), other->acquires);
            other->renewals = 0;
        }
    }
    return met;
}

void replica_waits::done(wire::call& call, const wire::outcome& o) {
    auto& c = static_cast<replica_wait&>(call);
    replica_waits& self = c.home;
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

void replica_waits::judge(replica_wait& c, wire::call_list& judged, errc why) {
    while (!judged.empty()) {
        wire::call& acquire = judged.front();
        judged.pop_front();
        if (strays(c, acquire)) {
            ask_at_home(c, acquire);
        } else {
            events_.confirmed(attempt_of(acquire).of, why);
        }
    }
}

void replica_waits::report(const replica_wait& c, std::uint64_t renewals, const wire::outcome& o) {
    env_.telemetry.counters.renewals_not_replicated += renewals;
    const auto count = o.answered() ? protocol::read_replica_count(o.reply) : std::nullopt;
    const std::string acknowledged =
        count ? std::to_string(*count) + " of " + std::to_string(c.replicas.at_least) +
                    " replicas acknowledged them in " + std::to_string(c.given_ms) + " ms"
              : std::string{o.reply.text()};
    env_.telemetry.warn("renewals not replicated", std::to_string(renewals), acknowledged);
    // What the replicas have of them may end before the next holder would know.
    names_.for_each_acquisition([&](acquisition& a) {
        a.under_replicated =
            a.under_replicated || (a.spec->replicas() == c.replicas && &a.home.link() == &c.link);
    });
}

void replica_waits::forget_idle() {
    if (all_.size() > most_kept) {
        std::erase_if(all_, [](const auto& c) {
            return c->where == state::idle && c->acquires.empty() && c->renewals == 0 &&
                   !c->ask_again;
        });
    }
}

}  // namespace conch::lock
