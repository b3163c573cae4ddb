// SPDX-License-Identifier: BSL-1.0
// What must be true of deadlocks, whatever goes wrong.
#include "sim/deadlocks/simulation.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace conch::sim::deadlocks {
namespace {

/// It began to wait last of all, by the hosts' clocks.
bool is_youngest(const lock_call& w, const cycle& in) {
    return std::all_of(in.waits.begin(), in.waits.end(), [&](const lock_call* other) {
        return other == &w ||
               std::pair{other->began_ms, other->client} <= std::pair{w.began_ms, w.client};
    });
}

}  // namespace

void simulation::judge_alarm(const lock_call& c) {
    graph all;
    for (const lock_call& w : calls_) {
        if (w.asked_at <= c.ended_at && w.waits_until() >= c.asked_at) {
            all.add(w);
        }
    }
    for (const possession& h : holds_) {
        if (h.from <= c.ended_at && h.to >= c.asked_at) {
            all.add(h);
        }
    }
    bool any = false;
    const bool is_victim = all.any_cycle(c, [&](const cycle& y) {
        any = true;
        if (!is_youngest(c, y)) {
            return false;
        }
        deadlock_counts& n = outcome_.deadlocks;
        ++(y.is_local() && c.ended_at == c.asked_at ? n.local : n.between);
        n.of_three += y.waits.size() > 2 ? 1 : 0;
        n.with_readers += y.has_readers() ? 1 : 0;
        return true;
    });
    if (!any) {
        violate("no false alarm", "a job is told of a deadlock, and was in none");
    } else if (!is_victim) {
        violate("one victim", "a job is told of a deadlock, and did not begin to wait last");
    }
}

void simulation::judge_outcome(const lock_call& c) {
    const client_node& node = *clients_[c.client];
    const auto need = [&](bool good, const char* why) {
        if (!good) {
            violate("outcomes", std::string{why} + ": " + c.ec.message());
        }
    };
    if (c.ec == boost::system::errc::operation_canceled) {
        need(c.given_up, "it was not given up");
    } else if (c.ec == errc::client_closed) {
        need(node.closing(), "the client is open");
    } else if (c.ec == errc::timed_out) {
        need(c.wait != forever, "it has no end of its wait");
        need(node.local(c.ended_at) - node.local(c.asked_at) >= c.wait, "it gives up too soon");
    } else if (c.ec && c.ec != errc::deadlock && !c.nests && c.asked_at >= settled_at_ &&
               !how_.is_slow()) {
        need(c.ec == errc::not_connected && c.wait != forever, "all is well");
    }
}

// Of each deadlock that there is, once.
void simulation::judge_told() {
    graph now;
    for (const job* const j : jobs_) {
        if (j->last_call() && j->last_call()->is_open()) {
            now.add(*j->last_call());
        }
        for (const possession* const h : j->has()) {
            if (h->is_open()) {
                now.add(*h);
            }
        }
    }
    std::map<places, instant> before = std::exchange(since_, {});
    for (const job* const j : jobs_) {
        const lock_call* const c = j->last_call();
        if (!c || !c->is_open()) {
            continue;
        }
        now.any_cycle(*c, [&](const cycle& y) {
            places of;
            std::transform(y.waits.begin(), y.waits.end(), std::back_inserter(of),
                           [](const lock_call* w) { return w->place; });
            std::sort(of.begin(), of.end());
            if (of.front() == c->place) {
                const auto known = before.find(of);
                const instant since = known != before.end() ? known->second : y.begin;
                since_.emplace(std::move(of), since);
                const instant from = y.is_local() ? since : std::max(since, settled_at_);
                if (must_be_told(y) && world_.now() - from > time_to_tell(y)) {
                    violate("told",
                            "nobody is told of a deadlock of " + std::to_string(y.waits.size()));
                }
            }
            return false;
        });
    }
}

bool simulation::must_be_told(const cycle& c) const {
    const bool may_be_gone =
        may_lose() &&
        std::any_of(c.holds.begin(), c.holds.end(), [&](auto* h) { return h->from < settled_at_; });
    return c.is_local() || (world_.now() >= settled_at_ && !how_.is_slow() && !may_be_gone);
}

// Two poll intervals, and round trips: to each who waits, and to each holder, in three looks.
instant simulation::time_to_tell(const cycle& c) const {
    if (c.is_local()) {
        return 0;
    }
    instant poll = 0;
    for (const lock_call* const w : c.waits) {
        poll = std::max(poll, clients_[w->client]->settings().max_poll_interval.count());
    }
    std::size_t trips = 4;
    for (const job* const j : jobs_) {
        trips += 3 * (1 + j->has().size());
    }
    return 2 * poll + static_cast<instant>(trips) * 2 * how_.net.worst_latency() + 50 * millis;
}

// Where nothing goes wrong any more, nor did lately, a wait's record goes as soon as it ends. That
// of a process that is gone expires: nobody knows when, if the server's clock was put back.
void simulation::judge_records() {
    const instant kept = std::max(3 * how_.settings.max_poll_interval.count(), 1 * seconds);
    if (how_.is_slow() || how_.has(fault::server_clock) || world_.now() < settled_at_ + kept) {
        return;
    }
    const instant late = 8 * how_.net.worst_latency() + 50 * millis;
    for (const std::string& key : records()) {
        const bool is_of_a_wait = std::any_of(jobs_.begin(), jobs_.end(), [&](const job* j) {
            return std::any_of(holds_.begin(), holds_.end(), [&](const possession& h) {
                return h.by == j && j->last_call()->waits_until() >= world_.now() - late &&
                       key.ends_with(clients_[h.client]->id() + ":" + std::to_string(h.number));
            });
        });
        if (!is_of_a_wait) {
            violate("records", "that of a wait that ended is left: " + key);
        }
    }
}

void simulation::judge_rest() {
    for (const auto& c : clients_) {
        const engine::inventory i = c->engine().belongings();
        if (!c->dead() &&
            i.pending + i.acquisitions + i.levels + i.waiters + i.slots + i.watched_waits != 0) {
            violate("rest", "things are kept for nobody");
        }
    }
    if (!records().empty()) {
        violate("records", "one is left, and nobody waits");
    }
    for (const lock_call& c : calls_) {
        if (c.completions != 1 && !c.by->dead()) {
            violate("outcomes", "a call has ended " + std::to_string(c.completions) + " times");
        }
    }
}

}  // namespace conch::sim::deadlocks
