// SPDX-License-Identifier: BSL-1.0
// What a run begins with, and who takes part in it.
#include "sim/closer.hpp"
#include "sim/faults.hpp"
#include "sim/simulation.hpp"

#include <utility>

namespace conch::sim {
namespace {

/// All of them.
constexpr std::unique_ptr<checker> (*makers[])(simulation&) = {
    make_exclusion,    make_ownership,        make_fences,     make_once,       make_loss_in_time,
    make_loss_noticed, make_no_needless_loss, make_no_orphans, make_promptness, make_rest,
    make_bounds,       make_reasons,          make_answers,    make_verdicts,   make_lasting,
    make_order,        make_admission,        make_outcomes,   make_passing,    make_shapes,
    make_rates,        make_closings,         make_makes_way,  make_renewals,   make_depth,
    make_released,     make_abandoned,        make_polls,      make_replicated, make_understood,
    make_holds_first,  make_loss_told,        make_turns,      make_line,       make_patience,
    make_downgrades,   make_progress,         make_lets_in,    make_kept_off,   make_forced,
};

std::string uuid_of(std::uint64_t client) {
    return "00000000-0000-0000-0000-00000000000" + std::to_string(client);
}

}  // namespace

simulation::simulation(std::uint64_t seed, bool print, deployment d)
    : course{seed, print},
      more_{~seed},
      how_{world_.chance, dice{more_.seed()}, d},
      server_{world_,
              {.seed = world_.chance.seed(),
               .run_as = how_.run_as,
               .sharded = how_.sharded,
               .tries_again_at_once = how_.tries_again_at_once,
               .replicas_ahead_us = how_.replicas_ahead_us}},
      network_{world_, server_, how_.net},
      forces_(how_.names),
      faults_{std::make_unique<fault_injector>(*this)} {
    server_.use(network_);
    if (how_.has(fault::no_kill)) {
        server_.redis().refuse_kills(true, &attempt(fault::no_kill));
    }
    if (how_.has(fault::cut_off)) {
        server_.cut_off(how_.cut_off, &attempt(fault::cut_off));
    }
    for (std::size_t i = 0; i < how_.names; ++i) {
        // A token that lives for a while only, now and then; but not where the clock steps.
        mutex_options o{.fenced = !world_.chance.once_in(4), .fence_ttl = forever};
        if (o.fenced && world_.chance.once_in(4) && !how_.has(fault::server_clock)) {
            o.fence_ttl = std::chrono::seconds{60};
        }
        const lock_name& l = how_.locks[i];
        o.fenced = o.fenced && !(l.plain && more_.once_in(2));       // else it is never SET NX
        o.fenced = o.fenced && !(how_.crowded && more_.once_in(2));  // else it is never passed on
        if (how_.replicas.at_least > 0 && (o.fenced || !l.plain) && !more_.once_in(4)) {
            o.replicas = how_.replicas;
        }
        if (how_.read_write) {
            specs_.push_back(impl::lock_spec::make(protocol::shared_write_protocol, l.text, {}));
            readers_.push_back(impl::lock_spec::make(protocol::shared_read_protocol, l.text, {}));
            continue;
        }
        specs_.push_back(impl::lock_spec::make(l.plain     ? protocol::value_lock_protocol
                                               : how_.fair ? protocol::fair_protocol
                                                           : protocol::mutex_protocol,
                                               l.text, o));
    }
    std::vector<std::string> names;
    for (const impl::spec_ptr& s : specs_) {
        names.emplace_back(s->name());
    }
    server_.watch(std::move(names));
    server_.watch([this](const script_run& r) { ran(r); });
    server_.watch([this](std::uint64_t line, std::int64_t replicas) {
        for (const auto& check : checkers_) {
            check->acknowledged(line, replicas);
        }
    });
    set_limits();
    for (std::size_t i = 0; i < how_.clients; ++i) {
        add_client();
    }
    for (std::size_t i = 0; i < how_.redisson_threads; ++i) {
        redisson_threads_.push_back(std::make_unique<redisson_thread>(*this, i, more_.seed()));
        redisson_threads_.back()->start();
    }
    server_.watch_outsiders([this](std::uint64_t outsider) {
        for (const auto& t : redisson_threads_) {
            t->told(outsider);
        }
    });
    for (const auto make : makers) {
        checkers_.push_back(make(*this));
    }
    if (how_.read_write) {
        std::erase_if(checkers_, [](const auto& c) { return c->of_one_holder(); });
    }
    std::erase_if(checkers_,
                  [&](const auto& c) { return how_.fair ? c->of_one_queue() : c->of_one_line(); });
    if (how_.closing) {
        closer_ = std::make_unique<closer>(*this, more_.seed());
    }
}

void simulation::set_limits() {
    for (const limit_terms& l : how_.limits) {
        limits_.emplace_back(new impl::rate_spec{l.key(),
                                                 {.limit = l.permits(),
                                                  .window = std::chrono::milliseconds{l.window_ms},
                                                  .burst = l.burst * limit_terms::unit},
                                                 l.kind});
    }
    server_.watch(how_.limits, [this](const permit_count& c) {
        for (const auto& check : checkers_) {
            check->counted(c);
        }
    });
}

void simulation::add_client() {
    const std::uint64_t index = clients_.size();
    const std::int64_t drift = world_.chance.between(-10'000, 10'000);
    clients_.push_back(std::make_unique<client_node>(
        world_, network_, *this, how_.settings,
        client_node::clock_settings{.drift_ppm = world_.chance.once_in(3) ? 0 : drift,
                                    .ahead = std::chrono::seconds{3600 + 100 * index}},
        uuid_of(index), world_.chance.seed()));
    for (std::size_t i = 0; i < how_.users; ++i) {
        users_.push_back(std::make_unique<user>(*this, users_.size(), index));
        users_.back()->start();
    }
    for (std::size_t i = 0; i < how_.askers; ++i) {
        askers_.push_back(std::make_unique<asker>(*this, index, more_.seed()));
        askers_.back()->start();
    }
}

void simulation::replace_client(std::uint64_t client, bool heard, effect* e) {
    client_node& c = *clients_[client];
    if (c.dead() || !may_replace()) {
        return;
    }
    for (const auto& u : users_) {
        if (u->client() == client) {
            feel(u->idle() ? nullptr : e);
            u->die();
        }
    }
    for (const auto& a : askers_) {
        if (a->client() == client) {
            feel(a->idle() ? nullptr : e);
            a->die();
        }
    }
    std::erase_if(holds_, [&](const held& h) { return h.client == client; });
    c.die(heard);
    add_client();
}

}  // namespace conch::sim
