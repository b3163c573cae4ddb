// SPDX-License-Identifier: BSL-1.0
#include "sim/counters/stage.hpp"

#include "sim/counters/faults.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace conch::sim::counters {
namespace {

/// Between two looks at what goes on by itself.
constexpr instant inspection = 5 * millis;

deployment any_deployment(std::uint64_t seed) {
    constexpr deployment all[] = {deployment::alone, deployment::alone, deployment::sentinel,
                                  deployment::cluster};
    return all[seed % 4];
}

// What is not known here stays away; and where the server may forget, little can be judged.
scenario scenario_of(dice& chance, std::uint64_t seed, deployment what,
                     void (*narrow)(scenario&, dice&)) {
    scenario s{chance, dice{~seed}, any_deployment(seed)};
    const bool forgets = chance.once_in(6);
    for (std::size_t i = 0; i < fault_count; ++i) {
        const fault f = static_cast<fault>(i);
        const bool loses =
            f == fault::restart_empty || f == fault::failover || f == fault::server_clock;
        s.faults[i] = s.faults[i] && knows(f, what) && (forgets || !loses);
    }
    s.faults[static_cast<std::size_t>(fault::cancel)] = !chance.once_in(4);
    if (what != deployment::deadlocks) {
        s.faults[static_cast<std::size_t>(fault::resize)] = chance.once_in(4);
        // Of what has owners alone.
        s.faults[static_cast<std::size_t>(fault::force)] =
            what == deployment::permits && chance.once_in(5);
    }
    if (s.has(fault::split_brain)) {
        // Nothing else makes anybody forget, and each key has one place, or those two.
        for (const fault f :
             {fault::restart_empty, fault::failover, fault::server_clock, fault::migration}) {
            s.faults[static_cast<std::size_t>(f)] = false;
        }
    }
    s.settings.max_pending = 100'000;
    s.think = std::max(s.think, 20 * millis);
    s.chaos = std::min(s.chaos, 6 * seconds);
    narrow(s, chance);
    // A message of a cluster's bus may come late. Those of a shard come in order.
    if (knows(fault::late_push, what) && s.run_as == deployment::cluster && !s.sharded) {
        s.faults[static_cast<std::size_t>(fault::late_push)] = chance.once_in(2);
    }
    return s;
}

}  // namespace

stage::stage(std::uint64_t seed, bool print, deployment what, void (*narrow)(scenario&, dice&))
    : course{seed, print},
      how_{scenario_of(world_.chance, seed, what, narrow)},
      server_{world_,
              {.seed = world_.chance.seed(),
               .run_as = how_.run_as,
               .sharded = how_.sharded,
               .tries_again_at_once = how_.tries_again_at_once}},
      network_{world_, server_, how_.net} {
    server_.use(network_);
    server_.watch_discards([this](fleet::process p) { discards(p); });
    if (how_.has(fault::no_kill)) {
        server_.redis().refuse_kills(true, &attempt(fault::no_kill));
    }
}

stage::~stage() = default;

void stage::make_semaphores(impl::count_spec::kind what) {
    for (std::size_t i = 0; i < 1 + world_.chance.below(2); ++i) {
        specs_.push_back(make_spec(what, "permits:" + std::to_string(i)));
    }
}

impl::count_spec_ptr stage::make_spec(impl::count_spec::kind what, const std::string& name) const {
    return impl::count_spec_ptr{
        new impl::count_spec{what, name, how_.run_as == deployment::cluster}};
}

void stage::set_up() {
    total_ = world_.chance.spread(1, 8);
    closing_ = world_.chance.once_in(4);
    for (std::size_t i = 0; i < how_.clients; ++i) {
        add_client();
    }
    faults_ = std::make_unique<fault_injector>(*this);
}

void stage::add_client() {
    const std::uint64_t index = clients_.size();
    const std::int64_t drift = world_.chance.between(-10'000, 10'000);
    clients_.push_back(std::make_unique<client_node>(
        world_, network_, static_cast<client_events&>(*this), settings_for(index),
        client_node::clock_settings{.drift_ppm = world_.chance.once_in(3) ? 0 : drift,
                                    .ahead = std::chrono::seconds{3600 + 100 * index}},
        "0000000" + std::to_string(index) + "-0000-0000-0000-000000000000", world_.chance.seed()));
    began(*clients_.back());
    for (std::size_t i = 0; i < 1 + how_.users; ++i) {
        actors_.push_back(make_actor(index, world_.chance.seed()));
        actors_.back()->start();
    }
}

void stage::begin(want& c, std::size_t place, actor& by, std::int64_t permits) const {
    c.client = by.client();
    c.place = place;
    c.asked_at = world_.now();
    c.name = by.name();
    c.permits = permits;
    c.by = &by;
}

void stage::replace_client(std::uint64_t client, bool heard, effect* e) {
    client_node& c = *clients_[client];
    if (c.dead() || clients_.size() > most_clients) {
        return;
    }
    for (const auto& a : actors_) {
        if (a->client() == client) {
            feel(a->idle() ? nullptr : e);
            a->die();
        }
    }
    c.die(heard);
    add_client();
}

std::vector<fleet::process> stage::places(std::string_view key) {
    const fake_redis& redis = server_.redis();
    std::vector<fleet::process> all{redis.master_of(key)};
    const std::size_t shard = redis.processes().shard_of(all.front());
    if (how_.has(fault::split_brain) && redis.divided(shard)) {
        all.push_back(redis.processes().replica(shard));
    }
    return all;
}

bool stage::any_crashed() const noexcept {
    return std::any_of(actors_.begin(), actors_.end(), [](const auto& a) { return a->dead(); });
}

bool stage::waits_in_vain(const want& c, bool could_have_it, instant patience) {
    if (!could_have_it) {
        could_have_since_.erase(c.place);
        return false;
    }
    auto& [since, for_so_long] = could_have_since_[c.place];
    if (std::exchange(for_so_long, patience) != patience || since == 0) {
        since = world_.now();  // it could have something else
    }
    if (world_.now() - since <= how_.promptness() + patience) {
        return false;
    }
    could_have_since_.erase(c.place);
    return true;
}

void stage::inspect(std::uint64_t, std::uint64_t) {
    if (stopped_) {
        return;
    }
    judge_meanwhile();
    if (world_.now() >= settled_at_) {
        judge_promptness();
    }
    world_.plan<&stage::inspect>(world_.now() + inspection, this);
}

outcome stage::run() {
    settled_at_ = how_.chaos + how_.settling();
    faults_->start();
    inspect(0, 0);
    run_until(how_.chaos);
    faults_->heal();
    run_until(settled_at_ + how_.calm);
    wind_down();
    return finish();
}

bool stage::busy() const noexcept {
    return std::any_of(actors_.begin(), actors_.end(), [&](const auto& a) {
        return !a->idle() && !clients_[a->client()]->closing();
    });
}

void stage::wind_down() {
    stopped_ = true;
    world_.note("stop");
    for (std::size_t i = 0; i < clients_.size(); ++i) {
        if (closing_ && !clients_[i]->dead() && world_.chance.once_in(2)) {
            ++outcome_.closings;
            clients_[i]->shut_down(std::chrono::seconds{20});
        }
    }
    for (const auto& a : actors_) {
        a->stop();
    }
    const instant last = world_.now() + 40 * seconds;
    while (busy() && world_.now() < last && !enough()) {
        run_until(world_.now() + 100 * millis);
    }
    if (busy()) {
        violate("rest", "somebody still waits for an answer");
    }
    // Leases end; what goes on in the background is repeated for half a minute.
    run_until(world_.now() + 35 * seconds);
    const std::uint64_t scripts = server_.redis().scripts_run();
    run_until(world_.now() + 5 * seconds);
    if (server_.redis().scripts_run() != scripts) {
        violate("rest", "scripts are run that nobody asked for");
    }
    judge_rest();
}

}  // namespace conch::sim::counters
