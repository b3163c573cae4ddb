// SPDX-License-Identifier: BSL-1.0
#include "sim/faults.hpp"

#include "sim/simulation.hpp"

#include <utility>

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

/// Those that don't happen here: users bring them about, or they are there all the time.
bool by_others(fault f) noexcept {
    return f == fault::cancel || f == fault::drop || f == fault::force || f == fault::no_kill;
}

}  // namespace

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
    all_.count(f);
    all_.acted(f, act(f));
}

/// False where there was nothing to act on, or that is to be seen later.
bool fault_injector::act(fault f) {
    world& w = all_.the_world();
    server_node& server = all_.server();
    const std::uint64_t client = victim();
    const bool heard = w.chance.once_in(2);
    w.note(name_of(f), client);
    switch (f) {
        case fault::reset_before:
        case fault::reset_after:
        case fault::silent_cut:
        case fault::clog_up:
        case fault::clog_down:
        case fault::partition:
        case fault::straggle: return act_on_connection(f, client);
        case fault::stall:
        case fault::lost_push:
        case fault::batch_refused:
        case fault::read_only:
        case fault::loading:
        case fault::out_of_memory:
        case fault::no_permission:
        case fault::no_channel: act_later(f); return false;
        case fault::restart: return server.restart(true, heard, until());
        case fault::restart_empty:
            all_.forgot();  // also what a server that was down already had kept
            return server.restart(false, heard, until());
        case fault::failover: {
            all_.forgot();
            const instant back = until();
            return server.fail_over(1 + w.chance.below(8), heard, back);
        }
        case fault::script_flush: {
            const bool any = !server.redis().scripts().empty();
            server.redis().script_flush();
            return any;
        }
        case fault::server_clock: step_clock(w.chance.between(-2'000'000, 2'000'000)); return true;
        case fault::unsubscribed:
            return server.end_subscriptions(
                all_.spec(w.chance.below(all_.how().names))->channel().text());
        case fault::pause: {
            const bool ran = all_.clients()[client]->running();
            all_.clients()[client]->pause(until());
            return ran;
        }
        case fault::crash: return all_.replace_client(client, heard);
        case fault::persist: return persist_any();
        case fault::vandal: vandalize_any(); return true;
        case fault::cancel:
        case fault::drop:
        case fault::force:
        case fault::no_kill:
        case fault::count: break;
    }
    return false;
}

bool fault_injector::act_on_connection(fault f, std::uint64_t client) {
    world& w = all_.the_world();
    network& net = all_.net();
    if (f == fault::reset_before || f == fault::reset_after) {
        return net.reset(client, f == fault::reset_after);
    }
    if (f == fault::silent_cut) {
        return net.cut_silently(client);
    }
    if (f == fault::straggle) {
        // The client has given the line up by then, or not yet.
        const instant patience =
            w.chance.once_in(2) ? all_.how().settings.response_timeout.count() : 0;
        return net.hold_up(client, until() + patience);
    }
    const instant end = until();
    bool any = false;
    if (f != fault::clog_down) {
        any = net.clog(client, way::up, end);
    }
    if (f != fault::clog_up) {
        any = net.clog(client, way::down, end);
    }
    return any;
}

void fault_injector::act_later(fault f) {
    world& w = all_.the_world();
    server_node& server = all_.server();
    const trace t = f == fault::stall           ? trace::waiting
                    : f == fault::lost_push     ? trace::messages
                    : f == fault::batch_refused ? trace::batches
                                                : trace::refusals;
    close(t);
    latent_[static_cast<std::size_t>(t)] = {f, seen(t), true};
    if (t == trace::waiting) {
        server.stall(until());
    } else if (t == trace::messages) {
        server.redis().lose_messages(1 + w.chance.below(3));
    } else if (t == trace::batches) {
        server.redis().refuse_batches(true);
        w.plan<&fault_injector::end_batch_refusal>(until(), this);
    } else {
        server.redis().refuse(words_of(f));
        w.plan<&fault_injector::end_refusal>(until(), this);
    }
}

std::uint64_t fault_injector::seen(trace t) {
    const auto& harm = all_.server().redis().harm();
    switch (t) {
        case trace::refusals: return harm.refusals;
        case trace::batches: return harm.batches;
        case trace::messages: return harm.messages;
        case trace::waiting: return all_.server().kept_waiting();
        case trace::count: break;
    }
    return 0;
}

/// From now on the trace is another fault's.
void fault_injector::close(trace t) {
    latent& l = latent_[static_cast<std::size_t>(t)];
    if (std::exchange(l.open, false)) {
        all_.acted(l.f, seen(t) > l.before);
    }
}

void fault_injector::finish() {
    for (std::size_t t = 0; t < latent_.size(); ++t) {
        close(static_cast<trace>(t));
    }
    if (all_.how().has(fault::no_kill)) {
        all_.count(fault::no_kill);
        all_.acted(fault::no_kill, all_.server().redis().harm().kills > 0);
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

bool fault_injector::persist_any() {
    const std::size_t names = all_.how().names;
    const std::size_t first = all_.the_world().chance.below(names);
    for (std::size_t i = 0; i < names; ++i) {
        if (all_.persist((first + i) % names)) {
            return true;
        }
    }
    return false;
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
    // Those that a server ends then aren't made anew.
    all_.server().redis().refuse_subscriptions(all_.how().has(fault::no_channel) &&
                                               all_.how().has(fault::unsubscribed));
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
