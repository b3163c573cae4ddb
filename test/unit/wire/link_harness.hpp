// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_UNIT_WIRE_LINK_HARNESS_HPP
#define CONCH_TEST_UNIT_WIRE_LINK_HARNESS_HPP

#include "core/log.hpp"
#include "unit/wire/text.hpp"
#include "wire/link.hpp"

#include <conch/observer.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace conch::test {

/// A call that keeps how it ended.
struct note : wire::call {
    note(const wire::call_type& t, std::string words) : call{t}, text{std::move(words)} {}

    static void encode(wire::call& c, resp::writer& w) {
        auto& n = static_cast<note&>(c);
        if (n.type->kind == wire::call_kind::script) {
            wire::write_script(w, c, wire::script_id::acquire, 0, 1).arg(n.text);
        } else {
            w.command(1).arg(n.text);
        }
    }
    static void done(wire::call& c, const wire::outcome& o) {
        auto& n = static_cast<note&>(c);
        n.ends.push_back(o.lost() ? "lost"
                                  : join(o.refused() ? "refused " : "", describe(o.reply)));
    }

    std::string text;
    lines ends{};
};

inline constexpr wire::call_type plain_note{.name = "note",
                                            .after_loss = wire::retry::replay,
                                            .order = wire::priority::normal,
                                            .encode = &note::encode,
                                            .done = &note::done};
inline constexpr wire::call_type urgent_note{.name = "urgent",
                                             .after_loss = wire::retry::replay,
                                             .order = wire::priority::urgent,
                                             .encode = &note::encode,
                                             .done = &note::done};
inline constexpr wire::call_type script_note{.name = "script",
                                             .after_loss = wire::retry::replay,
                                             .order = wire::priority::normal,
                                             .kind = wire::call_kind::script,
                                             .encode = &note::encode,
                                             .done = &note::done};

inline std::string describe(const connection_change& c) {
    constexpr std::array names{"unused", "down", "up"};
    const auto name = [&](connection_state s) { return names.at(static_cast<std::size_t>(s)); };
    return join(c.server, " ", name(c.before), " to ", name(c.now));
}

/// One link on virtual time, and the hand that plays its driver, its server and its locks.
struct link_harness {
    explicit link_harness(config c = {}, wire::role expects = wire::role::any,
                          bool in_cluster = false)
        : settings{std::move(c)}, expected{expects}, clustered{in_cluster} {
        connection.set_now(now);
    }

    void advance(duration d) {
        const time_point until = now + d;
        while (timers.next() <= until) {
            now = std::max(now, timers.next());
            connection.set_now(now);
            while (core::timer* t = timers.pop_due(now)) {
                t->fire(t->owner);
            }
        }
        now = until;
        connection.set_now(now);
    }
    /// Until a connection is wanted; how long that took.
    duration wait_for_attempt() {
        const time_point from = now;
        while (connection.wanted() == 0 && now - from < std::chrono::minutes{1}) {
            advance(timers.next() - now);
        }
        return now - from;
    }
    lines sent() {
        std::string out;
        while (connection.has_output()) {
            std::string piece;
            connection.stage(piece);
            out += piece;
        }
        return texts(read_commands(out));
    }
    void reply(const std::string& bytes) {
        const auto room = connection.input().prepare(bytes.size());
        std::copy(bytes.begin(), bytes.end(), room.begin());
        connection.input().commit(bytes.size());
        connection.received();
    }
    /// Connects and answers the greeting; what the greeting was.
    lines connect(std::int64_t client_id = 1, std::string_view run = "1111") {
        wait_for_attempt();
        connection.connected();
        lines greeting_sent = sent();
        reply(greeting(client_id, run, settings.database != 0));
        return greeting_sent;
    }
    void submit(note& n) { link.submit(n); }

    static void on_ready(void* self) { static_cast<link_harness*>(self)->news.push_back("ready"); }
    static void on_lost(void* self, errc why) {
        static_cast<link_harness*>(self)->news.push_back(join("lost ", static_cast<int>(why)));
    }

    static void on_address_needed(void* self, bool /*was_ready*/) {
        ++static_cast<link_harness*>(self)->astray;
    }

    static void on_redirected(void* self, wire::call& c, const wire::redirection& /*to*/) {
        static_cast<note&>(c).ends.emplace_back("elsewhere");
        c.where = wire::call::state::idle;  // as if another link had ended it
        ++static_cast<link_harness*>(self)->redirected;
    }

    config settings;
    wire::role expected;
    bool clustered;
    int redirected = 0;
    int astray = 0;
    core::timer_heap timers{};
    core::random jitter{1};
    lines logged{};
    core::log log{[this](log_level, std::string_view line) { logged.emplace_back(line); },
                  log_level::warning};
    stats counters{};
    lines news{};
    time_point now{std::chrono::hours{1}};
    wire::destination to{wire::address::of(settings), expected};
    std::string words{};
    wire::link_events events{this, &on_ready, &on_lost, &on_address_needed,
                             clustered ? &on_redirected : nullptr};
    wire::connection connection{settings, to, timers, jitter, log, counters, words};
    wire::link link{connection, settings.reconnect_delay_max, timers, jitter, log, counters,
                    events};
};

}  // namespace conch::test

#endif
