// SPDX-License-Identifier: BSL-1.0
#include "sim/scenario.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>

namespace conch::sim {
namespace {

using namespace std::chrono_literals;

duration spread(dice& chance, duration from, duration to) {
    return duration{chance.spread(from.count(), to.count())};
}

deployment choose_servers(dice& chance) {
    constexpr deployment all[] = {deployment::alone, deployment::sentinel, deployment::cluster};
    return all[chance.below(std::size(all))];
}

std::bitset<fault_count> choose_faults(dice& chance) {
    std::bitset<fault_count> chosen;
    if (chance.once_in(16)) {
        return chosen;  // a fine day
    }
    // Few kinds in most runs, all of them in some.
    const std::uint64_t odds = 1 + chance.below(8);
    // The others came later: they are chosen with chances of their own.
    for (std::size_t i = 0; i < static_cast<std::size_t>(fault::no_kill); ++i) {
        chosen[i] = chance.once_in(odds);
    }
    // A wall clock that steps back and a lost token together may lower fences: declared.
    if (chosen[static_cast<std::size_t>(fault::server_clock)]) {
        chosen[static_cast<std::size_t>(fault::restart_empty)] = false;
        chosen[static_cast<std::size_t>(fault::failover)] = false;
    }
    return chosen;
}

}  // namespace

std::string_view name_of(fault f) noexcept {
    switch (f) {
        case fault::reset_before: return "reset_before";
        case fault::reset_after: return "reset_after";
        case fault::silent_cut: return "silent_cut";
        case fault::clog_up: return "clog_up";
        case fault::clog_down: return "clog_down";
        case fault::partition: return "partition";
        case fault::straggle: return "straggle";
        case fault::stall: return "stall";
        case fault::restart: return "restart";
        case fault::restart_empty: return "restart_empty";
        case fault::failover: return "failover";
        case fault::script_flush: return "script_flush";
        case fault::lost_push: return "lost_push";
        case fault::read_only: return "read_only";
        case fault::loading: return "loading";
        case fault::out_of_memory: return "out_of_memory";
        case fault::server_clock: return "server_clock";
        case fault::pause: return "pause";
        case fault::crash: return "crash";
        case fault::cancel: return "cancel";
        case fault::drop: return "drop";
        case fault::force: return "force";
        case fault::vandal: return "vandal";
        case fault::no_permission: return "no_permission";
        case fault::no_channel: return "no_channel";
        case fault::batch_refused: return "batch_refused";
        case fault::persist: return "persist";
        case fault::unsubscribed: return "unsubscribed";
        case fault::no_kill: return "no_kill";
        case fault::migration: return "migration";
        case fault::role_swap: return "role_swap";
        case fault::cut_off: return "cut_off";
        case fault::split_brain: return "split_brain";
        case fault::deletion: return "deletion";
        case fault::late_push: return "late_push";
        case fault::resize: return "resize";
        case fault::count: break;
    }
    return "?";
}

scenario::scenario(dice& chance, dice more, deployment d)
    : faults{choose_faults(chance)},
      fault_pause{chance.spread(50 * millis, 1 * seconds)},
      chaos{chance.between(500 * millis, 3 * seconds)},
      clients{1 + chance.below(3)},
      users{1 + chance.below(3)},
      names{1 + chance.below(3)},
      think{chance.spread(20 * millis, 500 * millis)},
      longest_lease{spread(chance, 200ms, 30s)},
      nesting{chance.once_in(3)},
      detaching{chance.once_in(4)},
      run_as{d == deployment::read_write || d == deployment::fair ? choose_servers(more) : d},
      read_write{d == deployment::read_write},
      fair{d == deployment::fair} {
    clients += clients * users < 2 ? 1 : 0;
    together = has(fault::vandal) || (has(fault::batch_refused) && chance.once_in(2));
    fixed_leases = !together && chance.once_in(8);
    // Long enough to see that what was refused is tried again.
    const bool refused_renewals = refuses() && chance.once_in(4);
    lingering = fixed_leases || refused_renewals || together;
    if (refused_renewals) {
        longest_lease = spread(chance, 2s, 6s);
    }
    if (fixed_leases) {
        // Looked at now and then: somebody takes them away.
        faults[static_cast<std::size_t>(fault::force)] = true;
        longest_lease = spread(chance, 1s, 6s);
    }
    if (together) {
        // Long enough to see that the other locks' renewals don't suffer.
        longest_lease = spread(chance, 1500ms, 4s);
        users = std::max<std::size_t>(users, 2);
        names = std::max<std::size_t>(names, 2);
    }
    choose_settings(chance);
    // What must come about promptly has the time to, and to be seen not to.
    calm = 2 * promptness() + chance.spread(1 * seconds, 4 * seconds);
    if (lingering) {
        calm += longest_lease.count();
    }
    name_locks(more);
    set_limits(more);
    closing = more.once_in(6);
    further_watchers = more.once_in(settings.max_pending < 100 ? 2 : 16) ? 3 : 0;
    if (more.once_in(8)) {
        // It matters to what such a connection has not brought to the server yet.
        faults[static_cast<std::size_t>(fault::no_kill)] = true;
        faults[static_cast<std::size_t>(fault::straggle)] = true;
        faults[static_cast<std::size_t>(fault::failover)] = false;
    }
    crowded = !nesting && !lingering && more.once_in(4);
    if (crowded) {
        users = 3 + more.below(6);
        think = std::min(think, more.spread(2 * millis, 50 * millis));
    }
    if (run_as != deployment::alone) {
        deploy(more);
    }
    settings.max_pass_time = more.once_in(4) ? spread(more, 1ms, 1s) : settings.max_pass_time;
    if (more.once_in(8) && happens_in(fault::deletion, d) && !same_key) {
        faults[static_cast<std::size_t>(fault::deletion)] = true;
    }
    if (run_as != deployment::alone) {
        part_masters(more);
    }
    if (fair) {
        faults[static_cast<std::size_t>(fault::late_push)] = more.once_in(2);
        if (has(fault::late_push) && more.once_in(2)) {
            // Who was given the lock often asks when that is over, and has a message on its way.
            longest_lease = spread(more, 200ms, 600ms);
            settings.max_poll_interval = std::max(settings.max_poll_interval, 2 * longest_lease);
        }
        redisson_threads = more.once_in(2) ? 1 + more.below(3) : 0;
    }
    reporting = more.once_in(6);
}

void scenario::choose_settings(dice& chance) {
    net.latency = chance.spread(20 * micros, 5 * millis);
    net.jitter = chance.between(0, net.latency);
    net.spike_once_in = chance.once_in(3) ? 20 : 0;
    if (chance.once_in(6)) {
        net.piece = static_cast<std::uint64_t>(chance.once_in(8) ? chance.spread(1, 8)
                                                                 : chance.spread(16, 512));
    }
    net.keepalive = 3 * seconds;

    settings.connect_timeout = spread(chance, 300ms, 2s);
    settings.response_timeout = spread(chance, 300ms, 2s);
    settings.ping_interval = spread(chance, 500ms, 3s);
    settings.reconnect_delay_max = spread(chance, 50ms, 1s);
    settings.reconnect_delay_min = std::min<duration>(20ms, settings.reconnect_delay_max);
    settings.operation_timeout = spread(chance, 500ms, 5s);
    // A long one, so that a lost wake-up isn't hidden by the next poll; but not where messages are
    // lost.
    settings.max_poll_interval =
        misses_messages() || fair ? spread(chance, 50ms, 2s) : spread(chance, 500ms, 30s);
    settings.max_passes = static_cast<unsigned>(chance.spread(1, 16));
    if (chance.once_in(6)) {
        settings.max_pending = 1 + chance.below(2 * users);
    }
}

// What the locks of mutexes are for, and what is only known of those.
void scenario::lock_for_reading() {
    for (std::size_t i = 0; i < fault_count; ++i) {
        faults[i] = faults[i] && happens_in(static_cast<fault>(i), deployment::read_write);
    }
    for (std::size_t i = 0; i < names; ++i) {
        locks.push_back({"lock:" + std::to_string(i)});
    }
    nesting = false;
}

// Mostly mutexes of names that have nothing to do with each other.
void scenario::name_locks(dice& chance) {
    if (read_write) {
        lock_for_reading();
        return;
    }
    if (fair) {
        faults[static_cast<std::size_t>(fault::batch_refused)] = false;  // of several keys is each
        for (std::size_t i = 0; i < names; ++i) {
            locks.push_back({"lock:" + std::to_string(i)});
        }
        return;
    }
    enum { all_plain, some_plain, twins, alike, usual };
    const std::uint64_t kind = std::min<std::uint64_t>(chance.below(4 * usual), usual);
    names = std::max<std::size_t>(names, kind == twins || kind == alike ? 2 : 1);
    for (std::size_t i = 0; i < names; ++i) {
        const bool plain = kind == all_plain || (kind == some_plain && chance.once_in(2));
        locks.push_back({"lock:" + std::to_string(i), plain});
    }
    if (kind == twins) {  // two locks with one channel and one fencing token
        locks[0].plain = locks[1].plain = chance.once_in(2);
        locks[1].text = "{" + locks[0].text + "}";
    } else if (kind == alike) {
        locks[1].plain = true;
        same_key = chance.once_in(2);
        locks[1].text = same_key ? locks[0].text : "{" + locks[0].text + "}";
    }
    if (same_key) {
        // Who loses a lock that the other kind takes then is told of an error, not of a loss.
        for (const fault f : {fault::force, fault::vandal, fault::restart_empty, fault::failover,
                              fault::server_clock}) {
            faults[static_cast<std::size_t>(f)] = false;
        }
    }
}

void scenario::set_limits(dice& chance) {
    if (!chance.once_in(5)) {
        return;
    }
    limits.resize(1 + chance.below(2));
    for (limit_terms& l : limits) {
        l.most = 1 + chance.below(4);
        l.window_ms = chance.spread(20, 2000);
        l.kind = chance.once_in(2) ? rate_algorithm::sliding_log : rate_algorithm::fixed_window;
        if (l.window_ms % 3 == 0) {  // no draw, which would change all that follow
            l.kind = rate_algorithm::gcra;
            l.burst = static_cast<std::uint64_t>(l.window_ms / 3) % (l.most + 1);
        }
    }
    if (limits.size() == 2 && chance.once_in(2)) {  // it is being changed
        limits[1] = limits[0];
        limits[1].most += 1 + chance.below(3);
    } else if (limits.size() == 2) {
        limits[1].number_of_key = 1;
    }
    askers = 1 + chance.below(2);
}

}  // namespace conch::sim
