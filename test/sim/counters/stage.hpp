// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_COUNTERS_STAGE_HPP
#define CONCH_TEST_SIM_COUNTERS_STAGE_HPP

#include "protocol/count_spec.hpp"
#include "sim/client_node.hpp"
#include "sim/counters/actor.hpp"
#include "sim/course.hpp"
#include "sim/faults.hpp"
#include "sim/network.hpp"
#include "sim/scenario.hpp"
#include "sim/server_node.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace conch::sim::counters {

class fault_injector;

/// One run of clients whose actors ask for permits or for locks, a server that is run in any way,
/// and the faults of a scenario: all but what they ask for, and what must be true of it.
class stage : public course, protected client_events {
public:
    outcome run();

    // For actors and faults.

    const scenario& how() const noexcept { return how_; }
    server_node& server() noexcept { return server_; }
    network& net() noexcept { return network_; }
    std::vector<std::unique_ptr<client_node>>& clients() noexcept { return clients_; }
    /// Of what actors ask for.
    virtual std::size_t names() const noexcept { return specs_.size(); }
    virtual std::string channel(std::size_t name) const { return specs_[name]->channel(); }
    virtual std::uint16_t hash_slot(std::size_t name) const { return specs_[name]->hash_slot(); }
    const impl::count_spec_ptr& count_spec(std::size_t name) const noexcept { return specs_[name]; }
    /// So many permits each semaphore has, once they are set.
    std::int64_t total() const noexcept { return total_; }
    /// When an actor acts that would do so then: in some runs many act at the same time.
    instant rounded(instant at) const noexcept { return at + step_ - at % step_; }
    bool stopped() const noexcept { return stopped_; }
    /// A stranger does this to something; false if there is nothing.
    virtual bool by_stranger(fault) { return false; }
    /// It does so also when all other faults are over.
    virtual bool goes_on(fault f) const noexcept { return sim::goes_on(f); }
    /// From now on a shard has two masters, or will: both have what it had, but for some writes.
    virtual void parted(std::size_t /*shard*/) {}
    /// What a process that ends has asked for may have been done.
    void replace_client(std::uint64_t client, bool heard, effect* e);

protected:
    /// `what`: what they ask for. `narrow`: what else the scenario is to be like.
    stage(std::uint64_t seed, bool print, deployment what, void (*narrow)(scenario&, dice&));
    /// The calls that the engines know are those of who derives from this: it ends the clients.
    ~stage();

    /// One or two semaphores of this kind.
    void make_semaphores(impl::count_spec::kind what);
    impl::count_spec_ptr make_spec(impl::count_spec::kind what, const std::string& name) const;
    /// When all that they ask for is there: clients, and who acts for them.
    void set_up();
    /// An actor asks for this now.
    void begin(want& c, std::size_t place, actor& by, std::int64_t permits) const;
    /// Writes, or the time to live of keys, may be lost: nobody can say what is left. Where there
    /// are two masters, all that each of them did is known.
    bool may_lose() const noexcept {
        return how_.has(fault::restart_empty) || how_.has(fault::failover) ||
               how_.has(fault::server_clock);
    }
    /// Where a process has its keys: masters that rule at the same time have places of their own.
    unsigned place(fleet::process p) const noexcept {
        return how_.has(fault::split_brain) ? server_.redis().data_set_of(p) : 0;
    }
    unsigned place_of(std::uint64_t line) const noexcept { return place(server_.process_of(line)); }
    /// The masters that have this key: the one that rules, then the one beside it.
    std::vector<fleet::process> places(std::string_view key);
    /// Of a client's process.
    bool any_crashed() const noexcept;
    /// Who waits so could have what it wants, since too long a time: that, and what is prompt.
    bool waits_in_vain(const want& c, bool could_have_it, instant patience = 0);

    const scenario how_;
    server_node server_;
    network network_;
    std::vector<impl::count_spec_ptr> specs_{};
    std::int64_t total_ = 0;
    instant step_ = 1;
    std::vector<std::unique_ptr<client_node>> clients_{};
    instant settled_at_ = 0;
    bool stopped_ = false;

private:
    /// Of a client that is about to begin.
    virtual config settings_for(std::uint64_t) { return how_.settings; }
    virtual void began(client_node&) {}
    /// Before a process that was a master discards what it has.
    virtual void discards(fleet::process) {}
    virtual std::unique_ptr<actor> make_actor(std::uint64_t client, std::uint64_t seed) = 0;
    /// Now and then, until all stop.
    virtual void judge_meanwhile() = 0;
    /// The same, when all has settled.
    virtual void judge_promptness() = 0;
    virtual void judge_rest() = 0;

    static constexpr std::size_t most_clients = 8;

    void add_client();
    void inspect(std::uint64_t, std::uint64_t);
    void wind_down();
    bool busy() const noexcept;

    std::vector<std::unique_ptr<actor>> actors_{};
    struct chance_to_go_on {
        instant since = 0;
        instant patience = 0;
    };
    std::map<std::uint64_t, chance_to_go_on> could_have_since_{};  // by place of the call
    std::unique_ptr<fault_injector> faults_;
    bool closing_ = false;  // clients are shut down in the end, while they are asked for something
};

}  // namespace conch::sim::counters

#endif
