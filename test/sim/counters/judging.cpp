// SPDX-License-Identifier: BSL-1.0
// What must be true of semaphores, whatever goes wrong.
#include "sim/counters/simulation.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <string>

namespace conch::sim::counters {

using kind = permit_call::kind;

std::int64_t simulation::left(std::size_t name) {
    return server_.redis().number(specs_[name]->name(), server_.wall_clock()).value_or(0);
}

std::int64_t simulation::left_at(fleet::process p, std::size_t name) {
    return server_.redis().number_at(p, specs_[name]->name(), server_.wall_clock()).value_or(0);
}

// While a part of a cluster moves, the key is at one of two.
std::int64_t simulation::left_anywhere(std::size_t name) {
    const auto all = places(specs_[name]->name());
    return left(name) + (all.size() > 1 ? left_at(all[1], name) : 0);
}

std::int64_t simulation::lowest(std::size_t name) {
    const auto all = places(specs_[name]->name());
    return all.size() > 1 ? std::min(left(name), left_at(all[1], name)) : left(name);
}

// Those who died keep what they had: there is nobody to give it back.
std::int64_t simulation::taken(std::size_t name) const {
    std::int64_t all = 0;
    for (const taker* const t : takers_) {
        all += t->name() == name ? t->has() : 0;
    }
    return all;
}

void simulation::judge_most() {
    for (std::size_t name = 0; !is_latch(name) && !may_lose(); ++name) {
        const std::int64_t all = left_anywhere(name) + taken(name);
        tally& t = tallies_[name];
        if (all > t.total || !t.owed.explains(lowest(name))) {
            violate("conservation", std::to_string(left_anywhere(name)) +
                                        " permits are left, and " + std::to_string(taken(name)) +
                                        " are taken, of " + std::to_string(t.total));
        }
    }
    judge_latch();
}

void simulation::judge_rest() {
    std::int64_t in_doubt = 0;  // so many changes
    for (const auto& c : clients_) {
        in_doubt += static_cast<std::int64_t>(c->engine().counters().permits_in_doubt);
        const engine::inventory i = c->engine().belongings();
        if (!c->dead() && i.pending + i.permit_requests + i.counter_changes + i.counters != 0) {
            violate("rest", "things are kept for nobody");
        }
        if (!c->dead() && c->closing() && !c->drained()) {
            ++in_doubt;
        }
    }
    for (std::size_t name = 0; name < specs_.size() && !may_lose() && !any_crashed(); ++name) {
        if (is_latch(name)) {
            const std::int64_t lost = left(name) - tickets_ - taken(name);
            if (lost > tallies_[name].unknown + in_doubt * total_) {
                violate("conservation", std::to_string(lost) + " were not counted down");
            }
            continue;
        }
        const bool set = server_.redis().exists(specs_[name]->name(), server_.wall_clock());
        const std::int64_t all = left(name) + taken(name);
        const tally& t = tallies_[name];
        if (set && all + t.unknown + in_doubt * t.peak < t.total) {
            violate("conservation", std::to_string(t.total - all) + " permits are lost of " +
                                        std::string{specs_[name]->name()});
        }
    }
    for (const permit_call& c : calls_) {
        if (c.completions != 1 && !c.by->dead()) {
            violate("outcomes", "a call has ended " + std::to_string(c.completions) + " times");
        }
    }
}

// Whoever waits in front, of the same client, has it first.
void simulation::judge_order(const permit_call& c) {
    const bool took = !c.ec && (c.what == kind::acquire ||
                                (c.what == kind::try_acquire && c.said == impl::remark::done));
    if (!took || is_latch(c.name)) {
        return;
    }
    for (const taker* const t : takers_) {
        if (t->client() == c.client && t != c.by && t->asks_now()) {
            const permit_call& other = *t->asks_now();
            if (other.what == kind::acquire && other.name == c.name && other.place < c.place &&
                (other.completions == 0 || (other.ended_at > c.ended_at && !other.ec))) {
                violate("order", "a waiter of its own client is overtaken");
            }
        }
    }
}

void simulation::judge_outcome(const permit_call& c) {
    const auto need = [&](bool good, const char* why) {
        if (!good) {
            violate("outcomes", std::string{why} + ": " + c.ec.message());
        }
    };
    if (c.ec == boost::system::errc::operation_canceled) {
        need(c.given_up, "it was not given up");
    } else if (c.ec == errc::client_closed) {
        need(clients_[c.client]->closing(), "the client is open");
    } else if (c.ec == errc::timed_out) {
        const client_node& node = *clients_[c.client];
        need(c.what == kind::acquire && c.wait != forever, "it has no end of its wait");
        need(node.local(c.ended_at) - node.local(c.asked_at) >= c.wait, "it gives up too soon");
    } else if (c.ec && c.asked_at >= settled_at_ && !how_.is_slow()) {
        // Its wait was over before an answer came, for which it was prolonged.
        const client_node& node = *clients_[c.client];
        need(c.ec == errc::not_connected && c.what == kind::acquire &&
                 node.local(c.ended_at) - node.local(c.asked_at) >= c.wait,
             "all is well");
    }
    if (!c.ec && c.what == kind::look && !may_lose()) {
        const tally& t = tallies_[c.name];
        // Where fewer than none are left at one of two, the other may have more than all.
        const std::int64_t apart = how_.has(fault::split_brain) ? t.owed.deepest() : 0;
        const std::int64_t most = is_latch(c.name) ? most_tickets() : t.peak + apart;
        need(c.result >= -t.owed.deepest() && c.result <= most, "so many permits there are not");
    }
    if (!c.ec && c.what == kind::acquire && is_latch(c.name) && !may_lose() && !latch_is_torn()) {
        need(count_ <= 0 || set_at_ >= c.asked_at, "the latch was not open");
    }
}

void simulation::judge_promptness() {
    for (const taker* const t : takers_) {
        const permit_call* const c = t->asks_now();
        if (!c || t->dead() || c->what != kind::acquire || c->completions != 0 ||
            !clients_[t->client()]->running()) {
            continue;
        }
        if (is_latch(c->name)) {
            if (has_waited_in_vain(*c)) {
                violate("promptness", "a latch opened, and somebody waits on");
            }
            continue;
        }
        const bool first = std::none_of(takers_.begin(), takers_.end(), [&](const taker* other) {
            const permit_call* const o = other->asks_now();
            return o && other->client() == t->client() && o->what == kind::acquire &&
                   o->name == c->name && o->completions == 0 && o->place < c->place;
        });
        if (waits_in_vain(*c, first && left(c->name) >= c->permits)) {
            violate("promptness", "permits are left, and wanted");
        }
    }
}

}  // namespace conch::sim::counters
