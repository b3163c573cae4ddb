// SPDX-License-Identifier: BSL-1.0
#include "sim/faults.hpp"

#include "sim/parting.hpp"
#include "sim/simulation.hpp"
#include "wire/hash_slot.hpp"

namespace conch::sim {
namespace {

constexpr const char* read_only = "READONLY You can't write against a read only replica.";
constexpr const char* loading = "LOADING Redis is loading the dataset in memory";
constexpr const char* out_of_memory = "OOM command not allowed when used memory > 'maxmemory'.";

constexpr const char* no_channel =
    "NOPERM this user has no permissions to access one of the channels used as arguments";

const char* words_of(fault refusal) noexcept {
    return refusal == fault::read_only       ? read_only
           : refusal == fault::loading       ? loading
           : refusal == fault::out_of_memory ? out_of_memory
           : refusal == fault::no_channel
               ? no_channel
               : "NOPERM this user has no permissions to run the 'evalsha' command";
}

/// Those that don't happen here: users bring them about, or they are there all the time.
bool by_others(fault f) noexcept {
    return f == fault::cancel || f == fault::drop || f == fault::force || f == fault::no_kill ||
           f == fault::cut_off || f == fault::resize;
}

}  // namespace

bool goes_on(fault f) noexcept {
    return f == fault::persist || f == fault::unsubscribed || f == fault::deletion;
}

fault_injector::fault_injector(simulation& s) : all_{s} {
    for (std::size_t i = 0; i < fault_count; ++i) {
        const fault f = static_cast<fault>(i);
        if (s.how().has(f) && !by_others(f)) {
            kinds_.push_back(f);
        }
    }
}

void fault_injector::start() {
    if (!kinds_.empty()) {
        world& w = all_.the_world();
        // What is mended within a round trip or two has the time to be, when nothing else happens.
        const instant mending = over_ ? all_.how().promptness() : 0;
        w.plan<&fault_injector::next>(
            w.now() + mending + w.chance.spread(millis, all_.how().fault_pause), this);
    }
}

void fault_injector::next(std::uint64_t, std::uint64_t) {
    if (kinds_.empty() || all_.stopped()) {
        return;
    }
    happen(kinds_[all_.the_world().chance.below(kinds_.size())]);
    start();
}

std::uint64_t fault_injector::victim() {
    return all_.the_world().chance.below(all_.clients().size());
}

// From shorter than a round trip to longer than most leases.
instant fault_injector::until() {
    world& w = all_.the_world();
    return w.now() + w.chance.spread(500 * micros, 3 * seconds);
}

void fault_injector::happen(fault f) {
    world& w = all_.the_world();
    effect& e = all_.attempt(f);
    const std::uint64_t client = victim();
    const bool heard = w.chance.once_in(2);
    w.note(name_of(f), client);
    act(f, client, heard, &e);
}

void fault_injector::act(fault f, std::uint64_t client, bool heard, effect* e) {
    world& w = all_.the_world();
    server_node& server = all_.server();
    switch (f) {
        case fault::reset_before:
        case fault::reset_after:
        case fault::silent_cut:
        case fault::clog_up:
        case fault::clog_down:
        case fault::partition:
        case fault::straggle: act_on_connection(f, client, e); return;
        case fault::read_only:
        case fault::loading:
        case fault::out_of_memory:
        case fault::no_permission:
        case fault::no_channel:
        case fault::batch_refused: refuse(f, e); return;
        case fault::stall: {
            const fleet::process p = any_process();
            server.stall(until(), e, p);
            return;
        }
        case fault::lost_push: server.redis().lose_messages(1 + w.chance.below(3), e); return;
        case fault::late_push: server.redis().delay_messages(1 + w.chance.below(12), e); return;
        case fault::restart:
        case fault::restart_empty:
        case fault::failover:
        case fault::migration:
        case fault::split_brain:
        case fault::role_swap: act_on_process(f, heard, e); return;
        case fault::script_flush:
            feel(server.redis().any_script() ? e : nullptr);
            server.redis().script_flush();
            return;
        case fault::server_clock:
            server.step_clock(w.chance.between(-2'000'000, 2'000'000), e);
            return;
        case fault::unsubscribed: {
            const std::uint64_t name = w.chance.below(all_.how().names);
            std::string channel = all_.spec(name)->channel().text();
            if (all_.how().fair) {  // each who stands in line has its own
                const auto line =
                    server.redis().in_line(all_.spec(name)->name(), server.wall_clock());
                channel += line.empty() ? "" : ":" + line[w.chance.below(line.size())].first;
            }
            feel(server.end_subscriptions(channel) ? e : nullptr);
            return;
        }
        case fault::pause: all_.clients()[client]->pause(until(), e); return;
        case fault::crash: all_.replace_client(client, heard, e); return;
        case fault::persist: feel(any_name(&simulation::persist) ? e : nullptr); return;
        case fault::deletion: feel(any_name(&simulation::delete_lock) ? e : nullptr); return;
        case fault::vandal: vandalize_any(e); return;
        case fault::cancel:
        case fault::drop:
        case fault::force:
        case fault::no_kill:
        case fault::cut_off:
        case fault::resize:
        case fault::count: return;
    }
}

bool fault_injector::alone() const noexcept { return all_.how().run_as == deployment::alone; }

// Of those that there are.
fleet::process fault_injector::any_process() {
    return alone() ? 0
                   : all_.the_world().chance.below(all_.server().redis().processes().processes());
}

void fault_injector::act_on_process(fault f, bool heard, effect* e) {
    world& w = all_.the_world();
    server_node& server = all_.server();
    const fleet& f_all = server.redis().processes();
    const std::size_t shard = alone() ? 0 : w.chance.below(f_all.shards());
    if (f == fault::migration) {
        const std::uint64_t name = w.chance.below(all_.how().names);
        const std::uint16_t slot = wire::hash_slot_of(all_.spec(name)->name());
        const instant most = all_.how().migration_pause;
        const instant least = most < 1 * seconds ? 20 * micros : most / 2;
        server.migrate(slot, shard, w.chance.spread(least, most), e);
        return;
    }
    if (f == fault::role_swap) {
        server.swap_roles(shard, e);
        return;
    }
    if (f == fault::split_brain) {
        part_masters(w, server, all_.net(), all_.clients().size(), shard, e);
        return;
    }
    if (f == fault::failover && !alone()) {
        if (server.may_take_over(shard)) {
            const std::size_t lost = w.chance.below(8);
            const instant promoted = w.now() + w.chance.spread(millis, 1 * seconds);
            server.take_over({shard, lost, heard, promoted, until()}, e);
        }
        return;
    }
    if (f == fault::restart) {
        const fleet::process p = any_process();
        if (server.may_restart(p)) {
            server.restart(true, heard, until(), e, p);
        }
        return;
    }
    const fleet::process p = f_all.master(shard);
    if (!server.may_restart(p)) {
        return;
    }
    const instant back = until();
    if (f == fault::failover) {
        server.fail_over(1 + w.chance.below(8), heard, back, e);
    } else {
        server.restart(false, heard, back, e, p);
    }
}

void fault_injector::act_on_connection(fault f, std::uint64_t client, effect* e) {
    network& net = all_.net();
    if (!alone() && all_.the_world().chance.once_in(2)) {
        net.aim_at(fleet::port_of(any_process()));
    }
    act_on_lines(f, client, e);
    net.aim_at({});
}

void fault_injector::act_on_lines(fault f, std::uint64_t client, effect* e) {
    world& w = all_.the_world();
    network& net = all_.net();
    if (f == fault::reset_before || f == fault::reset_after) {
        net.reset(client, f == fault::reset_after, e);
        return;
    }
    if (f == fault::silent_cut) {
        net.cut_silently(client, e);
        return;
    }
    if (f == fault::straggle) {
        // The client has given the line up by then, or not yet.
        const instant patience =
            w.chance.once_in(2) ? all_.how().settings.response_timeout.count() : 0;
        net.hold_up(client, until() + patience, e);
        return;
    }
    const instant end = until();
    if (f != fault::clog_down) {
        net.clog(client, way::up, end, e);
    }
    if (f != fault::clog_up) {
        net.clog(client, way::down, end, e);
    }
}

void fault_injector::refuse(fault f, effect* e) {
    world& w = all_.the_world();
    if (f == fault::batch_refused) {
        all_.server().redis().refuse_batches(true, e);
        w.plan<&fault_injector::end_batch_refusal>(until(), this);
    } else {
        all_.server().redis().refuse(words_of(f), e);
        w.plan<&fault_injector::end_refusal>(until(), this);
    }
}

void fault_injector::end_refusal(std::uint64_t, std::uint64_t) { all_.server().redis().refuse({}); }

void fault_injector::end_batch_refusal(std::uint64_t, std::uint64_t) {
    if (!over_) {
        all_.server().redis().refuse_batches(false);
    }
}

bool fault_injector::any_name(bool (simulation::*what)(std::size_t name)) {
    const std::size_t names = all_.how().names;
    const std::size_t first = all_.the_world().chance.below(names);
    for (std::size_t i = 0; i < names; ++i) {
        if ((all_.*what)((first + i) % names)) {
            return true;
        }
    }
    return false;
}

void fault_injector::vandalize_any(effect* e) {
    world& w = all_.the_world();
    const std::uint64_t name = w.chance.below(all_.how().names);
    all_.vandalize(name, e);
    w.plan<&fault_injector::end_vandal>(until(), this, name);
}

void fault_injector::end_vandal(std::uint64_t name, std::uint64_t) {
    if (!over_) {
        all_.restore(name);
    }
}

void fault_injector::heal() {
    over_ = true;
    std::erase_if(kinds_, [](fault f) { return !goes_on(f); });
    all_.the_world().note("heal");
    all_.server().heal();
    if (all_.how().has(fault::batch_refused)) {
        all_.server().redis().refuse_batches(true, &all_.attempt(fault::batch_refused));
    }
    // Those that a server ends then aren't made anew.
    if (all_.how().has(fault::no_channel) && all_.how().has(fault::unsubscribed)) {
        all_.server().redis().refuse_subscriptions(true, &all_.attempt(fault::no_channel));
    }
    all_.server().redis().lose_messages(0);
    all_.server().redis().delay_messages(0);
    all_.net().heal();
    for (std::size_t name = 0; name < all_.how().names; ++name) {
        all_.restore(name);
    }
    for (const auto& c : all_.clients()) {
        c->heal();
    }
}

}  // namespace conch::sim
