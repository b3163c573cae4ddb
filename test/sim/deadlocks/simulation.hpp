// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_DEADLOCKS_SIMULATION_HPP
#define CONCH_TEST_SIM_DEADLOCKS_SIMULATION_HPP

#include "protocol/spec.hpp"
#include "sim/counters/stage.hpp"
#include "sim/deadlocks/graph.hpp"
#include "sim/deadlocks/job.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace conch::sim::deadlocks {

/// One run: clients whose jobs take several locks in any order, so that they wait for each other, a
/// server that is run in any way, the faults of a scenario. Their wall clocks differ, and step; and
/// what the server was told about waits may be gone at any time. What is checked:
///
/// "no false alarm": who is told of a deadlock was in one, while it waited. "one victim": nobody
/// else of it was told. "told": when all is well, each deadlock is told of in time; that of one
/// client at once, always. "records": what is kept at the server of somebody's waits goes with
/// these, and at last by itself. "rest": nothing is kept for nobody. "outcomes": each call ends
/// once, and for a reason.
class simulation final : public counters::stage {
public:
    explicit simulation(std::uint64_t seed, bool print = false);
    ~simulation();

    std::size_t names() const noexcept override { return locks_.size(); }
    std::string channel(std::size_t name) const override;
    std::uint16_t hash_slot(std::size_t name) const override;

    // For jobs.

    const impl::spec_ptr& spec(std::size_t name, bool shared) const noexcept {
        return shared ? locks_[name].reader : locks_[name].usual;
    }
    bool is_read_write(std::size_t name) const noexcept { return locks_[name].reader != nullptr; }
    /// This client looks for deadlocks.
    bool looks(std::uint64_t client) const {
        return clients_[client]->settings().deadlock_detection;
    }
    /// Jobs wait no longer than for some seconds.
    bool is_hasty() const noexcept { return hasty_; }
    lock_call& begin(job& by, bool shared, const lock_options& o);
    possession& granted(const lock_call& c);
    void gone(possession& h) noexcept;

    bool goes_on(fault) const noexcept override { return false; }

private:
    struct lock {
        impl::spec_ptr usual;
        impl::spec_ptr reader{};  ///< null: it has none
    };
    /// Of the waits of a deadlock.
    using places = std::vector<std::uint64_t>;

    void make_locks();
    config settings_for(std::uint64_t client) override;
    void began(client_node& c) override;
    std::unique_ptr<counters::actor> make_actor(std::uint64_t client, std::uint64_t seed) override;
    void ended(std::uint64_t client, call& c) override;
    void turned(std::uint64_t client) override;
    void judge_meanwhile() override;
    void judge_promptness() override {}
    void judge_rest() override;

    duration any_wall_clock(const client_node& c);
    void step_wall_clock(std::uint64_t, std::uint64_t);
    void forget_a_record(std::uint64_t, std::uint64_t);
    std::vector<std::string> records();
    bool asks_for_nothing(std::uint64_t client) const;

    void judge_alarm(const lock_call& c);
    void judge_outcome(const lock_call& c);
    void judge_told();
    instant time_to_tell(const cycle& c) const;
    bool must_be_told(const cycle& c) const;
    void judge_records();

    bool clocks_differ_ = false;
    bool forgets_records_ = false;
    bool hasty_ = false;
    bool some_do_not_look_ = false;
    std::vector<duration> wall_clocks_{};  // of clients, ahead of their own
    std::vector<lock> locks_{};
    std::vector<job*> jobs_{};
    std::deque<lock_call> calls_{};
    std::deque<possession> holds_{};
    std::map<places, instant> since_{};  // deadlocks that there are
    std::uint64_t inspections_ = 0;
};

}  // namespace conch::sim::deadlocks

#endif
