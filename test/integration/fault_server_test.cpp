// SPDX-License-Identifier: BSL-1.0
// A server that dies, stands still, comes back, or turns clients away, while they work.
#include "integration/fault_fixture.hpp"

namespace {

using namespace conch;
using namespace conch::test;

class fault_server_test : public fault_test {
protected:
    explicit fault_server_test(std::vector<std::string> arguments = with_debug())
        : fault_test{std::move(arguments)} {}

    /// A message that fills the output buffer of a subscriber soon. Valkey 9.1 keeps one of 16 KiB
    /// or more once for all, and counts it for nobody.
    const std::string much = std::string(15'000, 'x');

    /// DEBUG is allowed to all before 7.0.
    static std::vector<std::string> with_debug() {
        return server_is_before(7) ? std::vector<std::string>{}
                                   : std::vector<std::string>{"--enable-debug-command", "yes"};
    }

    void set(const std::string& name, const std::string& value) {
        raw.must({"CONFIG", "SET", name, value});
    }
    std::string get_setting(const std::string& name) {
        return raw.must({"CONFIG", "GET", name}).items.at(1).text;
    }
    /// A number of INFO's.
    std::uint64_t info(const std::string& section, const std::string& field) {
        const std::string all = raw.must({"INFO", section}).text;
        const auto at = all.find("\n" + field + ":");
        return at == std::string::npos ? 0 : std::stoull(all.substr(at + field.size() + 2));
    }
};

TEST_F(fault_server_test, killed_and_restarted_without_its_data_fences_protect) {
    const endured e = endure({.strike = [&] { server.kill(); },
                              .heal =
                                  [&] {
                                      server.start();
                                      raw.reconnect();
                                  },
                              .loses_data = true});
    EXPECT_GE(e.connection_losses(), 8u);
}

class fault_durable_server_test : public fault_server_test {
protected:
    fault_durable_server_test()
        : fault_server_test{{"--appendonly", "yes", "--appendfsync", "always"}} {}
};

TEST_F(fault_durable_server_test, killed_and_restarted_with_its_data_harms_nobody) {
    const endured e = endure({.strike = [&] { server.kill(); },
                              .heal =
                                  [&] {
                                      server.start();
                                      raw.reconnect();
                                  }});
    EXPECT_GE(e.connection_losses(), 8u);
}

TEST_F(fault_durable_server_test, a_hold_outlives_a_restart_with_its_data) {
    client c{io, through()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "lock:0", {.fenced = true}};
        hold h = co_await m.async_lock({.lease = 9s});
        const auto fields = raw.hgetall("lock:0");
        server.kill();
        server.start();
        raw.reconnect();
        const auto before = c.stats().renewals;
        const bool renewed = co_await when([&] { return c.stats().renewals > before; });
        EXPECT_TRUE(renewed);
        EXPECT_TRUE(h.owns_lock());
        EXPECT_EQ(raw.hgetall("lock:0"), fields);
        const auto [verdict] = co_await h.async_unlock(as_result);
        EXPECT_FALSE(verdict) << verdict.message();
    });
    expect_nothing_left({&c});
}

TEST_F(fault_server_test, a_restart_without_its_data_is_told_long_before_the_lease_ends) {
    client c{io, through()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "lock:0"};
        hold h = co_await m.async_lock({.lease = 60s, .renew = false});
        restart_empty();
        const auto [reason] = co_await h.async_wait_lost(as_result);
        EXPECT_EQ(reason, errc::lost_in_failover);
        EXPECT_GT(h.valid_until(), clock::now() + 10s);
        EXPECT_FALSE(h.owns_lock());
    });
    expect_nothing_left({&c});
}

TEST_F(fault_server_test, stopped_and_continued_harms_nobody) {
    const endured e = endure(
        {.strike = [&] { server.freeze(); }, .heal = [&] { server.thaw(); }, .length = 300ms});
    EXPECT_GE(e.longest_wait(), 250ms);
}

TEST_F(fault_server_test, slow_stopped_for_longer_than_clients_wait_harms_nobody) {
    const endured e = endure({.strike = [&] { server.freeze(); },
                              .heal = [&] { server.thaw(); },
                              .length = 3s,
                              .times = 1});
    EXPECT_GE(e.connection_losses(), 2u) << "it was given up meanwhile";
}

TEST_F(fault_server_test, paused_for_writes_harms_nobody) {
    const endured e = endure({.strike = [&] { raw.pause_writes(60s); },
                              .heal = [&] { raw.unpause(); },
                              .length = 300ms});
    EXPECT_GE(e.longest_wait(), 250ms);
}

TEST_F(fault_server_test, paused_for_everything_harms_nobody) {
    const endured e =
        endure({.strike = [&] { raw.must({"CLIENT", "PAUSE", "300", "ALL"}); }, .length = 350ms});
    EXPECT_GE(e.longest_wait(), 250ms);
}

TEST_F(fault_server_test, asleep_harms_nobody) {
    const endured e = endure({.strike = [&] { raw.send({"DEBUG", "SLEEP", "0.3"}); },
                              .heal = [&] { EXPECT_FALSE(raw.receive().is_error()); },
                              .length = 20ms});
    EXPECT_GE(e.longest_wait(), 250ms);
}

TEST_F(fault_server_test, clients_killed_as_subscribers_harm_nobody) {
    std::int64_t killed = 0;
    const auto strike = [&] { killed += raw.must({"CLIENT", "KILL", "TYPE", "pubsub"}).number; };
    const endured e = endure({.strike = strike, .times = 8});
    EXPECT_GT(killed, 0);
    EXPECT_GE(e.connection_losses(), static_cast<std::uint64_t>(killed));
}

TEST_F(fault_server_test, clients_killed_as_clients_harm_nobody) {
    std::int64_t killed = 0;
    const auto strike = [&] { killed += raw.must({"CLIENT", "KILL", "SKIPME", "yes"}).number; };
    const endured e = endure({.strike = strike, .times = 8});
    EXPECT_EQ(killed, 16);
    EXPECT_GE(e.connection_losses(), 16u);
}

TEST_F(fault_server_test, full_memory_refuses_acquires_by_name_and_harms_nobody) {
    const endured e = endure({.strike = [&] { set("maxmemory", "1"); },
                              .heal = [&] { set("maxmemory", "0"); },
                              .length = 200ms,
                              .told = {errc::out_of_memory}});
    EXPECT_GT(e.refusals, 0u);
    EXPECT_EQ(e.connection_losses(), 0u);
}

TEST_F(fault_server_test, full_memory_does_not_keep_a_holder_from_renewing_and_releasing) {
    client c{io, through()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "lock:0"};
        hold h = co_await m.async_lock({.lease = 900ms});
        set("maxmemory", "1");
        const auto before = c.stats().renewals;
        const bool renewed = co_await when([&] { return c.stats().renewals >= before + 4; });
        EXPECT_TRUE(renewed);
        EXPECT_TRUE(h.owns_lock());
        const auto [verdict] = co_await h.async_unlock(as_result);
        EXPECT_FALSE(verdict) << verdict.message();
        EXPECT_FALSE(raw.exists("lock:0"));
    });
    expect_nothing_left({&c});
}

TEST_F(fault_server_test, no_room_for_connections_harms_nobody) {
    const std::string usual = get_setting("maxclients");
    const auto strike = [&] {
        set("maxclients", "1");
        wire.cut();
    };
    const endured e =
        endure({.strike = strike, .heal = [&] { set("maxclients", usual); }, .length = 200ms});
    EXPECT_GE(e.connection_losses(), 8u);
    EXPECT_GT(info("stats", "rejected_connections"), 0u);
}

TEST_F(fault_server_test, no_room_for_a_connection_is_told_by_name_when_patience_ends) {
    config s = through();
    s.operation_timeout = 500ms;
    client c{io, s};
    set("maxclients", "1");
    lock_attempt a = start_lock(mutex{c, "lock:0"});
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    EXPECT_EQ(a.ec(), errc::server_unavailable) << a.ec().message();
    EXPECT_NE(c.last_server_error().find("max number of clients"), std::string::npos)
        << c.last_server_error();
}

TEST_F(fault_server_test, a_lagging_subscriber_that_is_disconnected_hears_of_the_release) {
    set("client-output-buffer-limit", "pubsub 262144 0 0");
    client c{io, through()};
    take_as_stranger(raw, "lock:0", 60s);
    take_as_stranger(raw, "flooded", 60s);
    lock_attempt a = start_lock(mutex{c, "lock:0"});
    lock_attempt other = start_lock(mutex{c, "flooded"});
    ASSERT_TRUE(run_until(io, [&] { return listening("lock:0") && listening("flooded"); }));
    wire.stall_replies();
    for (int i = 0; i < 200 && !raw.connections("through").empty(); ++i) {
        raw.must({"PUBLISH", channel_of("flooded"), much});
    }
    EXPECT_TRUE(raw.connections("through").empty()) << "it was not disconnected";
    redisson_release(raw, "lock:0");  // nobody hears it
    EXPECT_FALSE(a.done());
    wire.heal();
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    EXPECT_FALSE(a.ec()) << a.ec().message();
    EXPECT_EQ(c.stats().wakes_by_poll, 0u);
    a.value().release();
    other.cancel();
    expect_nothing_left({&c});
}

TEST_F(fault_server_test, lagging_subscribers_that_are_disconnected_again_and_again_harm_nobody) {
    set("client-output-buffer-limit", "pubsub 262144 0 0");
    std::uint64_t disconnected = 0;
    const auto strike = [&] {
        wire.stall_replies();
        const auto before = raw.connections("through").size();
        for (int i = 0; i < 200; ++i) {
            for (const std::string& channel : raw.channels()) {
                raw.must({"PUBLISH", channel, much});
            }
        }
        disconnected += before - raw.connections("through").size();
    };
    endure({.strike = strike, .heal = [&] { wire.heal(); }, .length = 20ms, .times = 6});
    EXPECT_GT(disconnected, 0u);
}

}  // namespace
