// SPDX-License-Identifier: BSL-1.0
#include "sim/permits/simulation.hpp"

#include "protocol/lock_protocol.hpp"
#include "protocol/permits.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace conch::sim::permits {
namespace {

void narrow(scenario& s, dice&) {
    s.settings.default_renew = true;
    s.longest_lease = std::min<duration>(s.longest_lease, std::chrono::seconds{10});
}

}  // namespace

simulation::simulation(std::uint64_t seed, bool print)
    : stage{seed, print, deployment::permits, &narrow} {
    make_semaphores(impl::count_spec::kind::permits);
    if (world_.chance.once_in(2)) {
        step_ = 100 * millis;
    }
    std::vector<std::string> keys;
    for (const auto& s : specs_) {
        keys.push_back(protocol::permits_out_key(s->name()));
    }
    server_.watch(std::move(keys));
    server_.watch([this](const script_run& r) { ran(r); });
    set_up();
}

// The engines know the calls.
simulation::~simulation() { clients_.clear(); }

impl::spec_ptr simulation::spec(std::size_t name, std::int64_t permits) const {
    return impl::lock_spec::make(protocol::permits_protocol, specs_[name]->name(), {},
                                 static_cast<std::uint32_t>(permits));
}

std::unique_ptr<counters::actor> simulation::make_actor(std::uint64_t client, std::uint64_t seed) {
    auto one = std::make_unique<tenant>(*this, client, seed);
    tenants_.push_back(one.get());
    return one;
}

permit_call& simulation::begin(tenant& by, permit_call::kind what, std::int64_t permits) {
    permit_call& c = calls_.emplace_back();
    stage::begin(c, calls_.size() - 1, by, permits);
    c.what = what;
    return c;
}

void simulation::granted(const permit_call& c) {
    outcome_.grants += 1;
    outcome_.permits += static_cast<std::uint64_t>(c.permits);
    judge_limit();
}

void simulation::ended(std::uint64_t, call& of) {
    auto& c = static_cast<permit_call&>(of);
    world_.note("ended", static_cast<std::uint64_t>(c.what),
                static_cast<std::uint64_t>(c.ec.value()) * 2 + (c.view ? 1 : 0));
    judge_outcome(c);
    judge_order(c);
    static_cast<tenant*>(c.by)->ended(c);
}

void simulation::turned(std::uint64_t client) {
    const engine::inventory i = clients_[client]->engine().belongings();
    if (i.slots > specs_.size() || i.waiters > how_.users + 1 || i.counter_changes > 300) {
        violate("rest", "a client keeps more than was asked for");
    }
    judge_losses(client);
}

void simulation::judge_meanwhile() {
    judge_limit();
    for (std::size_t name = 0; name < specs_.size(); ++name) {
        judge_conservation(name);
    }
}

}  // namespace conch::sim::permits
