// SPDX-License-Identifier: BSL-1.0
#include "sim/counters/faults.hpp"

#include "sim/counters/stage.hpp"
#include "sim/parting.hpp"

#include <algorithm>
#include <iterator>

namespace conch::sim::counters {

bool knows(fault f, deployment world) noexcept {
    using enum fault;
    constexpr fault of_strangers[] = {resize, deletion, split_brain};
    const auto has = [f](const auto& kinds) {
        return std::find(std::begin(kinds), std::end(kinds), f) != std::end(kinds);
    };
    constexpr fault kinds[] = {reset_before,  reset_after,  silent_cut, clog_up,      clog_down,
                               partition,     straggle,     stall,      restart,      restart_empty,
                               failover,      script_flush, lost_push,  read_only,    loading,
                               out_of_memory, pause,        crash,      server_clock, no_permission,
                               no_channel,    unsubscribed, no_kill,    migration,    role_swap,
                               cancel};
    if (f == force) {  // what has owners
        return world == deployment::permits;
    }
    if (f == late_push) {  // what believes messages
        return world == deployment::counters;
    }
    return has(kinds) || (world != deployment::deadlocks && has(of_strangers));
}

// The scenario has late_push only where it can happen; `happens_in` knows it of fair locks alone.
fault_injector::fault_injector(stage& s) : all_{s} {
    for (std::size_t i = 0; i < fault_count; ++i) {
        const fault f = static_cast<fault>(i);
        if (s.how().has(f) && f != fault::cancel && f != fault::no_kill && f != fault::force &&
            f != fault::resize && (f == fault::late_push || happens_in(f, s.how().run_as))) {
            kinds_.push_back(f);
        }
    }
}

void fault_injector::start() {
    if (!kinds_.empty()) {
        world& w = all_.the_world();
        const instant mending = over_ ? all_.how().promptness() : 0;
        w.plan<&fault_injector::next>(
            w.now() + mending + w.chance.spread(millis, all_.how().fault_pause), this);
    }
}

void fault_injector::next(std::uint64_t, std::uint64_t) {
    if (!kinds_.empty() && !all_.stopped()) {
        happen(kinds_[all_.the_world().chance.below(kinds_.size())]);
        start();
    }
}

bool fault_injector::alone() const noexcept { return all_.how().run_as == deployment::alone; }

instant fault_injector::until() {
    world& w = all_.the_world();
    return w.now() + w.chance.spread(500 * micros, 3 * seconds);
}

void fault_injector::happen(fault f) {
    world& w = all_.the_world();
    effect& e = all_.attempt(f);
    const std::uint64_t client = w.chance.below(all_.clients().size());
    const bool heard = w.chance.once_in(2);
    fake_redis& redis = all_.server().redis();
    w.note(name_of(f), client);
    switch (f) {
        case fault::read_only:
        case fault::loading:
        case fault::out_of_memory:
        case fault::no_permission:
        case fault::no_channel: refuse(f, &e); return;
        case fault::pause: all_.clients()[client]->pause(until(), &e); return;
        case fault::crash: all_.replace_client(client, heard, &e); return;
        case fault::lost_push: redis.lose_messages(1 + w.chance.below(3), &e); return;
        case fault::late_push: redis.delay_messages(1 + w.chance.below(12), &e); return;
        case fault::script_flush:
            feel(redis.any_script() ? &e : nullptr);
            redis.script_flush();
            return;
        case fault::server_clock:
            all_.server().step_clock(w.chance.between(-2'000'000, 2'000'000), &e);
            return;
        case fault::unsubscribed: {
            const std::string channel = all_.channel(w.chance.below(all_.names()));
            feel(all_.server().end_subscriptions(channel) ? &e : nullptr);
            return;
        }
        case fault::deletion: feel(all_.by_stranger(f) ? &e : nullptr); return;
        case fault::stall:
        case fault::restart:
        case fault::restart_empty:
        case fault::failover:
        case fault::migration:
        case fault::split_brain:
        case fault::role_swap: on_process(f, heard, &e); return;
        default: on_link(f, client, &e); return;
    }
}

void fault_injector::on_process(fault f, bool heard, effect* e) {
    world& w = all_.the_world();
    server_node& server = all_.server();
    const fleet& processes = server.redis().processes();
    const std::size_t shard = alone() ? 0 : w.chance.below(processes.shards());
    const fleet::process any = alone() ? 0 : w.chance.below(processes.processes());
    const fleet::process master = processes.master(shard);
    if (f == fault::stall) {
        server.stall(until(), e, any);
    } else if (f == fault::migration) {
        const std::uint16_t slot = all_.hash_slot(w.chance.below(all_.names()));
        server.migrate(slot, shard, w.chance.spread(20 * micros, 30 * millis), e);
    } else if (f == fault::role_swap) {
        server.swap_roles(shard, e);
    } else if (f == fault::split_brain) {
        if (part_masters(w, server, all_.net(), all_.clients().size(), shard, e)) {
            all_.parted(shard);
        }
    } else if (f == fault::failover && !alone()) {
        if (server.may_take_over(shard)) {
            const instant promoted = w.now() + w.chance.spread(millis, 1 * seconds);
            server.take_over({shard, w.chance.below(8), heard, promoted, until()}, e);
        }
    } else if (f == fault::restart) {
        if (server.may_restart(any)) {
            server.restart(true, heard, until(), e, any);
        }
    } else if (!server.may_restart(master)) {
        return;
    } else if (f == fault::failover) {
        server.fail_over(1 + w.chance.below(8), heard, until(), e);
    } else {
        server.restart(false, heard, until(), e, master);
    }
}

void fault_injector::refuse(fault f, effect* e) {
    const char* const words =
        f == fault::read_only       ? "READONLY You can't write against a read only replica."
        : f == fault::loading       ? "LOADING Redis is loading the dataset in memory"
        : f == fault::out_of_memory ? "OOM command not allowed when used memory > 'maxmemory'."
        : f == fault::no_channel
            ? "NOPERM this user has no permissions to access one of the channels used as arguments"
            : "NOPERM this user has no permissions to run the 'evalsha' command";
    all_.server().redis().refuse(words, e);
    all_.the_world().plan<&fault_injector::end_refusal>(until(), this);
}

void fault_injector::end_refusal(std::uint64_t, std::uint64_t) { all_.server().redis().refuse({}); }

void fault_injector::on_link(fault f, std::uint64_t client, effect* e) {
    world& w = all_.the_world();
    network& n = all_.net();
    const instant end = until();
    if (f == fault::reset_before || f == fault::reset_after) {
        n.reset(client, f == fault::reset_after, e);
    } else if (f == fault::silent_cut) {
        n.cut_silently(client, e);
    } else if (f == fault::straggle) {
        const bool outlives = w.chance.once_in(2);
        n.hold_up(client, end + (outlives ? all_.how().settings.response_timeout.count() : 0), e);
    }
    if (f == fault::clog_up || f == fault::partition) {
        n.clog(client, way::up, end, e);
    }
    if (f == fault::clog_down || f == fault::partition) {
        n.clog(client, way::down, end, e);
    }
}

void fault_injector::heal() {
    over_ = true;
    std::erase_if(kinds_, [&](fault f) { return !all_.goes_on(f); });
    all_.the_world().note("heal");
    all_.server().heal();
    all_.server().redis().refuse({});
    all_.server().redis().lose_messages(0);
    all_.server().redis().delay_messages(0);
    all_.net().heal();
    for (const auto& c : all_.clients()) {
        c->heal();
    }
}

}  // namespace conch::sim::counters
