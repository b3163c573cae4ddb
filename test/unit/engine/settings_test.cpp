// SPDX-License-Identifier: BSL-1.0
// Each setting of `config` that says how patient a client is or what its locks are like by default,
// and the effect that another value has. (Who logs in, where: wire_handshake_test.)
#include "unit/engine/harness.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

conch::config with(const std::function<void(conch::config&)>& change) {
    conch::config c = quiet();
    change(c);
    return c;
}

TEST(engine_settings, connect_timeout_bounds_one_attempt) {
    engine_harness h{with([](auto& c) { c.connect_timeout = 700ms; })};
    h.lock("a");
    h.advance(700ms - 1ns);
    EXPECT_EQ(h.engine.wanted_connection(), 1u);
    h.advance(1ns);
    EXPECT_NE(h.engine.wanted_connection(), 1u);
}

TEST(engine_settings, response_timeout_ends_a_silent_connection) {
    engine_harness h{with([](auto& c) { c.response_timeout = 400ms; })};
    h.grant("a");
    h.force_unlock("b");
    const std::uint64_t connection = h.engine.wanted_connection();
    h.advance(400ms - 1ns);
    EXPECT_EQ(h.engine.wanted_connection(), connection);
    h.advance(1ns);
    EXPECT_NE(h.engine.wanted_connection(), connection);
}

TEST(engine_settings, ping_interval_probes_an_idle_connection) {
    engine_harness h{with([](auto& c) { c.ping_interval = 2s; })};
    h.grant("a");
    h.advance(1s);
    EXPECT_EQ(h.sent(), lines{});
    h.advance(4s);
    EXPECT_EQ(h.sent(), lines{"PING"});
}

TEST(engine_settings, reconnect_delays_are_the_pause_before_the_next_attempt) {
    for (const auto delay : {1ms, 10'000ms}) {
        engine_harness h{with([&](auto& c) {
            c.reconnect_delay_min = delay;
            c.reconnect_delay_max = delay;
            c.connect_timeout = 1h;
            c.operation_timeout = 1h;
        })};
        h.lock("a");
        h.break_connection();
        EXPECT_EQ(h.engine.wanted_connection(), 0u);
        h.advance(delay / 2 - 1ns);
        EXPECT_EQ(h.engine.wanted_connection(), 0u) << "half of it at least";
        h.advance(delay);
        EXPECT_EQ(h.engine.wanted_connection(), 2u);
    }
}

TEST(engine_settings, retry_attempts_end_what_waits_for_a_server) {
    engine_harness h{with([](auto& c) {
        c.retry_attempts = 3;
        c.operation_timeout = 1h;
    })};
    operation& op = h.lock("a");
    operation& second = h.lock("a");
    for (int i = 0; i < 2; ++i) {
        h.wait_for_attempt();
        h.break_connection();
    }
    EXPECT_FALSE(op.done());
    h.wait_for_attempt();
    h.break_connection();
    EXPECT_TRUE(op.ended(errc::not_connected));
    EXPECT_TRUE(second.ended(errc::not_connected));
    operation& later = h.lock("a");
    h.wait_for_attempt();
    h.break_connection();
    EXPECT_TRUE(later.ended(errc::not_connected)) << "it is known by now";
}

TEST(engine_settings, retry_attempts_leave_alone_what_concerns_a_hold) {
    engine_harness h{with([](auto& c) {
        c.retry_attempts = 1;
        c.operation_timeout = 1h;
    })};
    const auto hold = h.grant("a");
    const auto other = h.grant("b");
    h.break_connection();
    operation& longer = h.extend(hold, 60s);
    operation& release = h.unlock(other);
    operation& waits = h.lock("c");
    h.wait_for_attempt();
    h.break_connection();
    EXPECT_TRUE(waits.ended(errc::not_connected));
    EXPECT_FALSE(longer.done());
    EXPECT_FALSE(release.done());
    EXPECT_EQ(lost(hold), errc{});
}

TEST(engine_settings, retry_attempts_are_counted_anew_after_a_connection) {
    engine_harness h{with([](auto& c) {
        c.retry_attempts = 2;
        c.operation_timeout = 1h;
    })};
    h.lock("a");
    h.break_connection();
    h.connect();
    h.break_connection();
    operation& op = h.lock("b");
    h.wait_for_attempt();
    h.break_connection();
    EXPECT_FALSE(op.done()) << "a connection that breaks is no attempt that fails";
    h.wait_for_attempt();
    h.break_connection();
    EXPECT_TRUE(op.ended(errc::not_connected));
}

TEST(engine_settings, without_retry_attempts_there_is_no_limit) {
    engine_harness h{with([](auto& c) { c.operation_timeout = 1h; })};
    operation& op = h.lock("a");
    for (int i = 0; i < 100; ++i) {
        h.wait_for_attempt();
        h.break_connection();
    }
    EXPECT_FALSE(op.done());
}

TEST(engine_settings, operation_timeout_is_the_patience_with_a_server) {
    engine_harness h{with([](auto& c) { c.operation_timeout = 1500ms; })};
    operation& op = h.lock("a");
    h.advance(1500ms - 1ns);
    EXPECT_FALSE(op.done());
    h.advance(1ns);
    EXPECT_TRUE(op.ended(errc::not_connected));
}

TEST(engine_settings, default_lease_is_that_of_acquisitions_that_name_none) {
    engine_harness h{with([](auto& c) { c.default_lease = 12s; })};
    h.lock("a");
    h.lock("b", {.lease = 20s});
    h.connect();
    EXPECT_EQ(h.sent(), (lines{acquire_of("a", 1, 12'000), acquire_of("b", 2, 20'000)}));
}

TEST(engine_settings, default_lease_is_checked_with_the_options) {
    engine_harness h{with([](auto& c) {
        c.default_lease = 50ms;
        c.default_renew = false;
    })};
    EXPECT_FALSE(h.lock("a").done());
    EXPECT_TRUE(h.lock("a", {.renew = true}).ended(errc::invalid_lease));
    EXPECT_TRUE(h.lock("a", {.stop_before = 30ms}).ended(errc::invalid_stop_before));
}

TEST(engine_settings, default_renew_off_is_the_fixed_lease) {
    engine_harness h{with([](auto& c) { c.default_renew = false; })};
    h.grant("a");
    h.grant("b", {.renew = true});
    h.advance(10s + 1ms);
    std::string all;
    for (const command& c : h.sent_commands()) {
        all += c.text() + '\n';
    }
    EXPECT_NE(all.find("c:1 0"), std::string::npos) << "only looked at: " << all;
    EXPECT_NE(all.find("c:2 30000"), std::string::npos) << all;
}

TEST(engine_settings, max_poll_interval_bounds_the_wait_for_a_message) {
    engine_harness h{with([](auto& c) { c.max_poll_interval = 300ms; })};
    h.lock("a");
    h.connect();
    h.sent();
    h.reply(busy(30'000));
    h.sent();
    h.reply(subscribed("a"), busy(30'000));
    h.advance(150ms - 1ns);
    EXPECT_EQ(h.sent(), lines{}) << "half of it at least";
    h.advance(150ms + 1ns);
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 3)});
}

TEST(engine_settings, the_polls_of_many_names_are_bounded_together) {
    engine_harness h{with([](auto& c) { c.max_poll_interval = 20ms; })};
    constexpr std::size_t names = 100;
    std::string all_busy;
    for (std::size_t i = 0; i < names; ++i) {
        const std::string name = "n" + std::to_string(i);
        h.lock(name);
        if (i == 0) {
            h.connect();
        }
        h.sent();
        h.reply(busy(30'000));
        h.sent();
        h.reply(subscribed(name), busy(30'000));
        all_busy += busy(30'000);
    }
    h.advance(30ms);  // each of them began to wait when there were fewer
    EXPECT_EQ(h.sent().size(), names);
    h.reply(all_busy);
    h.advance(15ms - 1ns);
    EXPECT_EQ(h.sent(), lines{}) << "0.3 ms for each name, and half of it at least";
    h.advance(15ms + 1ns);
    EXPECT_EQ(h.sent().size(), names);
}

}  // namespace
