// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_MAJORITY_SCENARIO_HPP
#define CONCH_TEST_SIM_MAJORITY_SCENARIO_HPP

#include "group/terms.hpp"
#include "sim/network.hpp"
#include "sim/scenario.hpp"
#include "sim/world.hpp"

#include <conch/config.hpp>

#include <bitset>
#include <chrono>
#include <cstddef>

namespace conch::sim::majority {

/// It can happen here.
bool knows(fault f) noexcept;

/// What the seed of a run chose.
struct scenario {
    /// `more`: what came later draws from a chance of its own, so that it changes no other.
    scenario(dice& chance, dice more);

    bool has(fault f) const noexcept { return faults[static_cast<std::size_t>(f)]; }
    /// Locks that a group may have of a name: so many at each server.
    std::size_t places() const noexcept { return servers * locks; }
    std::size_t server_of(std::size_t place) const noexcept { return place % servers; }
    /// Its faults are those of servers, and of connections to them.
    bool spares(std::size_t place) const noexcept { return server_of(place) >= victims; }
    group::terms terms_of(std::size_t members) const noexcept {
        return all ? group::terms::every(members, settings.operation_timeout)
                   : group::terms::majority(members, answer_timeout);
    }
    /// The other servers are enough.
    bool is_minority() const noexcept { return victims <= servers - terms_of(servers).needed; }
    /// What happens to servers is in nobody's way: the others are enough, and answer in time.
    bool enough_are_sound() const noexcept {
        return is_minority() && !has(fault::pause) && answers_in_time();
    }
    /// Whoever is there does.
    bool answers_in_time() const noexcept {
        return net.spike_once_in == 0 && answer_timeout >= sound_answer_timeout();
    }
    duration sound_answer_timeout() const noexcept {
        return duration{8 * net.latency} + std::chrono::milliseconds{40};
    }
    /// Clients take on little at a time.
    bool crowded() const noexcept { return settings.max_pending < conch::config{}.max_pending; }
    /// So long after the last fault, every client is connected and listens again.
    instant settling() const noexcept;
    /// When all has settled, what was given up is gone from the servers in this time.
    instant promptness() const noexcept { return 8 * net.worst_latency() + 100 * millis; }
    /// A release that met something else at its server asks again after at most so long.
    instant release_pause() const noexcept { return has(fault::vandal) ? 1100 * millis : 0; }
    /// Who forces a release does so at all servers.
    bool forces_all() const noexcept { return has(fault::force) && !forces_one; }
    /// When all has settled, somebody gets a free lock in this time.
    instant patience() const noexcept;

    std::bitset<fault_count> faults{};
    std::size_t servers = 3;
    std::size_t victims = 0;  ///< the first so many servers are what faults happen to
    std::size_t processes = 0;
    std::size_t users = 0;  ///< per process
    std::size_t names = 0;
    std::size_t groups = 1;  ///< per process and name
    std::size_t locks = 1;   ///< of a name at each server
    instant fault_pause = 0;
    instant chaos = 0;
    instant calm = 0;
    instant think = 0;
    duration longest_lease{};
    duration answer_timeout{};
    bool fixed_leases = false;
    bool detaching = false;
    bool all = false;      ///< each group needs all its members, which are some of the places
    bool mixed = false;    ///< these are of several kinds
    bool closing = false;  ///< clients of members are shut down, of one in each process
    bool forces_one = false;  ///< releases are forced at one server each time
    bool hanging = false;  ///< strands of members hang while their process goes on
    network::settings net{};
    conch::config settings{};
};

}  // namespace conch::sim::majority

#endif
