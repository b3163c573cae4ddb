// SPDX-License-Identifier: BSL-1.0
// What must be true of permits with leases, whatever goes wrong.
#include "sim/permits/simulation.hpp"

#include "protocol/permits.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <limits>
#include <string>

namespace conch::sim::permits {

using kind = permit_call::kind;

simulation::account simulation::look(std::size_t name) {
    const std::string& key = specs_[name]->name();
    const std::int64_t now = server_.wall_clock();
    account a;
    a.set = server_.redis().exists(key, now);
    a.left = server_.redis().number(key, now).value_or(0);
    for (const double ends : server_.redis().scores(protocol::permits_out_key(key), now)) {
        ++(ends <= static_cast<double>(now / 1000) ? a.over : a.out);
    }
    return a;
}

simulation::account simulation::look_at(fleet::process p, std::size_t name) {
    const std::string& key = specs_[name]->name();
    const std::int64_t now = server_.wall_clock();
    account a;
    a.set = server_.redis().exists_at(p, key, now);
    a.left = server_.redis().number_at(p, key, now).value_or(0);
    for (const auto& h : server_.redis().holders_at(p, protocol::permits_out_key(key), now)) {
        ++(h.expires_ms <= now / 1000 ? a.over : a.out);
    }
    return a;
}

std::pair<std::int64_t, std::int64_t> simulation::range(std::size_t name, instant since) const {
    std::pair<std::int64_t, std::int64_t> all{std::numeric_limits<std::int64_t>::max(),
                                              std::numeric_limits<std::int64_t>::min()};
    for (const auto& [of, b] : books_) {
        if (of.first == name) {
            const auto [least, most] = b.range(since);
            all = {std::min(all.first, least), std::max(all.second, most)};
        }
    }
    return all;
}

std::int64_t simulation::deepest(std::size_t name) const {
    std::int64_t all = 0;
    for (const auto& [of, b] : books_) {
        all = std::max(all, of.first == name ? b.owed().deepest() : 0);
    }
    return all;
}

bool simulation::believes(const tenant& t) const {
    return !t.dead() && t.has() && !excused(*t.has()) &&
           t.has()->owns_lock(clients_[t.client()]->local_now());
}

void simulation::judge_limit() {
    for (std::size_t name = 0; name < specs_.size() && !may_lose(); ++name) {
        for (const fleet::process p : places(specs_[name]->name())) {
            const std::int64_t limit = book_at(p, name).limit();
            std::int64_t all = 0;
            for (const tenant* const t : tenants_) {
                const bool here =
                    t->name() == name && believes(*t) && stands_at(*t->has(), place(p));
                all += here ? t->permits() : 0;
            }
            if (all > limit) {
                violate("limit", "tenants believe that they have " + std::to_string(all) + " of " +
                                     std::to_string(limit) + " permits");
            }
        }
    }
}

// While a part of a cluster moves, the keys may be on two masters.
void simulation::judge_conservation(std::size_t name) {
    const bool divided = how_.has(fault::migration) && world_.now() < settled_at_;
    if (may_lose() || divided) {
        return;
    }
    for (const fleet::process p : places(specs_[name]->name())) {
        const account a = how_.has(fault::split_brain) ? look_at(p, name) : look(name);
        book& b = book_at(p, name);
        if (a.set && a.left + a.over + a.out != b.total()) {
            violate("conservation", std::to_string(a.left) + " are left and " +
                                        std::to_string(a.over + a.out) + " are out of " +
                                        std::to_string(b.total()));
        }
        if (a.set && !b.owed().explains(a.left)) {
            violate("conservation", std::to_string(a.left) + " are left");
        }
    }
}

void simulation::judge_rest() {
    judge_meanwhile();
    bool all_drained = true;
    for (const auto& c : clients_) {
        const engine::inventory i = c->engine().belongings();
        if (!c->dead() && i.pending + i.acquisitions + i.levels + i.waiters + i.slots +
                                  i.counter_changes + i.counters !=
                              0) {
            violate("rest", "things are kept for nobody");
        }
        all_drained = all_drained && (c->dead() || !c->closing() || c->drained());
    }
    for (std::size_t name = 0; name < specs_.size(); ++name) {
        const account a = look(name);
        if (a.out != 0 && !how_.has(fault::server_clock)) {
            violate("return", std::to_string(a.out) + " permits are still out");
        }
        const bool may_be_left =
            any_crashed() || !all_drained || may_lose() || how_.has(fault::split_brain);
        if (a.over != 0 && !may_be_left && !how_.has(fault::cancel) && !how_.disconnects() &&
            !how_.refuses()) {
            violate("return", std::to_string(a.over) + " permits were not given back");
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
    if (!c.view) {
        return;
    }
    for (const tenant* const t : tenants_) {
        if (t->client() == c.client && t != c.by && t->asks_now()) {
            const permit_call& other = *t->asks_now();
            if (other.what == kind::acquire && other.permits <= range(c.name, c.asked_at).first &&
                other.name == c.name && other.place < c.place && !other.given_up &&
                (other.completions == 0 || (other.ended_at > c.ended_at && !other.ec))) {
                violate("order", "a waiter of its own client is overtaken");
            }
        }
    }
}

void simulation::judge_outcome(const permit_call& c) {
    const client_node& node = *clients_[c.client];
    const auto need = [&](bool good, const char* why) {
        if (!good) {
            violate("outcomes", std::string{why} + ": " + c.ec.message());
        }
    };
    const auto [least, most] = range(c.name, c.asked_at);
    const duration waited = node.local(c.ended_at) - node.local(c.asked_at);
    if (c.view) {
        need(!c.was_expired, "it has no lease any more");
        need(c.permits <= most || may_lose(), "so many there are not");
    }
    if (c.ec == boost::system::errc::operation_canceled) {
        need(c.given_up, "it was not given up");
    } else if (c.ec == errc::client_closed) {
        need(node.closing(), "the client is open");
    } else if (c.ec == errc::timed_out) {
        need(c.what == kind::acquire && c.wait != forever, "it has no end of its wait");
        need(waited >= c.wait, "it gives up too soon");
    } else if (c.ec == errc::invalid_permits) {
        need(c.permits > least || may_lose(), "there are so many");
    } else if (c.what == kind::unlock || c.what == kind::extend) {
        return;  // of a hold that may be lost
    } else if (c.ec && c.asked_at >= settled_at_ && !how_.is_slow()) {
        // Its wait was over before an answer came, for which it was prolonged.
        need(c.ec == errc::not_connected && c.what == kind::acquire && waited >= c.wait,
             "all is well");
    }
    if (!c.ec && c.what == kind::look && !may_lose()) {
        need(c.result >= -deepest(c.name) && c.result <= std::max<std::int64_t>(most, 0),
             "so many permits there are not");
    }
}

void simulation::judge_promptness() {
    judge_taken();
    for (const tenant* const t : tenants_) {
        const permit_call* const c = t->asks_now();
        if (!c || t->dead() || c->what != kind::acquire || c->completions != 0 ||
            !clients_[t->client()]->running()) {
            continue;
        }
        const bool first = std::none_of(tenants_.begin(), tenants_.end(), [&](const tenant* other) {
            const permit_call* const o = other->asks_now();
            return o && other->client() == t->client() && o->what == kind::acquire &&
                   o->name == c->name && o->completions == 0 && o->place < c->place;
        });
        const account a = look(c->name);
        // Of more than there are it is to be told; if it was to have them, when it asks again.
        const bool too_many = a.left + a.over + a.out < c->permits;
        const bool asks_later = too_many && book_of(c->name).changed_since(c->asked_at);
        const duration poll = asks_later ? how_.settings.max_poll_interval : duration{};
        if (waits_in_vain(*c, first && a.set && (too_many || a.left + a.over >= c->permits),
                          poll.count())) {
            violate("promptness", "permits are left and wanted, or never will be");
        }
    }
}

// In each turn: what is over was told so. In the calm nothing is lost that is renewed.
void simulation::judge_losses(std::uint64_t client) {
    const client_node& node = *clients_[client];
    for (const tenant* const t : tenants_) {
        const held* const h = t->has();
        if (t->client() != client || t->dead() || !h) {
            continue;
        }
        const int why = h->view->lost.load();
        if (why == 0 && node.local_now() >= h->valid_until()) {
            violate("loss", "a lease is over, and nobody was told");
        }
        const bool calm = h->granted_at >= settled_at_ && h->renewed_lease > duration{} &&
                          !stopped_ && !how_.is_slow() && !may_lose() &&
                          how_.net.worst_latency() * 8 < h->renewed_lease.count();
        if (why != 0 && calm && !excused(*h)) {
            violate("loss", "a hold is lost for nothing: " +
                                make_error_code(static_cast<errc>(why)).message());
        }
    }
}

}  // namespace conch::sim::permits
