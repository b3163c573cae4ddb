// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_UNIT_SENTINEL_HARNESS_HPP
#define CONCH_TEST_UNIT_SENTINEL_HARNESS_HPP

#include "topology/servers.hpp"
#include "unit/link_harness.hpp"

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
inline constexpr std::size_t asked = 1;
inline constexpr std::size_t durable_link = 2;

inline const lines question{"SUBSCRIBE +switch-master", "SENTINEL GET-MASTER-ADDR-BY-NAME m"};
inline const std::string asked_again = question.back();

inline config settings_with(std::size_t sentinels) {
    config c;
    c.ping_interval = 1h;
    c.username = "u";
    c.password = "p";
    c.database = 2;
    c.sentinel.emplace();
    c.sentinel->master = "m";
    c.sentinel->password = "of sentinels";
    for (std::size_t i = 1; i <= sentinels; ++i) {
        c.sentinel->addresses.push_back({"s" + std::to_string(i), 26379});
    }
    return c;
}

inline std::string subscribed_to(std::string_view channel) {
    return push("subscribe", channel, integer(1));
}
inline std::string message(std::string_view channel, std::string_view text) {
    return push("message", channel, bulk(text));
}
inline std::string null() { return "_\r\n"; }
inline std::string at(std::string_view host, std::string_view port = "6379") {
    return array(bulk(host), bulk(port));
}

/// The links of one client on virtual time, and the hand that plays driver, sentinels and masters.
struct topology_sentinel : testing::Test {
    explicit topology_sentinel(std::size_t sentinels = 2) : settings{settings_with(sentinels)} {
        servers.set_now(now);
    }
    ~topology_sentinel() override { servers.close(); }

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
        while (servers.at(i).has_output()) {
            servers.at(i).stage(out);
        }
        return texts(read_commands(out));
    }
    void reply(std::size_t i, const std::string& bytes) {
        auto& link = servers.at(i);
        const auto room = link.input().prepare(bytes.size());
        std::copy(bytes.begin(), bytes.end(), room.begin());
        link.input().commit(bytes.size());
        link.received();
    }
    std::string target(std::size_t i) { return servers.at(i).target().text(); }
    bool wanted(std::size_t i) { return servers.at(i).wanted() != 0; }
    void submit(note& n) { servers.main().submit(n); }
    void submit_durable(note& n) { servers.durable().submit(n); }

    /// The sentinel that is asked accepts; what it is asked then.
    lines meet_sentinel() {
        EXPECT_TRUE(wanted(asked));
        servers.at(asked).connected();
        EXPECT_EQ(sent(asked), lines{"HELLO 3 AUTH default of sentinels SETNAME conch"});
        reply(asked, hello(1));
        return sent(asked);
    }
    void find_master(std::string_view host) {
        EXPECT_EQ(meet_sentinel(), question);
        reply(asked, subscribed_to("+switch-master") + at(host));
    }
    /// The master accepts; what the greeting was.
    lines meet_master(std::string_view role = "master", std::string_view run = "1111",
                      std::size_t link = main_link) {
        servers.at(link).connected();
        lines greeting_sent = sent(link);
        reply(link, hello(7) + ok() + array(bulk(role), integer(0)) + info(run));
        for (std::size_t i = 0; i < wire::preloaded_scripts && wanted(link); ++i) {
            reply(link, bulk("sha"));
        }
        return greeting_sent;
    }

    static void on_ready(void* self) {
        static_cast<topology_sentinel*>(self)->news.push_back("ready");
    }
    static void on_lost(void* self, errc why) {
        static_cast<topology_sentinel*>(self)->news.push_back(
            why == errc{} ? "broken" : "lost: " + make_error_code(why).message());
    }

    static void on_durable_ready(void* self) {
        static_cast<topology_sentinel*>(self)->durable_news.push_back("ready");
    }
    static void on_durable_lost(void* self, errc why) {
        static_cast<topology_sentinel*>(self)->durable_news.push_back(
            why == errc{} ? "broken" : "lost: " + make_error_code(why).message());
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
    time_point now{std::chrono::hours{1}};
    note a{plain_note, "a"};
    topology::servers servers{settings,
                              timers,
                              jitter,
                              log,
                              counters,
                              now,
                              {this, &on_ready, &on_lost},
                              {this, &on_durable_ready, &on_durable_lost}};
};

}  // namespace conch::test

#endif
