// SPDX-License-Identifier: BSL-1.0
#include "sim/majority/scenario.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>

namespace conch::sim::majority {
namespace {

using namespace std::chrono_literals;

duration spread(dice& chance, duration from, duration to) {
    return duration{chance.spread(from.count(), to.count())};
}

std::bitset<fault_count> choose_faults(dice& chance) {
    std::bitset<fault_count> chosen;
    const std::uint64_t odds = chance.once_in(12) ? 0 : 1 + chance.below(8);
    for (std::size_t i = 0; i < fault_count; ++i) {
        chosen[i] = odds != 0 && chance.once_in(odds) && knows(static_cast<fault>(i));
    }
    return chosen;
}

std::size_t choose_servers(dice& chance) {
    constexpr std::size_t others[] = {5, 1, 2};
    return chance.once_in(4) ? others[chance.below(3)] : 3;
}

}  // namespace

bool knows(fault f) noexcept {
    using enum fault;
    constexpr fault kinds[] = {
        reset_before, reset_after,  silent_cut, clog_up,       clog_down,    partition,
        straggle,     stall,        restart,    restart_empty, script_flush, lost_push,
        read_only,    loading,      pause,      out_of_memory, server_clock, crash,
        cancel,       force,        vandal,     no_permission, no_channel,   batch_refused,
        persist,      unsubscribed, no_kill,    deletion,      late_push};
    return std::find(std::begin(kinds), std::end(kinds), f) != std::end(kinds);
}

scenario::scenario(dice& chance, dice more)
    : faults{choose_faults(chance)},
      servers{choose_servers(chance)},
      // Mostly a minority.
      victims{chance.once_in(3) ? servers : (servers - 1) / 2},
      processes{1 + chance.below(3)},
      users{1 + chance.below(3)},
      names{chance.once_in(3) ? 2u : 1u},
      groups{chance.once_in(6) ? 2u : 1u},
      fault_pause{chance.spread(50 * millis, 1 * seconds)},
      chaos{chance.between(500 * millis, 4 * seconds)},
      think{chance.spread(10 * millis, 500 * millis)},
      longest_lease{spread(chance, 300ms, 5s)},
      fixed_leases{chance.once_in(6)},
      detaching{chance.once_in(6)} {
    processes += processes * users < 2 ? 1 : 0;
    net.latency = chance.spread(20 * micros, 5 * millis);
    net.jitter = chance.between(0, net.latency);
    net.spike_once_in = chance.once_in(6) ? 20 : 0;
    net.keepalive = 3 * seconds;
    // Handlers take their time, too.
    answer_timeout = spread(chance, 20ms, 200ms);
    if (!chance.once_in(4)) {
        answer_timeout = std::max(answer_timeout, sound_answer_timeout());
    }
    settings.connect_timeout = spread(chance, 300ms, 2s);
    settings.response_timeout = spread(chance, 300ms, 2s);
    settings.ping_interval = spread(chance, 500ms, 3s);
    settings.reconnect_delay_max = spread(chance, 50ms, 500ms);
    settings.reconnect_delay_min = std::min<duration>(20ms, settings.reconnect_delay_max);
    settings.operation_timeout = spread(chance, 500ms, 5s);
    settings.max_poll_interval = spread(chance, 500ms, 10s);
    settings.max_passes = static_cast<unsigned>(chance.spread(1, 16));
    settings.default_lease = longest_lease;
    calm = longest_lease.count() + patience() + chance.spread(1 * seconds, 4 * seconds);
    closing = more.once_in(5) && victims > 0;
    hanging = more.once_in(4) && victims > 0;
    if (more.once_in(6)) {
        settings.max_pending = users + 1 + more.below(4);
    }
    all = more.once_in(3);
    if (all) {
        groups = 1 + more.below(3);
        answer_timeout = terms_of(servers).answer_timeout;
        calm = longest_lease.count() + patience() + more.spread(1 * seconds, 4 * seconds);
        locks = 1 + more.below(2);
        mixed = more.once_in(2);
    }
    forces_one = has(fault::force) && victims > 0 && more.once_in(2);
    if (mixed) {
        // The number of permits would be gone.
        faults[static_cast<std::size_t>(fault::restart_empty)] = false;
        // A place in line of who has crashed lasts three of them.
        settings.max_poll_interval = std::min<duration>(settings.max_poll_interval, 1s);
    }
}

instant scenario::settling() const noexcept {
    const bool deaf = has(fault::silent_cut) || has(fault::restart) || has(fault::restart_empty) ||
                      has(fault::crash) || has(fault::straggle);
    const duration notice = deaf ? settings.ping_interval + settings.response_timeout : duration{};
    const duration connect = settings.connect_timeout + 2 * settings.reconnect_delay_max;
    return std::max((notice + connect).count(), deaf ? net.keepalive : 0) + 500 * millis;
}

// Rounds of some contenders, with the pauses between them, or two lines.
instant scenario::patience() const noexcept {
    return all ? 25 * seconds : 3 * seconds + 60 * answer_timeout.count();
}

}  // namespace conch::sim::majority
