// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_CHECK_CHECKER_HPP
#define CONCH_TEST_SIM_CHECK_CHECKER_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace conch::sim {

class simulation;
struct call;
struct held;
struct permit_count;
struct script_run;

/// Watches a run for one property.
class checker {
public:
    explicit checker(simulation& s) noexcept : all_{s} {}
    checker(const checker&) = delete;
    checker& operator=(const checker&) = delete;
    virtual ~checker() = default;

    virtual std::string_view name() const noexcept = 0;
    /// It knows of no lock with readers.
    virtual bool of_one_holder() const noexcept { return false; }
    /// It knows of a client's waiters as of one queue.
    virtual bool of_one_queue() const noexcept { return false; }
    /// It knows of fair locks alone.
    virtual bool of_one_line() const noexcept { return false; }
    /// A user asks its client for this: next, in this turn. The call lives as long as the
    /// simulation.
    virtual void asks(const call&) {}
    /// A user got a hold.
    virtual void granted(const held&) {}
    /// A user is about to unlock; the call lives as long as the simulation.
    virtual void unlocks(const call&) {}
    /// A client's turn is over.
    virtual void turned(std::uint64_t /*client*/) {}
    /// An event of the simulation is over.
    virtual void stepped() {}
    /// The handler of a call is run.
    virtual void ended(const call&) {}
    /// The server has run a script for a client.
    virtual void ran(const script_run&) {}
    /// The server has run one for a thread of Redisson with this field.
    virtual void redisson_ran(std::size_t /*lock*/, const std::string& /*field*/) {}
    /// A stranger has taken this lock away from all who had it, and told those who wait.
    virtual void told_to_all(std::size_t /*lock*/) {}
    /// The server has told how many replicas have what was written on this line.
    virtual void acknowledged(std::uint64_t /*line*/, std::int64_t /*replicas*/) {}
    /// The server has counted permits.
    virtual void counted(const permit_count&) {}
    /// Nobody wants or holds anything any more, and the time for it to be over has passed.
    virtual void rested() {}

protected:
    void violate(std::string_view what);

    simulation& all_;
};

std::unique_ptr<checker> make_exclusion(simulation& s);
std::unique_ptr<checker> make_ownership(simulation& s);
std::unique_ptr<checker> make_fences(simulation& s);
std::unique_ptr<checker> make_once(simulation& s);
std::unique_ptr<checker> make_loss_in_time(simulation& s);
std::unique_ptr<checker> make_loss_noticed(simulation& s);
std::unique_ptr<checker> make_no_needless_loss(simulation& s);
std::unique_ptr<checker> make_no_orphans(simulation& s);
std::unique_ptr<checker> make_promptness(simulation& s);
std::unique_ptr<checker> make_rest(simulation& s);
std::unique_ptr<checker> make_bounds(simulation& s);
std::unique_ptr<checker> make_reasons(simulation& s);
std::unique_ptr<checker> make_answers(simulation& s);
std::unique_ptr<checker> make_verdicts(simulation& s);
std::unique_ptr<checker> make_lasting(simulation& s);
std::unique_ptr<checker> make_order(simulation& s);
std::unique_ptr<checker> make_admission(simulation& s);
std::unique_ptr<checker> make_outcomes(simulation& s);
std::unique_ptr<checker> make_passing(simulation& s);
std::unique_ptr<checker> make_shapes(simulation& s);
std::unique_ptr<checker> make_rates(simulation& s);
std::unique_ptr<checker> make_closings(simulation& s);
std::unique_ptr<checker> make_makes_way(simulation& s);
std::unique_ptr<checker> make_lets_in(simulation& s);
std::unique_ptr<checker> make_renewals(simulation& s);
std::unique_ptr<checker> make_depth(simulation& s);
std::unique_ptr<checker> make_released(simulation& s);
std::unique_ptr<checker> make_abandoned(simulation& s);
std::unique_ptr<checker> make_polls(simulation& s);
std::unique_ptr<checker> make_replicated(simulation& s);
std::unique_ptr<checker> make_understood(simulation& s);
std::unique_ptr<checker> make_holds_first(simulation& s);
std::unique_ptr<checker> make_loss_told(simulation& s);
std::unique_ptr<checker> make_patience(simulation& s);
std::unique_ptr<checker> make_turns(simulation& s);
std::unique_ptr<checker> make_line(simulation& s);
std::unique_ptr<checker> make_downgrades(simulation& s);
std::unique_ptr<checker> make_progress(simulation& s);
std::unique_ptr<checker> make_kept_off(simulation& s);
std::unique_ptr<checker> make_forced(simulation& s);

}  // namespace conch::sim

#endif
