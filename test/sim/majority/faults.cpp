// SPDX-License-Identifier: BSL-1.0
#include "sim/majority/faults.hpp"

#include "sim/majority/simulation.hpp"

namespace conch::sim::majority {
namespace {

bool of_process(fault f) noexcept { return f == fault::pause || f == fault::crash; }

bool is_refusal(fault f) noexcept {
    return f == fault::read_only || f == fault::loading || f == fault::out_of_memory ||
           f == fault::no_permission || f == fault::no_channel;
}

/// They don't happen here: users bring them about, or they are there all the time.
bool by_others(fault f, const scenario& how) noexcept {
    return f == fault::cancel || f == fault::no_kill || (f == fault::force && !how.forces_one);
}

/// Clients get over it at once, connected as they are.
bool goes_on(fault f) noexcept {
    return f == fault::persist || f == fault::unsubscribed || f == fault::deletion ||
           f == fault::force || f == fault::script_flush;
}

}  // namespace

fault_injector::fault_injector(simulation& s) : all_{s}, more_{s.one_more_seed()} {
    for (std::size_t i = 0; i < fault_count; ++i) {
        const fault f = static_cast<fault>(i);
        if (s.how().has(f) && !by_others(f, s.how()) && (of_process(f) || s.how().victims > 0)) {
            kinds_.push_back(f);
        }
    }
}

void fault_injector::start() {
    for (std::size_t i = 0; all_.how().has(fault::no_kill) && i < all_.how().victims; ++i) {
        all_.server(i).redis().refuse_kills(true, &all_.attempt(fault::no_kill));
    }
    plan_for_a_member();
    plan_next();
}

void fault_injector::plan_next() {
    if (!kinds_.empty()) {
        world& w = all_.the_world();
        // What is mended within a third of a lease has the time to be, when all else is well.
        const instant mending = over_ ? all_.how().longest_lease.count() : 0;
        w.plan<&fault_injector::next>(
            w.now() + w.chance.spread(millis, all_.how().fault_pause + mending), this);
    }
}

void fault_injector::next(std::uint64_t, std::uint64_t) {
    if (!stopped_ && !kinds_.empty()) {
        happen(kinds_[all_.the_world().chance.below(kinds_.size())]);
        plan_next();
    }
}

// From shorter than a round trip to longer than most leases.
instant fault_injector::until() {
    world& w = all_.the_world();
    return w.now() + w.chance.spread(500 * micros, 4 * seconds);
}

void fault_injector::happen(fault f) {
    world& w = all_.the_world();
    effect& e = all_.attempt(f);
    const std::size_t server = w.chance.below(all_.how().victims);
    const std::uint64_t client = w.chance.below(all_.processes().size());
    process& p = *all_.processes()[client];
    const bool heard = w.chance.once_in(2);
    w.note(name_of(f), of_process(f) ? client : server);
    if (f == fault::pause) {
        p.pause(until(), &e);
    } else if (f == fault::crash) {
        all_.replace(p, heard, &e);
    } else if (f == fault::stall) {
        all_.server(server).stall(until(), &e);
    } else if (f == fault::restart || f == fault::restart_empty) {
        all_.server(server).restart(f == fault::restart, heard, until(), &e);
    } else if (f == fault::server_clock) {
        all_.server(server).step_clock(w.chance.between(-1'000'000, 1'000'000), &e);
    } else if (f == fault::lost_push) {
        all_.server(server).redis().lose_messages(1 + w.chance.below(3), &e);
    } else if (f == fault::late_push) {
        all_.server(server).redis().delay_messages(1 + w.chance.below(6), &e);
    } else if (f == fault::batch_refused) {
        all_.server(server).redis().refuse_batches(true, &e);
        w.plan<&fault_injector::end_batch_refusal>(until(), this, server);
    } else if (f == fault::vandal) {
        spoil(server, &e);
    } else if (goes_on(f)) {
        feel(by_stranger(f, server) ? &e : nullptr);
    } else if (is_refusal(f)) {
        refuse(f, server, &e);
    } else {
        on_link(f, server, client, &e);
    }
}

std::size_t fault_injector::any_place(std::size_t server) {
    return server + all_.how().servers * all_.the_world().chance.below(all_.how().locks);
}

bool fault_injector::by_stranger(fault f, std::size_t server) {
    dice& chance = all_.the_world().chance;
    const std::size_t name = chance.below(all_.how().names);
    const std::size_t place = any_place(server);
    if (f == fault::script_flush) {
        const bool any = all_.server(server).redis().any_script();
        all_.server(server).redis().script_flush();
        return any;
    }
    if (f == fault::force) {
        process& by = *all_.processes()[chance.below(all_.processes().size())];
        return all_.others().force(by, name, place);
    }
    return f == fault::persist    ? all_.others().persist(name, place)
           : f == fault::deletion ? all_.others().remove(name, place)
                                  : unsubscribe(name, place);
}

// Each who stands in a fair line has a channel of its own.
bool fault_injector::unsubscribe(std::size_t name, std::size_t place) {
    server_node& s = all_.server_of(place);
    const impl::spec_ptr& spec = all_.spec(name, place);
    const auto line = s.redis().in_line(spec->name(), s.wall_clock());
    std::string channel = spec->channel().text();
    if (!line.empty()) {
        channel += ":" + line[all_.the_world().chance.below(line.size())].first;
    }
    return s.end_subscriptions(channel);
}

void fault_injector::spoil(std::size_t server, effect* e) {
    const std::size_t name = all_.the_world().chance.below(all_.how().names);
    const std::size_t place = any_place(server);
    feel(all_.others().spoil(name, place) ? e : nullptr);
    all_.the_world().plan<&fault_injector::end_spoiling>(until(), this, name, place);
}

void fault_injector::end_spoiling(std::uint64_t name, std::uint64_t place) {
    if (!over_) {
        all_.others().restore(name, place);
    }
}

void fault_injector::end_batch_refusal(std::uint64_t server, std::uint64_t) {
    all_.server(server).redis().refuse_batches(false);
}

void fault_injector::refuse(fault f, std::size_t server, effect* e) {
    const char* const words =
        f == fault::read_only ? "READONLY You can't write against a read only replica."
        : f == fault::loading ? "LOADING Redis is loading the dataset in memory"
        : f == fault::no_channel
            ? "NOPERM this user has no permissions to access one of the channels"
        : f == fault::out_of_memory ? "OOM command not allowed when used memory > 'maxmemory'."
                                    : "NOPERM this user has no permissions to run 'evalsha'";
    all_.server(server).redis().refuse(words, e);
    all_.the_world().plan<&fault_injector::end_refusal>(until(), this, server);
}

void fault_injector::end_refusal(std::uint64_t server, std::uint64_t) {
    all_.server(server).redis().refuse({});
}

void fault_injector::on_link(fault f, std::size_t server, std::uint64_t client, effect* e) {
    network& n = all_.net(server);
    const instant end = until();
    if (f == fault::reset_before || f == fault::reset_after) {
        n.reset(client, f == fault::reset_after, e);
    } else if (f == fault::silent_cut) {
        n.cut_silently(client, e);
    } else if (f == fault::straggle) {
        // The client has given the line up by then, or not yet.
        const bool given_up = all_.the_world().chance.once_in(2);
        n.hold_up(client, end + (given_up ? all_.how().settings.response_timeout.count() : 0), e);
    }
    if (f == fault::clog_up || f == fault::partition) {
        n.clog(client, way::up, end, e);
    }
    if (f == fault::clog_down || f == fault::partition) {
        n.clog(client, way::down, end, e);
    }
}

void fault_injector::plan_for_a_member() {
    if (all_.how().closing || all_.how().hanging) {
        world& w = all_.the_world();
        w.plan<&fault_injector::befall_a_member>(w.now() + more_.spread(20 * millis, 1 * seconds),
                                                 this);
    }
}

// Whose strand hangs, or who is shut down. It may have a majority without: that is told first.
void fault_injector::befall_a_member(std::uint64_t, std::uint64_t) {
    const scenario& how = all_.how();
    world& w = all_.the_world();
    if (over_) {
        return;
    }
    process& p = *all_.processes()[more_.below(all_.processes().size())];
    client_node& node = p.node(more_.below(how.victims));
    if (p.dead() || !p.running() || !node.running()) {
        // not now
    } else if (how.hanging && (!how.closing || more_.once_in(2))) {
        w.note("hangs", p.index());
        node.pause(w.now() + more_.spread(500 * micros, 4 * seconds));
    } else if (how.closing && how.servers > 2 && !p.is_closing()) {
        w.note("shut down", p.index());
        all_.count_closing();
        node.shut_down(more_.once_in(3) ? duration{} : duration{more_.spread(millis, 2 * seconds)});
    }
    plan_for_a_member();
}

void fault_injector::heal() {
    over_ = true;
    std::erase_if(kinds_, [](fault f) { return !goes_on(f); });
    all_.the_world().note("heal");
    all_.others().restore_all();
    if (all_.how().has(fault::vandal) && all_.how().victims > 0 && all_.how().is_minority()) {
        // The others are enough, as long as it is there.
        const std::size_t name = all_.the_world().chance.below(all_.how().names);
        const std::size_t server = all_.the_world().chance.below(all_.how().victims);
        effect& e = all_.attempt(fault::vandal);
        feel(all_.others().spoil(name, any_place(server)) ? &e : nullptr);
    }
    for (std::size_t i = 0; i < all_.how().servers; ++i) {
        all_.server(i).heal();
        all_.server(i).redis().lose_messages(0);
        all_.server(i).redis().delay_messages(0);
        all_.server(i).redis().refuse_batches(false);
        all_.net(i).heal();
    }
    for (const auto& p : all_.processes()) {
        p->heal();
    }
}

void fault_injector::stop() {
    stopped_ = true;
    all_.others().restore_all();
}

}  // namespace conch::sim::majority
