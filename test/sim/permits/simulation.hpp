// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_PERMITS_SIMULATION_HPP
#define CONCH_TEST_SIM_PERMITS_SIMULATION_HPP

#include "protocol/count_spec.hpp"
#include "protocol/spec.hpp"
#include "sim/client_node.hpp"
#include "sim/counters/faults.hpp"
#include "sim/network.hpp"
#include "sim/outcome.hpp"
#include "sim/permits/tenant.hpp"
#include "sim/scenario.hpp"
#include "sim/server_node.hpp"
#include "sim/world.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conch::sim::permits {

/// One run: clients whose tenants take permits of semaphores for a lease, a server that is run in
/// any way, the faults of a scenario. What is checked:
///
/// "limit": those who may believe that they have permits never have more than there are.
/// "conservation": at the server, what is left and what is out is always as many as were set.
/// "return": at rest no permit is out whose lease still runs; who gave some back has none there.
/// "loss": a hold is told lost in the first turn at its end, and none for nothing.
/// "order": within a client nobody is overtaken. "promptness": who could have its permits gets
/// them. "rest": nothing is kept for nobody. "outcomes": each call ends once, and for a reason.
class simulation final : public counters::stage, private client_events {
public:
    explicit simulation(std::uint64_t seed, bool print = false);
    simulation(const simulation&) = delete;
    simulation& operator=(const simulation&) = delete;
    ~simulation();

    outcome run();

    // For tenants and faults.

    world& the_world() noexcept override { return world_; }
    const scenario& how() const noexcept override { return how_; }
    server_node& server() noexcept override { return server_; }
    network& net() noexcept override { return network_; }
    std::vector<std::unique_ptr<client_node>>& clients() noexcept override { return clients_; }
    std::size_t names() const noexcept override { return specs_.size(); }
    std::string channel(std::size_t name) const override { return specs_[name]->channel(); }
    std::uint16_t hash_slot(std::size_t name) const override { return specs_[name]->hash_slot(); }
    void replace_client(std::uint64_t client, bool heard, effect* e) override;
    effect& attempt(fault f) override { return attempts_.emplace_back(f, effect{}).second; }
    const impl::count_spec_ptr& count_spec(std::size_t name) const noexcept { return specs_[name]; }
    impl::spec_ptr spec(std::size_t name, std::int64_t permits) const;
    /// So many permits each semaphore has, once they are set.
    std::int64_t total() const noexcept { return total_; }
    /// When a tenant acts that would do so then: in some runs many act at the same time.
    instant rounded(instant at) const noexcept { return at + step_ - at % step_; }
    permit_call& begin(tenant& by, permit_call::kind what, std::int64_t permits);
    void granted(const permit_call& c);
    void found_lost() noexcept { ++outcome_.losses; }

private:
    void ended(std::uint64_t client, call& c) override;
    void turned(std::uint64_t client) override;

    static constexpr std::size_t most_clients = 8;

    /// What the server has of a semaphore.
    struct account {
        bool set = false;
        std::int64_t left = 0;
        std::int64_t over = 0;  ///< out, and their lease has ended
        std::int64_t out = 0;   ///< and runs
    };

    void add_client();
    void violate(std::string_view checker, std::string_view what);
    bool enough() const noexcept;
    void run_until(instant until);
    void inspect(std::uint64_t, std::uint64_t);
    void wind_down();
    bool busy() const noexcept;
    /// Writes may be lost, or leases end too soon: nobody can say who has what.
    bool may_lose() const noexcept { return how_.may_forget(); }
    account look(std::size_t name);
    bool believes(const tenant& t) const;
    void judge_limit();
    void judge_conservation();
    void judge_rest();
    void judge_order(const permit_call& c);
    void judge_outcome(const permit_call& c);
    void judge_promptness();
    void judge_losses(std::uint64_t client);

    world world_;
    const scenario how_;
    server_node server_;
    network network_;
    std::deque<std::pair<fault, effect>> attempts_{};
    std::vector<impl::count_spec_ptr> specs_{};
    std::int64_t total_ = 0;
    instant step_ = 1;
    std::vector<std::unique_ptr<client_node>> clients_{};
    std::vector<std::unique_ptr<tenant>> tenants_{};
    std::deque<permit_call> calls_{};
    std::map<std::uint64_t, instant> could_have_since_{};  // by place of the call
    std::unique_ptr<counters::fault_injector> faults_;
    instant settled_at_ = 0;
    bool stopped_ = false;
    bool closing_ = false;  // clients are shut down in the end, while they are asked for something
    bool crashed_ = false;
    outcome outcome_{};
};

}  // namespace conch::sim::permits

#endif
