// SPDX-License-Identifier: BSL-1.0
// The lock engine, fed with whatever its callers, its clock, its connection and its server can do.
// The input is: what is configured, then one event after the other (see `events`).
#include "fuzz/byte_source.hpp"
#include "fuzz/engine_world.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

using namespace std::chrono_literals;
using conch::config;
using conch::duration;
using conch::forever;
using conch::fuzz::byte_source;
using conch::fuzz::engine_world;

constexpr std::size_t most_events = 150;

constexpr std::array<duration, 8> steps{1ms, 7ms, 30ms, 100ms, 700ms, 5s, 11s, 40s};
constexpr std::array<duration, 7> waits{0s, 5ms, 100ms, 1s, 20s, forever, -1ns};
constexpr std::array<duration, 7> leases{30s, 1s, 100ms, 10ms, 5s, 8760h, 1ms};
constexpr std::array<duration, 5> limits{forever, 10ms, 150ms, 2s, 40s};
constexpr std::array<duration, 5> early{0s, 10ms, 5s, forever, -1ns};
constexpr std::array<duration, 3> drains{0s, 300ms, 5s};

constexpr std::array<std::string_view, 14> refusals{
    "NOSCRIPT no such script",
    "LOADING the data",
    "BUSY in a script",
    "READONLY replica",
    "OOM command not allowed",
    "WRONGTYPE of the key",
    "NOPERM no",
    "NOAUTH needed",
    "WRONGPASS bad",
    "MASTERDOWN",
    "ERR unknown",
    "",
    "NOPROTO unsupported",
    "ERR unknown command 'HELLO'",
};

constexpr std::array<std::string_view, 17> wrong_answers{
    "_\r\n",
    ":0\r\n",
    ":1\r\n",
    ":-1\r\n",
    ":-2\r\n",
    "$0\r\n\r\n",
    "$1\r\n7\r\n",
    "+OK\r\n",
    "*0\r\n",
    "*1\r\n:1\r\n",
    "*2\r\n:0\r\n:1\r\n",
    "#t\r\n",
    "*4\r\n:9\r\n$0\r\n\r\n$3\r\nc:1\r\n$1\r\n1\r\n",
    "%1\r\n+proto\r\n:3\r\n",
    ":9223372036854775807\r\n",
    "*1\r\n-ERR\r\n",
    "*4\r\n:0\r\n:5\r\n:9223372036854775807\r\n:1\r\n",
};

template <typename Array>
auto one_of(byte_source& in, const Array& choices) {
    return choices[in.below(choices.size())];
}

config read_config(byte_source& in) {
    config c;
    const unsigned a = in.byte();
    const unsigned b = in.byte();
    c.max_pending = (a & 1u) != 0 ? 4 : 1'000'000;
    c.max_passes = (a & 2u) != 0 ? 1 : 16;
    c.operation_timeout = std::array<duration, 4>{5s, 200ms, 5s, forever}[(a >> 2) & 3u];
    c.response_timeout = std::array<duration, 4>{3s, 100ms, 1s, forever}[(a >> 4) & 3u];
    c.ping_interval = (a & 64u) != 0 ? duration{10s} : duration{1h};
    c.max_poll_interval = (a & 128u) != 0 ? duration{1s} : duration{20ms};
    c.connect_timeout = (b & 1u) != 0 ? duration{50ms} : duration{5s};
    c.database = (b & 2u) != 0 ? 1 : 0;
    if ((b & 4u) != 0) {
        c.username = "user";
        c.password = "secret";
    }
    if ((b & 8u) != 0) {
        c.least_log_level = conch::log_level::debug;
        c.log = [](conch::log_level, std::string_view) {};
    }
    c.reconnect_delay_max = (b & 16u) != 0 ? duration{20ms} : duration{1s};
    return c;
}

conch::lock_options read_options(byte_source& in) {
    conch::lock_options o;
    const unsigned what = in.byte();
    if ((what & 1u) != 0) {
        o.wait = one_of(in, waits);
    }
    if ((what & 2u) != 0) {
        o.lease = one_of(in, leases);
    }
    o.renew = (what & 4u) == 0;
    if ((what & 8u) != 0) {
        o.max_hold = one_of(in, limits);
    }
    return o;
}

void try_or_lock(engine_world& w, byte_source& in, bool try_only) {
    const unsigned what = in.byte();
    const conch::lock_options o = (what & 128u) != 0 ? read_options(in) : conch::lock_options{};
    w.acquire(what % engine_world::names.size(), (what & 32u) != 0, o, try_only, (what >> 3) & 3u);
}

/// With one of the latest holds, as those are the ones that may live.
template <typename F>
void with_hold(engine_world& w, byte_source& in, F&& f) {
    const std::size_t n = w.hold_count();
    const std::size_t back = in.below(8);
    if (back < n) {
        f(n - 1 - back);
    }
}

constexpr std::size_t caller_events = 10;

void caller_event(engine_world& w, byte_source& in, std::size_t which) {
    switch (which) {
        case 0: try_or_lock(w, in, false); return;
        case 1: try_or_lock(w, in, true); return;
        case 2: with_hold(w, in, [&](std::size_t h) { w.unlock(h); }); return;
        case 3: with_hold(w, in, [&](std::size_t h) { w.release(h); }); return;
        case 4: with_hold(w, in, [&](std::size_t h) { w.extend(h, one_of(in, leases)); }); return;
        case 5: with_hold(w, in, [&](std::size_t h) { w.wait_lost(h, one_of(in, early)); }); return;
        case 6: {
            const std::size_t name = in.below(2 * engine_world::names.size());
            if (w.is_durable()) {  // the other connection would be asked
                w.replicas(name % 3);
                return;
            }
            name % 2 != 0 ? w.force_unlock(name / 2) : w.status(name / 2);
            return;
        }
        case 7:
            if (w.open_count() > 0) {
                w.cancel(in.below(w.open_count()));
            }
            return;
        case 8: with_hold(w, in, [&](std::size_t h) { w.detach(h); }); return;
        default: {
            const std::size_t what = in.below(4);
            if (w.is_durable()) {
                w.replicas(what % 2);
                return;
            }
            w.permits(what % engine_world::limits, in.below(8), one_of(in, waits), what >= 2);
            return;
        }
    }
}

void batch(engine_world& w, byte_source& in) {
    w.begin_batch();
    for (std::size_t n = 1 + in.below(6); n > 0; --n) {
        caller_event(w, in, in.below(caller_events));
    }
    w.end_batch();
}

constexpr std::size_t network_events = 11;

void network_event(engine_world& w, byte_source& in, std::size_t which) {
    switch (which) {
        case 0: w.connects = !w.connects; return;
        case 1: w.serves = !w.serves; return;
        case 2: w.connect(); return;
        case 3: w.break_connection(static_cast<engine_world::fate>(in.below(3))); return;
        case 4: w.block_writes(in.below(2) != 0); return;
        case 5: w.run_old_connection(); return;
        case 6: w.deliver(in.below(64)); return;
        case 7: w.deliver(std::string::npos); return;
        case 8: w.serve(1 + in.below(8)); return;
        case 9: w.refusal = w.refusal.empty() ? one_of(in, refusals) : std::string_view{}; return;
        default: w.refuse(one_of(in, refusals)); return;
    }
}

constexpr std::size_t server_events = 6;

void server_event(engine_world& w, byte_source& in, std::size_t which) {
    const std::size_t name = in.below(engine_world::names.size());
    switch (which) {
        case 0: w.other_takes(name, one_of(in, steps)); return;
        case 1: w.other_releases(name); return;
        case 2: w.delete_key(name); return;
        case 3: {
            constexpr std::array<std::string_view, 4> pushes{"message", "unsubscribe", "subscribe",
                                                             "sunsubscribe"};
            w.send_push(name, one_of(in, pushes));
            return;
        }
        case 4: w.restart_server(name != 0); return;
        default: w.forget_scripts(); return;
    }
}

void lie(engine_world& w, byte_source& in) {
    const std::size_t how = in.below(6);
    if (how == 5) {
        w.feed_raw(in.bytes(1 + in.below(32)));
    } else if (how == 4) {
        w.feed_raw(one_of(in, wrong_answers));
    } else {
        w.answer_wrongly(static_cast<engine_world::fault>(how), one_of(in, wrong_answers));
    }
}

void time_event(engine_world& w, byte_source& in) {
    const std::size_t which = in.below(2 * steps.size() + 4);
    if (which < steps.size()) {
        w.advance(steps[which]);
    } else if (which < 2 * steps.size()) {
        w.skip(steps[which - steps.size()]);
    } else {
        w.advance_to_deadline();
    }
}

void event(engine_world& w, byte_source& in, bool may_lie) {
    const std::size_t kind = in.below(32);
    if (kind < 13) {
        caller_event(w, in, std::min(kind, caller_events - 1));
    } else if (kind < 19) {
        time_event(w, in);
    } else if (kind < 25) {
        network_event(w, in, in.below(network_events));
    } else if (kind < 28) {
        server_event(w, in, in.below(server_events));
    } else if (kind < 30) {
        batch(w, in);
    } else if (may_lie) {
        lie(w, in);
    } else if (in.below(8) == 0) {
        w.shutdown(one_of(in, drains));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    byte_source in{data, size};
    const config settings = read_config(in);
    const unsigned how = in.byte();
    engine_world w{settings, how, (how & 128u) != 0};
    w.serves = w.connects = (how & 1u) == 0;
    for (std::size_t n = 0; n < most_events && !in.empty(); ++n) {
        event(w, in, (how & 2u) != 0);
    }
    if ((how & 4u) == 0) {
        w.wind_down(drains[(how >> 3) % drains.size()]);
    }
    w.close();
    return 0;
}
