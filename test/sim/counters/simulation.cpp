// SPDX-License-Identifier: BSL-1.0
#include "sim/counters/simulation.hpp"

namespace conch::sim::counters {

using kind = permit_call::kind;

simulation::simulation(std::uint64_t seed, bool print)
    : stage{seed, print, deployment::counters, [](scenario&, dice&) {}} {
    make_semaphores(impl::count_spec::kind::semaphore);
    specs_.push_back(make_spec(impl::count_spec::kind::latch, "latch"));
    server_.watch([this](const script_run& r) { ran(r); });
    tallies_.resize(specs_.size());
    set_up();
}

// The engines know the calls.
simulation::~simulation() { clients_.clear(); }

std::unique_ptr<actor> simulation::make_actor(std::uint64_t client, std::uint64_t seed) {
    auto one = std::make_unique<taker>(*this, client, seed);
    takers_.push_back(one.get());
    return one;
}

permit_call& simulation::begin(taker& by, permit_call::kind what, std::int64_t permits) {
    permit_call& c = calls_.emplace_back();
    stage::begin(c, calls_.size() - 1, by, permits);
    c.what = what;
    c.round = round_;
    return c;
}

void simulation::ended(std::uint64_t, call& of) {
    auto& c = static_cast<permit_call&>(of);
    world_.note(
        "ended", static_cast<std::uint64_t>(c.what),
        static_cast<std::uint64_t>(c.ec.value()) * 2 + (c.said == impl::remark::done ? 1 : 0));
    outcome_.permits += c.what == kind::acquire && !c.ec ? 1 : 0;
    const bool takes =
        c.what == kind::acquire || c.what == kind::try_acquire || c.what == kind::drain;
    if (c.ec == errc::outcome_unknown && takes) {
        tally& t = tallies_[c.name];
        t.unknown += c.what == kind::drain ? t.peak : c.permits;
    }
    judge_outcome(c);
    judge_order(c);
    static_cast<taker*>(c.by)->ended(c);
    judge_most();
}

void simulation::turned(std::uint64_t client) {
    const client_node& c = *clients_[client];
    const engine::inventory i = c.engine().belongings();
    if (i.counters > specs_.size() || i.permit_requests > how_.users + 1 ||
        i.counter_changes > 300) {
        violate("bounds", "a client keeps more than was asked for");
    }
}

}  // namespace conch::sim::counters
