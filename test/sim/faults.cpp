// SPDX-License-Identifier: BSL-1.0
#include "sim/faults.hpp"

#include "sim/simulation.hpp"

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

/// Those that a client gets over at once, connected as it is.
bool goes_on(fault f) noexcept { return f == fault::persist || f == fault::unsubscribed; }

/// Those that users bring about, when the scenario lets them.
bool by_users(fault f) noexcept {
    return f == fault::cancel || f == fault::drop || f == fault::force;
}

}  // namespace

fault_injector::fault_injector(simulation& s) : all_{s} {
    for (std::size_t i = 0; i < fault_count; ++i) {
        const fault f = static_cast<fault>(i);
        if (s.how().has(f) && !by_users(f)) {
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
    server_node& server = all_.server();
    network& net = all_.net();
    const std::uint64_t client = victim();
    const bool heard = w.chance.once_in(2);
    all_.count(f);
    w.note(name_of(f), client);
    switch (f) {
        case fault::reset_before: net.reset(client, false); return;
        case fault::reset_after: net.reset(client, true); return;
        case fault::silent_cut: net.cut_silently(client); return;
        case fault::clog_up: net.clog(client, way::up, until()); return;
        case fault::clog_down: net.clog(client, way::down, until()); return;
        case fault::partition: {
            const instant end = until();
            net.clog(client, way::up, end);
            net.clog(client, way::down, end);
            return;
        }
        case fault::straggle: {
            // The client has given the line up by then, or not yet.
            const instant patience =
                w.chance.once_in(2) ? all_.how().settings.response_timeout.count() : 0;
            net.hold_up(client, until() + patience);
            return;
        }
        case fault::stall: server.stall(until()); return;
        case fault::restart: server.restart(true, heard, until()); return;
        case fault::restart_empty:
            all_.forgot();
            server.restart(false, heard, until());
            return;
        case fault::failover:
            all_.forgot();
            server.fail_over(1 + w.chance.below(8), heard, until());
            return;
        case fault::script_flush: server.redis().script_flush(); return;
        case fault::lost_push: server.redis().lose_messages(1 + w.chance.below(3)); return;
        case fault::read_only:
        case fault::loading:
        case fault::out_of_memory:
        case fault::no_permission:
        case fault::no_channel:
            server.redis().refuse(words_of(f));
            w.plan<&fault_injector::end_refusal>(until(), this);
            return;
        case fault::server_clock: step_clock(w.chance.between(-2'000'000, 2'000'000)); return;
        case fault::batch_refused:
            server.redis().refuse_batches(true);
            w.plan<&fault_injector::end_batch_refusal>(until(), this);
            return;
        case fault::persist: persist_any(); return;
        case fault::unsubscribed:
            server.end_subscriptions(all_.spec(w.chance.below(all_.how().names))->channel());
            return;
        case fault::pause: all_.clients()[client]->pause(until()); return;
        case fault::crash: all_.replace_client(client, heard); return;
        case fault::vandal: vandalize_any(); return;
        case fault::cancel:
        case fault::drop:
        case fault::force:
        case fault::count: return;
    }
}

// Only a step forward ends leases before their time.
void fault_injector::step_clock(std::int64_t us) {
    if (us > 0) {
        all_.forgot();
    }
    all_.server().step_clock(us);
}

void fault_injector::end_refusal(std::uint64_t, std::uint64_t) { all_.server().redis().refuse({}); }

void fault_injector::end_batch_refusal(std::uint64_t, std::uint64_t) {
    if (!over_) {
        all_.server().redis().refuse_batches(false);
    }
}

void fault_injector::persist_any() {
    const std::size_t names = all_.how().names;
    const std::size_t first = all_.the_world().chance.below(names);
    for (std::size_t i = 0; i < names && !all_.persist((first + i) % names); ++i) {
    }
}

void fault_injector::vandalize_any() {
    world& w = all_.the_world();
    const std::uint64_t name = w.chance.below(all_.how().names);
    all_.vandalize(name);
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
    all_.server().redis().refuse_batches(all_.how().has(fault::batch_refused));
    all_.server().redis().lose_messages(0);
    all_.net().heal();
    for (std::size_t name = 0; name < all_.how().names; ++name) {
        all_.restore(name);
    }
    for (const auto& c : all_.clients()) {
        c->heal();
    }
}

}  // namespace conch::sim
