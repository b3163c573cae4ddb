// SPDX-License-Identifier: BSL-1.0
#include "sim/closer.hpp"

#include "sim/simulation.hpp"

namespace conch::sim {

closer::closer(simulation& all, std::uint64_t seed) : all_{all}, chance_{seed} {}

void closer::start() {
    world& w = all_.the_world();
    w.plan<&closer::close_one>(w.now() + chance_.spread(50 * millis, 4 * seconds), this);
}

void closer::close_one(std::uint64_t, std::uint64_t) {
    if (all_.stopped()) {
        return;
    }
    const std::uint64_t client = chance_.below(all_.clients().size());
    const client_node& c = *all_.clients()[client];
    if (!c.dead() && !c.closing() && c.running() && all_.may_replace()) {
        if (chance_.once_in(6)) {
            destroy(client);
        } else {
            const instant drain = chance_.once_in(3) ? 0 : chance_.spread(1 * millis, 3 * seconds);
            shut_down(client, static_cast<std::uint64_t>(drain));
        }
    }
    start();
}

void closer::shut_down(std::uint64_t client, std::uint64_t drain) {
    client_node& c = *all_.clients()[client];
    world& w = all_.the_world();
    if (c.dead() || c.closed()) {
        return;
    }
    if (!c.running()) {
        w.plan<&closer::shut_down>(c.put_off(), this, client, drain);
        return;
    }
    w.note("shut down", client, drain);
    if (!c.closing()) {
        all_.count_closing();
        w.plan<&closer::replace>(w.now() + 100 * millis, this, client);
        if (chance_.once_in(4)) {  // once more, for shorter or for longer
            w.plan<&closer::shut_down>(w.now() + chance_.spread(1 * millis, 1 * seconds), this,
                                       client, chance_.below(2 * drain + 1));
        }
    }
    c.shut_down(duration{static_cast<duration::rep>(drain)});
}

void closer::replace(std::uint64_t client, std::uint64_t) {
    const client_node& c = *all_.clients()[client];
    world& w = all_.the_world();
    if (c.dead()) {
        return;
    }
    if (!c.closed() || !c.running() || chance_.once_in(2)) {
        w.plan<&closer::replace>(w.now() + 100 * millis, this, client);
    } else {
        all_.replace_client(client, true);
    }
}

// What the end of the execution context does: nobody is told.
void closer::destroy(std::uint64_t client) {
    all_.the_world().note("destroy", client);
    all_.count_closing();
    all_.clients()[client]->engine().close();
    all_.clients()[client]->engine().completions().clear();
    all_.replace_client(client, true);
}

}  // namespace conch::sim
