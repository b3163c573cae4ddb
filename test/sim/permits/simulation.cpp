// SPDX-License-Identifier: BSL-1.0
#include "sim/permits/simulation.hpp"

#include "protocol/lock_protocol.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace conch::sim::permits {
namespace {

constexpr std::size_t most_violations = 8;
/// Some hundred times as many as usual: a client that spins.
constexpr std::uint64_t most_events = 4'000'000;
/// Between two looks at what goes on by itself.
constexpr instant inspection = 5 * millis;

deployment any_deployment(std::uint64_t seed) {
    constexpr deployment all[] = {deployment::alone, deployment::alone, deployment::sentinel,
                                  deployment::cluster};
    return all[seed % 4];
}

// What is not known here stays away; and where the server may forget, little can be judged.
scenario scenario_of(dice& chance, std::uint64_t seed) {
    scenario s{chance, dice{~seed}, any_deployment(seed)};
    const bool forgets = chance.once_in(6);
    for (std::size_t i = 0; i < fault_count; ++i) {
        const fault f = static_cast<fault>(i);
        const bool loses =
            f == fault::restart_empty || f == fault::failover || f == fault::server_clock;
        s.faults[i] = s.faults[i] && counters::knows(f) && (forgets || !loses);
    }
    s.faults[static_cast<std::size_t>(fault::cancel)] = !chance.once_in(4);
    s.settings.max_pending = 100'000;
    s.settings.default_renew = true;
    s.longest_lease = std::min<duration>(s.longest_lease, std::chrono::seconds{10});
    s.think = std::max(s.think, 20 * millis);
    s.chaos = std::min(s.chaos, 6 * seconds);
    return s;
}

}  // namespace

simulation::simulation(std::uint64_t seed, bool print)
    : world_{seed, print},
      how_{scenario_of(world_.chance, seed)},
      server_{world_,
              {.seed = world_.chance.seed(),
               .run_as = how_.run_as,
               .sharded = how_.sharded,
               .tries_again_at_once = how_.tries_again_at_once}},
      network_{world_, server_, how_.net} {
    outcome_.seed = seed;
    server_.use(network_);
    if (how_.has(fault::no_kill)) {
        server_.redis().refuse_kills(true, &attempt(fault::no_kill));
    }
    for (std::size_t i = 0; i < 1 + world_.chance.below(2); ++i) {
        specs_.emplace_back(new impl::count_spec{impl::count_spec::kind::permits,
                                                 "permits:" + std::to_string(i),
                                                 how_.run_as == deployment::cluster});
    }
    total_ = world_.chance.spread(1, 8);
    closing_ = world_.chance.once_in(4);
    step_ = world_.chance.once_in(2) ? 100 * millis : 1;
    for (std::size_t i = 0; i < how_.clients; ++i) {
        add_client();
    }
    faults_ = std::make_unique<counters::fault_injector>(*this);
}

// The engines know the calls.
simulation::~simulation() { clients_.clear(); }

impl::spec_ptr simulation::spec(std::size_t name, std::int64_t permits) const {
    return impl::lock_spec::make(protocol::permits_protocol, specs_[name]->name(), {},
                                 static_cast<std::uint32_t>(permits));
}

void simulation::add_client() {
    const std::uint64_t index = clients_.size();
    const std::int64_t drift = world_.chance.between(-10'000, 10'000);
    clients_.push_back(std::make_unique<client_node>(
        world_, network_, static_cast<client_events&>(*this), how_.settings,
        client_node::clock_settings{.drift_ppm = world_.chance.once_in(3) ? 0 : drift,
                                    .ahead = std::chrono::seconds{3600 + 100 * index}},
        "0000000" + std::to_string(index) + "-0000-0000-0000-000000000000", world_.chance.seed()));
    for (std::size_t i = 0; i < 1 + how_.users; ++i) {
        tenants_.push_back(std::make_unique<tenant>(*this, index, world_.chance.seed()));
        tenants_.back()->start();
    }
}

permit_call& simulation::begin(tenant& by, permit_call::kind what, std::int64_t permits) {
    permit_call& c = calls_.emplace_back();
    c.client = by.client();
    c.place = calls_.size() - 1;
    c.asked_at = world_.now();
    c.what = what;
    c.name = by.name();
    c.permits = permits;
    c.by = &by;
    return c;
}

void simulation::granted(const permit_call& c) {
    outcome_.grants += 1;
    outcome_.permits += static_cast<std::uint64_t>(c.permits);
    judge_limit();
}

void simulation::replace_client(std::uint64_t client, bool heard, effect* e) {
    client_node& c = *clients_[client];
    if (c.dead() || clients_.size() > most_clients) {
        return;
    }
    crashed_ = true;
    for (const auto& t : tenants_) {
        if (t->client() == client) {
            feel(t->idle() ? nullptr : e);
            t->die();
        }
    }
    c.die(heard);
    add_client();
}

void simulation::violate(std::string_view checker, std::string_view what) {
    world_.note("VIOLATION");
    if (outcome_.violations.size() < most_violations) {
        outcome_.violations.push_back(std::string{checker} + ": " + std::string{what} + ", at " +
                                      std::to_string(world_.now() / micros) + " us");
    }
}

void simulation::ended(std::uint64_t, call& of) {
    auto& c = static_cast<permit_call&>(of);
    world_.note("ended", static_cast<std::uint64_t>(c.what),
                static_cast<std::uint64_t>(c.ec.value()) * 2 + (c.view ? 1 : 0));
    judge_outcome(c);
    judge_order(c);
    c.by->ended(c);
}

void simulation::turned(std::uint64_t client) {
    const engine::inventory i = clients_[client]->engine().belongings();
    if (i.slots > specs_.size() || i.waiters > how_.users + 1 || i.counter_changes > 300) {
        violate("rest", "a client keeps more than was asked for");
    }
    judge_losses(client);
}

bool simulation::enough() const noexcept {
    return outcome_.violations.size() >= most_violations || world_.events() > most_events;
}

void simulation::run_until(instant until) {
    while (!enough() && world_.step(until)) {
    }
}

void simulation::inspect(std::uint64_t, std::uint64_t) {
    if (stopped_) {
        return;
    }
    judge_limit();
    judge_conservation();
    if (world_.now() >= settled_at_) {
        judge_promptness();
    }
    world_.plan<&simulation::inspect>(world_.now() + inspection, this);
}

outcome simulation::run() {
    settled_at_ = how_.chaos + how_.settling();
    faults_->start();
    inspect(0, 0);
    run_until(how_.chaos);
    faults_->heal();
    run_until(settled_at_ + how_.calm);
    wind_down();
    if (world_.events() > most_events) {
        violate("rest", "it never ends");
    }
    for (const auto& [f, what_came_of_it] : attempts_) {
        ++outcome_.attempts[static_cast<std::size_t>(f)];
        outcome_.faults[static_cast<std::size_t>(f)] += what_came_of_it.was_felt() ? 1 : 0;
    }
    outcome_.trace_hash = world_.trace_hash();
    outcome_.events = world_.events();
    return std::move(outcome_);
}

bool simulation::busy() const noexcept {
    return std::any_of(tenants_.begin(), tenants_.end(), [&](const auto& t) {
        return !t->idle() && !clients_[t->client()]->closing();
    });
}

void simulation::wind_down() {
    stopped_ = true;
    world_.note("stop");
    for (std::size_t i = 0; i < clients_.size(); ++i) {
        if (closing_ && !clients_[i]->dead() && world_.chance.once_in(2)) {
            ++outcome_.closings;
            clients_[i]->shut_down(std::chrono::seconds{20});
        }
    }
    for (const auto& t : tenants_) {
        t->stop();
    }
    const instant last = world_.now() + 40 * seconds;
    while (busy() && world_.now() < last && !enough()) {
        run_until(world_.now() + 100 * millis);
    }
    if (busy()) {
        violate("rest", "a tenant still waits for an answer");
    }
    // Leases end; what goes on in the background is repeated for half a minute.
    run_until(world_.now() + 35 * seconds);
    const std::uint64_t scripts = server_.redis().scripts_run();
    run_until(world_.now() + 5 * seconds);
    if (server_.redis().scripts_run() != scripts) {
        violate("rest", "scripts are run that nobody asked for");
    }
    judge_conservation();
    judge_rest();
}

}  // namespace conch::sim::permits
