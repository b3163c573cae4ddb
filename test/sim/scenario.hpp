// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_SCENARIO_HPP
#define CONCH_TEST_SIM_SCENARIO_HPP

#include "sim/network.hpp"
#include "sim/redis/fleet.hpp"
#include "sim/world.hpp"

#include <conch/config.hpp>
#include <conch/options.hpp>
#include <conch/rate.hpp>

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace conch::sim {

/// What can go wrong. Each run lets only some of these happen, so that the effects of one aren't
/// always hidden behind those of another.
enum class fault : std::uint8_t {
    reset_before,   ///< a connection ends before the server read what was sent
    reset_after,    ///< it ends after the server ran that, and the answer is lost
    silent_cut,     ///< it passes nothing any more, and neither end hears of it
    clog_up,        ///< nothing reaches the server for a while
    clog_down,      ///< nothing comes from it for a while
    partition,      ///< both
    straggle,       ///< one connection is held up, but not the next one
    stall,          ///< the server does nothing for a while
    restart,        ///< it ends, and comes back with its data
    restart_empty,  ///< and without
    failover,       ///< a replica takes over that lacks the last writes
    script_flush,   ///< SCRIPT FLUSH
    lost_push,      ///< a release message is never delivered
    read_only,      ///< writes are refused: READONLY
    loading,        ///< everything is: LOADING
    out_of_memory,  ///< writes are: OOM
    server_clock,   ///< the server's wall clock steps
    pause,          ///< a client's process stands still
    crash,          ///< a client's process ends; another starts
    cancel,         ///< users cancel their operations
    drop,           ///< users drop their holds at any moment
    force,          ///< someone takes locks away
    vandal,         ///< a stranger puts something else where a lock is
    no_permission,  ///< scripts are refused: NOPERM
    no_channel,     ///< so are SUBSCRIBE and PUBLISH
    batch_refused,  ///< scripts of more than one key are refused, each of them alone isn't
    persist,        ///< a stranger takes a lock's expiry away
    unsubscribed,   ///< the server ends subscriptions by itself
    no_kill,        ///< all the time: CLIENT KILL is refused, so that old connections live on
    migration,      ///< a part of a cluster goes to another master, one key after the other
    role_swap,      ///< a master and its replica change places
    cut_off,        ///< all the time: one process hears only of what concerns itself
    split_brain,    ///< a master is cut off and goes on, and its replica takes over beside it
    deletion,       ///< a stranger deletes a lock, and tells nobody
    late_push,      ///< a message comes long after what was sent behind it
    resize,         ///< an operator changes how many permits a semaphore has
    count,
};

inline constexpr std::size_t fault_count = static_cast<std::size_t>(fault::count);

std::string_view name_of(fault f) noexcept;
/// It can happen to a server that is run like this.
bool happens_in(fault f, deployment d) noexcept;

/// A lock's name, and whether it is a token_mutex.
struct lock_name {
    std::string text{};
    bool plain = false;
};

/// A rate limit.
struct limit_terms {
    /// Requests ask for about so many permits, or a few times as many.
    static constexpr std::uint64_t unit = 1'000'000;

    std::uint64_t permits() const noexcept { return most * unit; }
    std::uint64_t at_once() const noexcept { return burst == 0 ? most : burst; }
    std::string key() const { return "limit:" + std::to_string(number_of_key); }

    std::size_t number_of_key = 0;  ///< two limits may share one
    std::uint64_t most = 1;         ///< usual requests in a window
    std::int64_t window_ms = 0;
    rate_algorithm kind = rate_algorithm::fixed_window;
    std::uint64_t burst = 0;  ///< usual requests at once; 0: `most`
};

/// What the seed of a run chose.
struct scenario {
    /// `more`: what came later draws from a chance of its own, so that it changes no other.
    scenario(dice& chance, dice more, deployment d = deployment::alone);

    bool has(fault f) const noexcept { return faults[static_cast<std::size_t>(f)]; }
    /// A server that may forget what it confirmed: overlaps are declared, only fences protect.
    bool may_forget() const noexcept {
        return has(fault::restart_empty) || has(fault::failover) || has(fault::server_clock) ||
               has(fault::split_brain);
    }
    /// Waiters that may not hear of a release.
    bool misses_messages() const noexcept {
        return has(fault::lost_push) || has(fault::late_push) || has(fault::no_channel);
    }
    /// Something else may be where a lock is.
    bool mixes_types() const noexcept { return has(fault::vandal) || same_key; }
    /// A server that may answer with an error; one that refuses batches needn't be noticed.
    bool refuses() const noexcept {
        return has(fault::read_only) || has(fault::loading) || has(fault::out_of_memory) ||
               has(fault::no_permission) || mixes_types();
    }
    /// Another server may take the place of one.
    bool replaces_servers() const noexcept {
        return run_as != deployment::alone &&
               (has(fault::failover) || has(fault::role_swap) || has(fault::split_brain));
    }
    /// It may be met as a replica.
    bool may_say_read_only() const noexcept { return has(fault::read_only) || replaces_servers(); }
    /// Loading; or a part of a cluster has no master, or its keys are on two of them; or a master
    /// has no replica.
    bool may_say_unavailable() const noexcept {
        return has(fault::loading) || has(fault::migration) ||
               (run_as == deployment::cluster && replaces_servers()) || has(fault::split_brain);
    }
    /// A client may be without a server that answers. Where a master is wanted, one that may not
    /// write is left.
    bool disconnects() const noexcept {
        return has(fault::reset_before) || has(fault::reset_after) || has(fault::silent_cut) ||
               has(fault::clog_up) || has(fault::clog_down) || has(fault::partition) ||
               has(fault::straggle) || has(fault::stall) || has(fault::restart) ||
               has(fault::restart_empty) || has(fault::failover) || has(fault::pause) ||
               has(fault::role_swap) || has(fault::split_brain) ||
               (run_as != deployment::alone && has(fault::read_only));
    }
    /// Nothing goes wrong but that parts of a cluster move: no hold may be lost to that.
    bool only_moves() const noexcept {
        return has(fault::migration) && faults.count() == (has(fault::cut_off) ? 2 : 1);
    }
    /// So long after the last fault, every client is connected and listens again.
    instant settling() const noexcept;
    /// A free lock with a waiter is taken no later than this, when all has settled.
    instant promptness() const noexcept;
    /// Two round trips may take longer than a client waits for an answer.
    bool is_slow() const noexcept;

    std::bitset<fault_count> faults{};
    instant fault_pause = 0;  ///< between two faults, about
    instant chaos = 0;        ///< how long faults go on
    instant calm = 0;         ///< how long work goes on after that, settling apart

    std::size_t clients = 0;
    std::size_t users = 0;  ///< per client
    std::size_t names = 0;
    instant think = 0;  ///< between two things that a user does, about
    duration longest_lease{};
    /// Where holds are passed on, beyond what is asked for in the first place.
    duration longest_extension() const noexcept { return longest_lease * (crowded ? 3 : 1); }
    bool nesting = false;
    bool detaching = false;
    bool fixed_leases = false;  ///< most holds aren't renewed
    bool lingering = false;     ///< users hold on to what they have
    bool together = false;      ///< and to several at a time, with the same lease
    std::vector<lock_name> locks{};
    bool same_key = false;  ///< a mutex and a token_mutex have one name
    std::vector<limit_terms> limits{};
    std::size_t askers = 0;            ///< per client, of permits
    bool closing = false;              ///< clients are shut down
    std::size_t further_watchers = 0;  ///< of one hold, at most
    bool crowded = false;              ///< many users of a client want the same lock alike
    bool reporting = false;  ///< most holders have to report progress, and may fall silent

    deployment run_as = deployment::alone;
    bool read_write = false;           ///< all locks are read-write locks
    bool fair = false;                 ///< all locks are fair
    std::size_t redisson_threads = 0;  ///< that stand in the same lines
    bool sharded = false;              ///< the cluster knows the messages of its parts
    bool tries_again_at_once = false;  ///< of several keys that are divided: the old owner says so
    fleet::process cut_off = 0;        ///< which one is
    /// By so much the clocks of those that are replicas in the beginning tell a later time.
    std::int64_t replicas_ahead_us = 0;
    /// What most locks want; `at_least` is zero if they want nothing, and on one server.
    replica_options replicas{};
    /// Between two keys of a part that moves, about, at most: it may take longer than a lease.
    instant migration_pause = 30 * millis;

    network::settings net{};
    conch::config settings{};

private:
    void choose_settings(dice& chance);
    void name_locks(dice& chance);
    void lock_for_reading();
    void set_limits(dice& chance);
    void deploy(dice& chance);
    void part_masters(dice& chance);
};

}  // namespace conch::sim

#endif
