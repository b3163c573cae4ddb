// SPDX-License-Identifier: BSL-1.0
#include "soak/faults.hpp"

#include <signal.h>

#include <algorithm>
#include <array>
#include <random>
#include <stdexcept>
#include <string>

namespace conch::soak {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view server_killed = "server SIGKILL, restart";

void nothing(target&) {}
void heal_wire(target& t) {
    t.each_wire([](test::proxy& p) { p.heal(); });
}
void cut_wire(target& t) {
    t.each_wire([](test::proxy& p) { p.cut(); });
}
/// What a wire can do by itself.
template <auto Order>
void order(target& t) {
    t.each_wire([](test::proxy& p) { (p.*Order)(); });
}

unsigned any(target& t, unsigned below) {
    return std::uniform_int_distribution<unsigned>{0, below - 1}(t.all.random);
}

void cut_off(target& t) {
    order<&test::proxy::refuse>(t);
    cut_wire(t);
}

void slow_down(target& t) {
    const std::chrono::milliseconds d{5 + any(t, 700)};
    t.each_wire([&](test::proxy& p) { p.delay(d); });
}

void cut_short(target& t) {
    const unsigned bytes = any(t, 60);
    t.each_wire([&](test::proxy& p) { p.truncate_replies(bytes); });
}

void inject_garbage(target& t) {
    std::string noise;
    for (unsigned i = 0; i < 40; ++i) {
        noise += static_cast<char>(any(t, 256));
    }
    // Whatever the dice say, this is no RESP3.
    t.each_wire([&](test::proxy& p) { p.inject("?" + noise + "\r\n"); });
}

void kill_server(target& t) {
    const time_point before = clock::now();
    t.at.server.kill();
    if (!t.at.durable) {
        t.all.bench.data_lost(t.at.name() + ':', before, clock::now());
    }
}

void kill_clients(target& t) {
    t.at.raw.must(
        {"CLIENT", "KILL", "TYPE", any(t, 2) == 0 ? "normal" : "pubsub", "SKIPME", "yes"});
}

/// More than the server keeps for a subscriber that doesn't read.
void flood_subscribers(target& t) {
    order<&test::proxy::stall_replies>(t);
    const std::string much(100'000, 'x');
    for (int i = 0; i < 12; ++i) {
        for (const std::string& channel : t.at.raw.channels()) {
            t.at.raw.must({"PUBLISH", channel, much});
        }
    }
}

void crowd_out(target& t) {
    t.at.set("maxclients", "1");
    cut_wire(t);
}

constexpr std::array faults{
    fault{"cut", layer::wire, 0ms, 50ms, cut_wire, nothing},
    fault{"reset", layer::wire, 0ms, 50ms, order<&test::proxy::reset>, nothing},
    fault{"half-open, server gone", layer::wire, 100ms, 2000ms,
          order<&test::proxy::cut_servers_only>, cut_wire},
    fault{"half-open, client gone", layer::wire, 0ms, 100ms, order<&test::proxy::cut_clients_only>,
          nothing},
    fault{"partition", layer::wire, 100ms, 3000ms, order<&test::proxy::stall>, heal_wire},
    fault{"replies stalled", layer::wire, 100ms, 2000ms, order<&test::proxy::stall_replies>,
          heal_wire},
    fault{"unreachable", layer::wire, 100ms, 1500ms, cut_off, heal_wire},
    fault{"delay", layer::wire, 300ms, 1500ms, slow_down, heal_wire},
    fault{"byte at a time", layer::wire, 300ms, 1000ms, order<&test::proxy::dribble>, heal_wire},
    fault{"truncate", layer::wire, 0ms, 300ms, cut_short, nothing},
    fault{"messages reordered", layer::wire, 300ms, 1500ms, order<&test::proxy::reorder_pushes>,
          heal_wire},
    fault{"garbage", layer::wire, 0ms, 50ms, inject_garbage, nothing},
    fault{"replies lost", layer::wire, 5ms, 400ms, order<&test::proxy::swallow_replies>, cut_wire},
    fault{"commands lost", layer::wire, 5ms, 400ms, order<&test::proxy::swallow_requests>,
          cut_wire},
    fault{server_killed, layer::server, 0ms, 500ms, kill_server, [](target& t) { t.at.start(); }},
    fault{"server SIGSTOP", layer::server, 100ms, 2500ms, [](target& t) { t.at.server.freeze(); },
          [](target& t) { t.at.server.thaw(); }},
    fault{"CLIENT PAUSE WRITE", layer::server, 100ms, 1500ms,
          [](target& t) { t.at.raw.pause_writes(t.length + 1min); },
          [](target& t) { t.at.raw.unpause(); }},
    fault{"CLIENT PAUSE ALL", layer::server, 100ms, 1500ms,
          [](target& t) {
              t.at.raw.must({"CLIENT", "PAUSE", std::to_string(t.length.count()), "ALL"});
          },
          nothing},
    fault{"CLIENT KILL TYPE", layer::server, 0ms, 50ms, kill_clients, nothing},
    fault{"DEBUG SLEEP", layer::server, 100ms, 1000ms,
          [](target& t) {
              const auto ms = std::chrono::duration<double>(t.length).count();
              t.at.raw.send({"DEBUG", "SLEEP", std::to_string(ms)});
          },
          [](target& t) { t.at.raw.receive(); }},
    fault{"maxmemory", layer::server, 100ms, 800ms, [](target& t) { t.at.set("maxmemory", "1"); },
          [](target& t) { t.at.set("maxmemory", "0"); }},
    fault{"maxclients", layer::server, 100ms, 800ms, crowd_out,
          [](target& t) { t.at.set("maxclients", t.at.usual_maxclients); }},
    fault{"slow subscriber", layer::server, 10ms, 200ms, flood_subscribers, heal_wire},
    fault{"SCRIPT FLUSH", layer::server, 0ms, 20ms,
          [](target& t) { t.at.raw.must({"SCRIPT", "FLUSH"}); }, nothing},
    fault{"client SIGKILL, restart", layer::process, 0ms, 500ms,
          [](target& t) { t.all.kill_worker(t.worker); },
          [](target& t) { t.all.start_worker(t.worker); }},
    fault{"client SIGSTOP", layer::process, 100ms, 3000ms,
          [](target& t) { t.all.workers[t.worker]->signal(SIGSTOP); },
          [](target& t) { t.all.workers[t.worker]->signal(SIGCONT); }},
};

}  // namespace

std::span<const fault> all_faults() { return faults; }

std::vector<const fault*> faults_named(const std::vector<std::string>& names) {
    std::vector<const fault*> out;
    for (const fault& f : faults) {
        if (names.empty()) {
            out.push_back(&f);
        }
    }
    for (const std::string& name : names) {
        const auto at = std::find_if(faults.begin(), faults.end(),
                                     [&](const fault& f) { return f.name == name; });
        if (at == faults.end()) {
            throw std::invalid_argument{"no fault has the name \"" + name + '"'};
        }
        out.push_back(&*at);
    }
    return out;
}

bool loses_data(const fault& f, const stage& at) { return f.name == server_killed && !at.durable; }

}  // namespace conch::soak
