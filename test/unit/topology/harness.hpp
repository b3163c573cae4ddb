// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_UNIT_TOPOLOGY_HARNESS_HPP
#define CONCH_TEST_UNIT_TOPOLOGY_HARNESS_HPP

#include "topology/servers.hpp"
#include "unit/wire/link_harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace conch::test {

using namespace std::chrono_literals;

inline constexpr std::size_t main_link = 0;
inline constexpr std::size_t asked = 1;  ///< that of a sentinel, or of a cluster's node
inline constexpr std::size_t durable_link = 2;

/// The links of one client on virtual time, and the hand that plays its driver and its servers.
struct topology_harness : testing::Test {
    explicit topology_harness(config c) : settings{std::move(c)} { servers.set_now(now); }
    ~topology_harness() override { servers.close(); }

    void advance(duration d) {
        const time_point until = now + d;
        while (timers.next() <= until) {
            now = std::max(now, timers.next());
            servers.set_now(now);
            while (core::timer* t = timers.pop_due(now)) {
                t->fire(t->owner);
            }
        }
        now = until;
        servers.set_now(now);
    }
    lines sent(std::size_t i) {
        std::string out;
        while (servers.connection(i).has_output()) {
            servers.connection(i).stage(out);
        }
        return texts(read_commands(out));
    }
    void reply(std::size_t i, const std::string& bytes) {
        wire::connection& c = servers.connection(i);
        const auto room = c.input().prepare(bytes.size());
        std::copy(bytes.begin(), bytes.end(), room.begin());
        c.input().commit(bytes.size());
        c.received();
    }
    std::string target(std::size_t i) { return servers.connection(i).target().text(); }
    bool wanted(std::size_t i) { return servers.connection(i).wanted() != 0; }
    /// The server accepts; what the greeting was.
    lines meet(std::size_t i, std::string_view role = "master", std::string_view run = "1111") {
        servers.connection(i).connected();
        lines greeting_sent = sent(i);
        reply(i, hello(7) + (settings.database != 0 ? ok() : std::string{}) +
                     replication(role, run) + info(run));
        for (std::size_t n = 0; n < wire::preloaded_scripts && wanted(i); ++n) {
            reply(i, bulk("sha"));
        }
        return greeting_sent;
    }

    bool is_durable(const wire::link& l) {
        return !servers.clustered() && &l == &servers.serving(0, true);
    }
    lines& news_of(const wire::link& l) { return is_durable(l) ? durable_news : news; }
    static void on_ready(void* self, wire::link& l) {
        static_cast<topology_harness*>(self)->news_of(l).push_back("ready");
    }
    static void on_lost(void* self, wire::link& l, errc why) {
        static_cast<topology_harness*>(self)->news_of(l).push_back(
            why == errc{} ? "broken" : "lost: " + make_error_code(why).message());
    }
    static void on_regrouped(void* self) {
        static_cast<topology_harness*>(self)->news.push_back("regrouped");
    }
    static void on_changed(void* self, const connection_change& c) {
        static_cast<topology_harness*>(self)->changes.push_back(describe(c));
    }

    config settings;
    core::timer_heap timers{};
    core::random jitter{1};
    lines logged{};
    core::log log{[this](log_level, std::string_view line) { logged.emplace_back(line); },
                  log_level::info};
    stats counters{};
    lines news{};
    lines durable_news{};
    lines changes{};  ///< of all links but the one that asks
    time_point now{std::chrono::hours{1}};
    note a{plain_note, "a"};
    topology::servers servers{settings,
                              timers,
                              jitter,
                              log,
                              counters,
                              now,
                              {this, &on_ready, &on_lost, &on_regrouped, &on_changed}};
};

}  // namespace conch::test

#endif
