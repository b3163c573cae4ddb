// SPDX-License-Identifier: BSL-1.0
// A scenario with several servers, and what takes its time.
#include "sim/counters/faults.hpp"
#include "sim/majority/scenario.hpp"

#include <algorithm>
#include <chrono>

namespace conch::sim {

using namespace std::chrono_literals;

bool happens_in(fault f, deployment d) noexcept {
    using enum fault;
    if (d == deployment::majority) {
        return majority::knows(f);
    }
    if (d == deployment::counters || d == deployment::permits || d == deployment::deadlocks) {
        return counters::knows(f, d);
    }
    const bool anywhere = d == deployment::read_write || d == deployment::fair;
    switch (f) {
        case migration: return d == deployment::cluster || anywhere;
        case role_swap:
        case split_brain:
        case cut_off: return d != deployment::alone;
        case server_clock: return d != deployment::cluster;
        case batch_refused: return d != deployment::fair;
        case late_push: return d == deployment::fair;
        case resize: return false;  // there are no permits
        default: return true;
    }
}

void scenario::deploy(dice& chance) {
    const auto let = [&](fault f, bool yes) {
        faults[static_cast<std::size_t>(f)] = yes && happens_in(f, run_as);
    };
    if (chance.once_in(3)) {
        // Nothing else goes wrong.
        faults.reset();
        together = lingering = fixed_leases = false;
    }
    const auto want_replicas = [&] {
        if (!read_write && chance.once_in(3)) {
            replicas = {.at_least = 1, .within = 2ms};  // no lease is shorter than four times that
        }
    };
    let(fault::migration, !chance.once_in(6));
    let(fault::role_swap, chance.once_in(3));
    let(fault::server_clock, has(fault::server_clock));
    if (chance.once_in(2)) {
        fault_pause = chance.spread(5 * millis, 200 * millis);
    }
    if (net.piece != 0) {
        net.piece = std::max<std::uint64_t>(net.piece, 16);  // there is much to read
    }
    sharded = !chance.once_in(4);
    tries_again_at_once = chance.once_in(2);
    const duration scan{chance.spread(duration{50ms}.count(), duration{2s}.count())};
    if (run_as == deployment::sentinel) {
        settings.sentinel.emplace();
        settings.sentinel->master = "main";
        settings.sentinel->addresses = {{"127.0.0.1", fleet::first_port + 2},
                                        {"127.0.0.1", fleet::first_port + 3}};
        settings.sentinel->scan_interval = scan;
        want_replicas();
        cut_off = 2 + chance.below(2);
        let(fault::cut_off, replaces_servers() && chance.once_in(3));
        return;
    }
    if (has(fault::migration) && chance.once_in(2)) {
        // Those take longer than leases, which are long enough for their loss to be judged.
        migration_pause = chance.spread(3 * seconds, 8 * seconds);
        longest_lease = duration{chance.spread(duration{2s}.count(), duration{5s}.count())};
        chaos += chance.spread(8 * seconds, 16 * seconds);
        lingering = lingering || chance.once_in(2);
    }
    settings.cluster.emplace();
    settings.cluster->scan_interval = scan;
    const std::uint64_t first = chance.below(6);
    for (std::uint64_t i = 0; i <= chance.below(3); ++i) {
        settings.cluster->addresses.push_back(
            {"127.0.0.1", static_cast<std::uint16_t>(fleet::first_port + (first + i) % 6)});
    }
    want_replicas();
    cut_off = chance.below(6);
    let(fault::cut_off, (replaces_servers() || has(fault::migration)) && chance.once_in(3));
}

// Where the servers' clocks step, or a lock takes the place of one of another kind, what is lost
// with a master is told in other ways.
void scenario::part_masters(dice& chance) {
    if (!chance.once_in(4) || has(fault::server_clock) || has(fault::no_kill) || same_key) {
        return;
    }
    if (chance.once_in(2)) {  // nothing else goes wrong
        faults.reset();
        together = lingering = fixed_leases = false;
    }
    faults[static_cast<std::size_t>(fault::split_brain)] = true;
    clients = std::max<std::size_t>(clients, 2);
    chaos += chance.spread(2 * seconds, 8 * seconds);
    if (chance.once_in(2)) {
        longest_lease = duration{chance.spread(duration{1s}.count(), duration{8s}.count())};
    }
    if (limits.empty() && chance.once_in(2)) {
        const std::int64_t apart = chance.spread(100, 200'000);
        replicas_ahead_us = chance.once_in(2) ? apart : -apart;
    }
}

instant scenario::settling() const noexcept {
    // Connections that ended unheard.
    const bool deaf = has(fault::silent_cut) || has(fault::restart) || has(fault::restart_empty) ||
                      has(fault::failover) || has(fault::crash) || has(fault::split_brain);
    const duration notice = deaf ? settings.ping_interval + settings.response_timeout : duration{};
    const duration connect = settings.connect_timeout + 2 * settings.reconnect_delay_max;
    const duration poll = misses_messages() ? settings.max_poll_interval : duration{};
    // Who knows where the masters are is asked anew, one after the other.
    const duration scan = settings.cluster    ? settings.cluster->scan_interval
                          : settings.sentinel ? settings.sentinel->scan_interval
                                              : duration{};
    const instant guided = run_as == deployment::alone ? 0 : (3 * scan + 2 * connect + 2s).count();
    // The places of the dead in line.
    const duration dead = fair ? 3 * settings.max_poll_interval : duration{};
    return std::max(
               {(notice + connect).count(), poll.count(), deaf ? net.keepalive : 0, dead.count()}) +
           500 * millis + guided;
}

instant scenario::promptness() const noexcept {
    // Two round trips, the turn of others (at most 200 ms), and handlers that take their time.
    const instant one_way = net.worst_latency();
    // A refused SUBSCRIBE isn't tried again while somebody waits: that one asks each 100 ms.
    const instant poll = has(fault::no_channel) ? 120 * millis : 0;
    // And a waiter's clock that drifts while it waits for a lease to end.
    // One who was sent on, or has to connect first.
    const instant elsewhere = run_as == deployment::alone ? 0 : 8 * one_way + 100 * millis;
    return 4 * one_way + 300 * millis + poll + longest_lease.count() / 50 + elsewhere;
}

bool scenario::is_slow() const noexcept {
    return 4 * net.worst_latency() >=
           std::min(
               {settings.response_timeout, settings.operation_timeout, settings.connect_timeout})
               .count();
}

}  // namespace conch::sim
