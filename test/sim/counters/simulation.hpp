// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_COUNTERS_SIMULATION_HPP
#define CONCH_TEST_SIM_COUNTERS_SIMULATION_HPP

#include "protocol/count_spec.hpp"
#include "sim/client_node.hpp"
#include "sim/counters/faults.hpp"
#include "sim/counters/taker.hpp"
#include "sim/network.hpp"
#include "sim/outcome.hpp"
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

namespace conch::sim::counters {

/// One run: clients whose users take and release the permits of semaphores, a server that is run in
/// any way, the faults of a scenario. What is checked:
///
/// "conservation": the permits that are left and those that somebody has are never more than were
/// set, and at rest no fewer. "order": within a client nobody is overtaken. "promptness": who could
/// have its permits gets them. "bounds" and "rest": nothing is kept for nobody. "outcomes": each
/// call ends once, and for a reason.
///
/// Beside them a latch, which opens when all tickets that it was set to are counted down: each
/// counts once ("conservation"), it is set only when it is open ("opening"), nobody goes on before
/// it opens ("outcomes"), and nobody waits on when it has opened ("promptness").
class simulation final : public stage, private client_events, private field_witness {
public:
    explicit simulation(std::uint64_t seed, bool print = false);
    simulation(const simulation&) = delete;
    simulation& operator=(const simulation&) = delete;
    ~simulation();

    outcome run();

    // For takers and faults.

    world& the_world() noexcept override { return world_; }
    const scenario& how() const noexcept override { return how_; }
    server_node& server() noexcept override { return server_; }
    network& net() noexcept override { return network_; }
    std::vector<std::unique_ptr<client_node>>& clients() noexcept override { return clients_; }
    std::size_t names() const noexcept override { return specs_.size(); }
    std::string channel(std::size_t name) const override { return specs_[name]->channel(); }
    std::uint16_t hash_slot(std::size_t name) const override { return specs_[name]->hash_slot(); }
    const impl::count_spec_ptr& spec(std::size_t name) const noexcept { return specs_[name]; }
    bool is_latch(std::size_t name) const noexcept {
        return specs_[name]->what() == impl::count_spec::kind::latch;
    }
    /// Of those that the latch still has to be counted down by.
    std::int64_t take_tickets(std::int64_t most);
    /// So many permits each semaphore has, once they are set.
    std::int64_t total() const noexcept { return total_; }
    /// The latch is set to so many at most.
    std::int64_t most_tickets() const noexcept { return 3 * total_; }
    bool stopped() const noexcept { return stopped_; }
    permit_call& begin(taker& by, permit_call::kind what, std::int64_t permits);
    void replace_client(std::uint64_t client, bool heard, effect* e) override;
    effect& attempt(fault f) override { return attempts_.emplace_back(f, effect{}).second; }

private:
    void ended(std::uint64_t client, call& c) override;
    void turned(std::uint64_t client) override;
    void saw(std::int64_t, std::string_view, sight) override {}
    void ran(std::int64_t, std::string_view, arguments keys, arguments, const reply&) override;
    void acknowledged(std::int64_t, std::int64_t) override {}
    void refused(std::int64_t, arguments) override {}

    static constexpr std::size_t most_clients = 8;

    void add_client();
    void violate(std::string_view checker, std::string_view what);
    bool enough() const noexcept;
    void run_until(instant until);
    void inspect(std::uint64_t, std::uint64_t);
    void wind_down();
    bool busy() const noexcept;
    /// Writes, or the time to live of request keys, may be lost: nobody can say what is left.
    bool may_lose() const noexcept { return how_.may_forget(); }
    std::int64_t left(std::size_t name);
    std::int64_t taken(std::size_t name) const;
    void judge_most();
    void judge_rest();
    void judge_order(const permit_call& c);
    void judge_outcome(const permit_call& c);
    void judge_promptness();
    void judge_latch();
    bool has_waited_in_vain(const permit_call& c);

    world world_;
    const scenario how_;
    server_node server_;
    network network_;
    std::deque<std::pair<fault, effect>> attempts_{};
    std::vector<impl::count_spec_ptr> specs_{};
    std::int64_t total_ = 0;
    std::int64_t count_ = 0;    // of the latch, after the last script
    std::int64_t tickets_ = 0;  // of these, nobody has them yet
    instant opened_at_ = 0;
    instant set_at_ = -1;                  // until then it was open, since it opened
    std::vector<std::int64_t> unknown_{};  // permits that may be lost, by name
    std::vector<std::unique_ptr<client_node>> clients_{};
    std::vector<std::unique_ptr<taker>> takers_{};
    std::deque<permit_call> calls_{};
    std::map<std::uint64_t, instant> could_have_since_{};  // by place of the call
    std::unique_ptr<fault_injector> faults_;
    instant settled_at_ = 0;
    bool stopped_ = false;
    bool closing_ = false;  // clients are shut down in the end, while they are asked for something
    outcome outcome_{};
};

}  // namespace conch::sim::counters

#endif
