// SPDX-License-Identifier: BSL-1.0
#include "sim/majority/faults.hpp"

#include "sim/majority/simulation.hpp"

namespace conch::sim::majority {
namespace {

bool of_process(fault f) noexcept { return f == fault::pause || f == fault::crash; }

bool is_refusal(fault f) noexcept {
    return f == fault::read_only || f == fault::loading || f == fault::out_of_memory ||
           f == fault::no_permission;
}

bool by_users(fault f) noexcept { return f == fault::cancel || f == fault::force; }

}  // namespace

fault_injector::fault_injector(simulation& s) : all_{s}, more_{s.one_more_seed()} {
    for (std::size_t i = 0; i < fault_count; ++i) {
        const fault f = static_cast<fault>(i);
        if (s.how().has(f) && !by_users(f) && (of_process(f) || s.how().victims > 0)) {
            kinds_.push_back(f);
        }
    }
}

void fault_injector::start() {
    plan_for_a_member();
    plan_next();
}

void fault_injector::plan_next() {
    if (!kinds_.empty()) {
        world& w = all_.the_world();
        w.plan<&fault_injector::next>(w.now() + w.chance.spread(millis, all_.how().fault_pause),
                                      this);
    }
}

void fault_injector::next(std::uint64_t, std::uint64_t) {
    if (!over_) {
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
    } else if (is_refusal(f)) {
        refuse(f, server, &e);
    } else {
        on_link(f, server, client, &e);
    }
}

void fault_injector::refuse(fault f, std::size_t server, effect* e) {
    const char* const words =
        f == fault::read_only       ? "READONLY You can't write against a read only replica."
        : f == fault::loading       ? "LOADING Redis is loading the dataset in memory"
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
    all_.the_world().note("heal");
    for (std::size_t i = 0; i < all_.how().servers; ++i) {
        all_.server(i).heal();
        all_.server(i).redis().lose_messages(0);
        all_.net(i).heal();
    }
    for (const auto& p : all_.processes()) {
        p->heal();
    }
}

}  // namespace conch::sim::majority
