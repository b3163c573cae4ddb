// SPDX-License-Identifier: BSL-1.0
#include "sim/deadlocks/simulation.hpp"

#include "protocol/lock_protocol.hpp"

#include <algorithm>
#include <chrono>

namespace conch::sim::deadlocks {
namespace {

using namespace std::chrono_literals;

constexpr duration in_2027 = std::chrono::hours{24 * 365 * 57};

void narrow(scenario& s, dice& chance) {
    s.settings.default_renew = true;
    s.longest_lease = std::clamp<duration>(s.longest_lease, 1s, 10s);
    s.settings.max_poll_interval = duration{chance.spread(60 * millis, 3 * seconds)};
    s.clients = 2 + chance.below(4);
    s.users = chance.below(3);
    s.think = chance.spread(5 * millis, 150 * millis);
    const auto let = [&](fault f) { s.faults[static_cast<std::size_t>(f)] = chance.once_in(2); };
    if (chance.once_in(6)) {
        s.faults.reset();
    } else if (chance.once_in(2)) {
        // What was told last is late, or lost.
        s.faults.reset();
        s.chaos = chance.between(3, 10) * seconds;
        s.fault_pause = chance.spread(20 * millis, 500 * millis);
        for (const fault f : {fault::reset_before, fault::reset_after, fault::silent_cut,
                              fault::clog_up, fault::straggle, fault::partition, fault::failover,
                              fault::role_swap, fault::pause, fault::read_only, fault::no_kill}) {
            let(f);
        }
        if (chance.once_in(2)) {  // and looks are as long as the pauses between them
            s.settings.max_poll_interval = duration{chance.spread(60 * millis, 200 * millis)};
            s.net.latency = chance.spread(1 * millis, 5 * millis);
            s.net.jitter = chance.between(0, s.net.latency);
        }
    }
    let(fault::cancel);
    s.calm = 4 * s.settings.max_poll_interval.count() + chance.between(1, 3) * seconds;
}

}  // namespace

simulation::simulation(std::uint64_t seed, bool print)
    : stage{seed, print, deployment::deadlocks, &narrow},
      clocks_differ_{world_.chance.once_in(2)},
      forgets_records_{world_.chance.once_in(3)},
      hasty_{world_.chance.once_in(2)},
      some_do_not_look_{world_.chance.once_in(3)} {
    make_locks();
    set_up();
    step_wall_clock(0, 0);
    forget_a_record(0, 0);
}

// The engines know the calls.
simulation::~simulation() { clients_.clear(); }

void simulation::make_locks() {
    const std::size_t some = 2 + world_.chance.below(4);
    const bool all_mutexes = world_.chance.once_in(3);
    for (std::size_t i = 0; i < some; ++i) {
        const std::string name = "lock:" + std::to_string(i);
        const auto make = [&](const protocol::lock_protocol& p) {
            return impl::lock_spec::make(p, name, {.fenced = false});
        };
        switch (all_mutexes ? 0 : world_.chance.below(6)) {
            case 1: locks_.push_back({make(protocol::fair_protocol)}); break;
            case 2: locks_.push_back({make(protocol::value_lock_protocol)}); break;
            case 3:
            case 4:
                locks_.push_back(
                    {make(protocol::shared_write_protocol), make(protocol::shared_read_protocol)});
                break;
            default: locks_.push_back({make(protocol::mutex_protocol)}); break;
        }
    }
}

std::string simulation::channel(std::size_t name) const {
    return locks_[name].usual->channel().text();
}

std::uint16_t simulation::hash_slot(std::size_t name) const {
    return locks_[name].usual->hash_slot();
}

config simulation::settings_for(std::uint64_t client) {
    config c = how_.settings;
    const instant poll = c.max_poll_interval.count();
    c.max_poll_interval = duration{world_.chance.between(poll / 4, poll)};
    c.deadlock_detection = !(some_do_not_look_ && world_.chance.once_in(3));
    c.client_name = "client-" + std::to_string(client);
    return c;
}

void simulation::began(client_node& c) {
    wall_clocks_.push_back(any_wall_clock(c));
    c.engine().set_wall_clock(wall_clocks_.back());
}

duration simulation::any_wall_clock(const client_node& c) {
    const instant wrong = 10 * seconds;
    const duration skew{clocks_differ_ ? world_.chance.between(-wrong, wrong) : 0};
    return in_2027 + duration{world_.now()} - c.local_now().time_since_epoch() + skew;
}

bool simulation::asks_for_nothing(std::uint64_t client) const {
    return std::none_of(jobs_.begin(), jobs_.end(), [&](const job* j) {
        return j->client() == client && j->last_call() && j->last_call()->is_open();
    });
}

// So the same clock tells when each of its waits began.
void simulation::step_wall_clock(std::uint64_t, std::uint64_t) {
    const std::uint64_t client = world_.chance.below(clients_.size());
    client_node& c = *clients_[client];
    if (!c.dead() && clocks_differ_ && asks_for_nothing(client)) {
        wall_clocks_[client] = any_wall_clock(c);
        c.engine().set_wall_clock(wall_clocks_[client]);
    }
    if (!stopped_) {
        world_.plan<&simulation::step_wall_clock>(
            world_.now() + world_.chance.spread(10 * millis, 2 * seconds), this);
    }
}

std::vector<std::string> simulation::records() {
    std::vector<std::string> all;
    const fleet& processes = server_.redis().processes();
    for (std::size_t shard = 0; shard < processes.shards(); ++shard) {
        for (const std::string& key :
             server_.redis().keys_at(processes.master(shard), server_.wall_clock())) {
            if (key.starts_with("conch_wait:")) {
                all.push_back(key);
            }
        }
    }
    return all;
}

void simulation::forget_a_record(std::uint64_t, std::uint64_t) {
    const std::vector<std::string> all = records();
    if (forgets_records_ && !all.empty()) {
        world_.note("forget a record");
        server_.redis().remove(all[world_.chance.below(all.size())], server_.wall_clock());
    }
    if (world_.now() < how_.chaos) {
        world_.plan<&simulation::forget_a_record>(
            world_.now() + world_.chance.spread(10 * millis, 1 * seconds), this);
    }
}

std::unique_ptr<counters::actor> simulation::make_actor(std::uint64_t client, std::uint64_t seed) {
    auto one = std::make_unique<job>(*this, client, seed);
    jobs_.push_back(one.get());
    return one;
}

lock_call& simulation::begin(job& by, bool shared, const lock_options& o) {
    lock_call& c = calls_.emplace_back();
    stage::begin(c, calls_.size() - 1, by, 0);
    c.shared = shared;
    c.options = o;
    c.nests = std::any_of(by.has().begin(), by.has().end(),
                          [&](const possession* h) { return h->name == c.name; });
    c.wait = o.wait.value_or(forever);
    c.is_eligible = looks(by.client()) && o.owner && c.wait > duration{};
    const duration wall =
        clients_[by.client()]->local_now().time_since_epoch() + wall_clocks_[by.client()];
    c.began_ms = std::chrono::duration_cast<std::chrono::milliseconds>(wall).count();
    return c;
}

possession& simulation::granted(const lock_call& c) {
    ++outcome_.grants;
    possession& h = holds_.emplace_back();
    h.by = c.by;
    h.client = c.client;
    h.name = c.name;
    h.shared = c.shared;
    h.is_eligible = looks(c.client) && c.options.owner && c.options.renew.value_or(true) &&
                    c.options.max_hold == forever && c.options.progress_within == duration{};
    h.view = c.view;
    h.number = c.number;
    h.from = c.ended_at;
    for (const possession* const outer : static_cast<job*>(c.by)->has()) {
        if (outer->name == h.name && outer->number == h.number) {
            h.is_eligible = outer->is_eligible;
        }
    }
    return h;
}

void simulation::gone(possession& h) noexcept { h.to = std::min(h.to, world_.now()); }

void simulation::ended(std::uint64_t, call& of) {
    auto& c = static_cast<lock_call&>(of);
    world_.note("ended", c.client, static_cast<std::uint64_t>(c.ec.value()) * 2 + (c.view ? 1 : 0));
    judge_outcome(c);
    if (c.ec == errc::deadlock) {
        judge_alarm(c);
    }
    static_cast<job*>(c.by)->ended(c);
}

void simulation::turned(std::uint64_t client) {
    for (const job* const j : jobs_) {
        for (possession* const h : j->has()) {
            if (h->client == client && h->is_open() && h->view->lost.load() != 0) {
                gone(*h);
                ++outcome_.losses;
            }
        }
    }
}

void simulation::judge_meanwhile() {
    judge_told();
    constexpr std::uint64_t seldom = 16;
    if (++inspections_ % seldom == 0) {
        judge_records();
    }
}

}  // namespace conch::sim::deadlocks
