// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_MAJORITY_SIMULATION_HPP
#define CONCH_TEST_SIM_MAJORITY_SIMULATION_HPP

#include "sim/course.hpp"
#include "sim/majority/check/checker.hpp"
#include "sim/majority/group_node.hpp"
#include "sim/majority/process.hpp"
#include "sim/majority/scenario.hpp"
#include "sim/majority/standing.hpp"
#include "sim/majority/strangers.hpp"
#include "sim/majority/user.hpp"
#include "sim/network.hpp"
#include "sim/server_node.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <list>
#include <memory>
#include <vector>

namespace conch::sim::majority {

/// A hold in a user's hands, as the public handle would be.
struct held {
    process* home = nullptr;
    user* by = nullptr;
    group_node* at = nullptr;
    std::size_t name = 0;
    impl::view_ptr view{};
    lock_options options{};
    instant asked_at = 0;
    instant granted_at = 0;
    call* watch = nullptr;
    duration lease{};       ///< the longest that it was ever asked for
    bool extended = false;  ///< or may have been

    /// What it has there; null for nothing.
    const impl::view_ptr& part(std::size_t place) const;
    /// It has something there, which is not lost by now.
    bool counts(std::size_t place) const;
    time_point valid_until() const noexcept { return impl::end_of(*view); }
    bool lost() const noexcept { return view->lost.load() != 0; }
    /// When the oldest of its parts was asked for.
    instant since() const;
    /// One of its parts was granted then, or later.
    bool was_granted_since(instant then) const;
    /// What `hold::owns_lock()` says now.
    bool believes() const noexcept { return !lost() && home->local_now() < valid_until(); }
};

/// Between two calls of `checker::inspected`.
inline constexpr instant inspection = 10 * millis;

/// One run: processes with users, independent servers, a network to each, the faults of a scenario,
/// and the checkers that watch them.
class simulation : public course {
public:
    explicit simulation(std::uint64_t seed, bool print = false);
    ~simulation();

    outcome run();

    // For users, faults and checkers.

    const scenario& how() const noexcept { return how_; }
    server_node& server(std::size_t i) noexcept { return *machines_[i].server; }
    network& net(std::size_t i) noexcept { return *machines_[i].net; }
    server_node& server_of(std::size_t place) noexcept { return server(how_.server_of(place)); }
    standing& locks() noexcept { return *locks_; }
    strangers& others() noexcept { return others_; }
    const impl::spec_ptr& spec(std::size_t name, std::size_t place) const noexcept {
        return locks_->spec(name, place);
    }
    std::vector<std::unique_ptr<process>>& processes() noexcept { return processes_; }
    /// Whose client this field is of; null: of nobody's.
    const process* process_of(std::size_t place, const std::string& field) const noexcept;
    const std::vector<std::unique_ptr<user>>& users() const noexcept { return users_; }
    std::list<held>& holds() noexcept { return holds_; }
    const std::deque<call>& calls() const noexcept { return calls_; }

    bool working() const noexcept { return world_.now() < end_of_work_; }
    bool stopped() const noexcept { return stopped_; }
    bool settled() const noexcept { return world_.now() >= settled_at_; }
    instant settled_at() const noexcept { return settled_at_; }
    /// By then, keys that nobody tends are gone: of those who crashed, detached, or were forgotten.
    instant leases_end() const noexcept;

    call& begin_call(user& by, call::kind what, group_node& at);
    held& granted(call& c, group_node& at);
    void gone(std::list<held>::iterator h) { holds_.erase(h); }
    /// The server of this place forgot what it had of this name since then, or may have.
    bool forgot(std::size_t place, std::size_t name, instant since);
    /// Its server may lack what this part of a hold was granted: it forgot that, or somebody took
    /// it away.
    bool may_lack(const held& h, std::size_t place);
    /// So many of its members have what they granted, as far as its user may believe, and nothing
    /// excuses those that lack it. `by`: it had heard of that before then.
    std::size_t intact(const held& h, instant by = std::numeric_limits<instant>::max());
    /// Somebody took this name's lock away since then, or is about to.
    bool forced(std::size_t name, instant since) const noexcept;
    bool may_crash() const noexcept { return processes_.size() < most_processes; }
    void replace(process& p, bool heard, effect* e);
    void count_closing() noexcept { ++outcome_.closings; }
    std::uint64_t one_more_seed() noexcept { return more_.seed(); }

    // The processes'.

    /// One of its engines or groups had a turn.
    void turned(process& p);
    /// A call has ended; its handler runs later.
    void completed(call& c);
    void ended(call& c);

private:
    struct machine {
        std::unique_ptr<server_node> server;
        std::unique_ptr<network> net;
    };
    struct forces {
        std::size_t running = 0;
        instant last_end = -1;
    };

    static constexpr std::size_t most_processes = 8;

    void add_process();
    void inspect(std::uint64_t, std::uint64_t);
    void wind_down();
    void come_to_rest();
    void ask_alone(user& u, std::size_t name);
    void probe();
    void rush(std::size_t name);
    bool busy() const noexcept;

    dice more_;  // for choices that came later: they change no earlier one
    const scenario how_;
    std::vector<machine> machines_{};
    std::unique_ptr<standing> locks_{};
    strangers others_{*this};
    std::vector<forces> forces_{};
    std::deque<call> calls_{};
    std::list<held> holds_{};
    std::vector<std::unique_ptr<process>> processes_{};
    std::vector<std::unique_ptr<user>> users_{};
    std::vector<std::unique_ptr<checker>> checkers_{};
    std::unique_ptr<class fault_injector> faults_;
    instant end_of_work_ = 0;
    instant settled_at_ = 0;
    bool stopped_ = false;
};

}  // namespace conch::sim::majority

#endif
