// SPDX-License-Identifier: BSL-1.0
// What happens to an idle line, or to a server with nothing to lose, isn't felt by anybody.
#include "sim/network.hpp"
#include "sim/server_node.hpp"
#include "sim/unit/two_servers.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

using namespace conch::sim;
using conch::sim::test::encoded;
using conch::sim::test::words;

struct quiet_client final : client_end {
    void opened(std::uint64_t) override {}
    void bytes_came(std::uint64_t, std::string_view bytes) override { got += bytes; }
    void broken(std::uint64_t) override {}
    std::string got{};
};

/// A client with nothing but a connection, and a server.
class line_effects_test : public ::testing::Test {
protected:
    static constexpr network::settings usual{};

    line_effects_test() {
        server.use(net);
        me = net.add(client);
        net.connect(me, 1);
        run_for(1 * seconds);
    }
    void run_for(instant t) {
        const instant until = w.now() + t;
        while (w.step(until)) {
        }
    }
    void send(const words& command) { net.send(me, 1, encoded(command)); }
    void ask(const words& command) {
        send(command);
        run_for(1 * seconds);
    }
    instant in(instant t) const { return w.now() + t; }

    world w{1};
    server_node server{w, {}};
    network net{w, server, usual};
    quiet_client client{};
    std::uint64_t me = 0;
    effect e{};
};

TEST_F(line_effects_test, a_reset_before_the_server_read_is_felt_if_something_was_sent) {
    send({"PING"});
    net.reset(me, false, &e);
    EXPECT_TRUE(e.was_felt());
}

TEST_F(line_effects_test, a_reset_of_an_idle_line_is_not_felt) {
    effect after{};
    net.reset(me, false, &e);
    net.reset(me, true, &after);
    run_for(10 * seconds);
    EXPECT_FALSE(e.was_felt());
    EXPECT_FALSE(after.was_felt());
}

TEST_F(line_effects_test, a_reset_is_felt_by_who_has_not_heard_of_it) {
    net.reset(me, false, &e);
    send({"PING"});
    EXPECT_TRUE(e.was_felt());
}

TEST_F(line_effects_test, a_reset_before_the_server_read_is_not_that_of_an_answer) {
    send({"PING"});
    run_for(usual.latency + usual.jitter);
    net.reset(me, false, &e);
    run_for(10 * seconds);
    EXPECT_EQ(client.got, "") << "the answer was under way";
    EXPECT_FALSE(e.was_felt());
}

TEST_F(line_effects_test, a_reset_after_the_server_ran_it_is_felt_if_an_answer_is_lost) {
    send({"PING"});
    net.reset(me, true, &e);
    EXPECT_TRUE(e.was_felt());
}

TEST_F(line_effects_test, a_reset_is_felt_if_a_server_that_stalls_answers_later) {
    server.stall(in(50 * micros));
    send({"PING"});
    net.reset(me, true, &e);
    EXPECT_FALSE(e.was_felt());
    run_for(60 * micros);
    EXPECT_TRUE(e.was_felt());
}

TEST_F(line_effects_test, a_reset_of_no_connection_is_not_felt) {
    net.close(me, 1);
    run_for(1 * seconds);
    send({"PING"});
    net.reset(me, false, &e);
    run_for(1 * seconds);
    EXPECT_FALSE(e.was_felt());
}

TEST_F(line_effects_test, a_silent_cut_is_felt_by_what_is_under_way) {
    send({"PING"});
    net.cut_silently(me, &e);
    EXPECT_TRUE(e.was_felt());
}

TEST_F(line_effects_test, a_silent_cut_is_felt_when_something_is_sent) {
    net.cut_silently(me, &e);
    run_for(10 * seconds);
    EXPECT_FALSE(e.was_felt());
    send({"PING"});
    EXPECT_TRUE(e.was_felt());
}

TEST_F(line_effects_test, a_silent_cut_is_not_felt_by_a_client_that_has_hung_up) {
    net.cut_silently(me, &e);
    net.close(me, 1);
    net.reply(0, "late");
    run_for(10 * seconds);
    EXPECT_FALSE(e.was_felt());
}

TEST_F(line_effects_test, a_silent_cut_is_felt_by_who_connects) {
    net.connect(me, 2);
    net.close(me, 1);
    net.cut_silently(me, &e);
    run_for(1 * seconds);
    EXPECT_TRUE(e.was_felt());
}

TEST_F(line_effects_test, a_clog_is_felt_by_what_comes_that_way) {
    effect down{};
    net.clog(me, way::up, in(2 * seconds), &e);
    net.clog(me, way::down, in(50 * micros), &down);
    run_for(100 * micros);
    EXPECT_FALSE(e.was_felt());
    send({"PING"});
    run_for(10 * seconds);
    EXPECT_TRUE(e.was_felt());
    EXPECT_FALSE(down.was_felt()) << "it was over";
}

TEST_F(line_effects_test, a_clog_on_the_way_back_is_felt_by_an_answer) {
    net.clog(me, way::down, in(2 * seconds), &e);
    send({"PING"});
    run_for(usual.latency + usual.jitter);
    EXPECT_FALSE(e.was_felt());
    run_for(usual.latency + usual.jitter);
    EXPECT_TRUE(e.was_felt());
}

TEST_F(line_effects_test, a_clog_is_felt_by_who_connects) {
    effect down{};
    net.clog(me, way::up, in(1 * seconds), &e);
    net.clog(me, way::down, in(2 * seconds), &down);
    net.connect(me, 2);
    run_for(usual.latency + usual.jitter);
    EXPECT_TRUE(e.was_felt());
    EXPECT_FALSE(down.was_felt());
    run_for(2 * seconds);
    EXPECT_TRUE(down.was_felt());
}

TEST_F(line_effects_test, a_clog_is_not_felt_by_a_client_that_has_hung_up) {
    net.clog(me, way::down, in(2 * seconds), &e);
    send({"PING"});
    net.close(me, 1);
    net.reply(0, "late");
    run_for(10 * seconds);
    EXPECT_FALSE(e.was_felt());
}

TEST_F(line_effects_test, a_clog_that_is_over_before_another_is_not_felt) {
    effect shorter{};
    net.clog(me, way::up, in(2 * seconds), &e);
    net.clog(me, way::up, in(1 * seconds), &shorter);
    ask({"PING"});
    EXPECT_TRUE(e.was_felt());
    EXPECT_FALSE(shorter.was_felt());
}

TEST_F(line_effects_test, a_line_that_is_held_up_is_felt_by_what_is_on_it) {
    effect other{};
    net.hold_up(me, in(2 * seconds), &e);
    run_for(3 * seconds);
    EXPECT_FALSE(e.was_felt());
    net.hold_up(me, in(2 * seconds), &other);
    ask({"PING"});
    EXPECT_TRUE(other.was_felt());
    EXPECT_FALSE(e.was_felt());
}

TEST_F(line_effects_test, a_stall_is_felt_by_what_comes_in_it) {
    server.stall(in(1 * seconds), &e);
    run_for(2 * seconds);
    ask({"PING"});
    EXPECT_FALSE(e.was_felt());
    server.stall(in(1 * seconds), &e);
    ask({"PING"});
    EXPECT_TRUE(e.was_felt());
}

TEST_F(line_effects_test, a_longer_stall_is_felt_by_what_waited_for_the_end_of_another) {
    effect shorter{};
    server.stall(in(1 * seconds), &e);
    send({"PING"});
    run_for(usual.latency + usual.jitter);
    EXPECT_TRUE(e.was_felt());
    server.stall(in(500 * millis), &shorter);
    effect longer{};
    server.stall(in(2 * seconds), &longer);
    EXPECT_FALSE(longer.was_felt());
    run_for(1 * seconds);
    EXPECT_TRUE(longer.was_felt());
    EXPECT_FALSE(shorter.was_felt());
}

TEST_F(line_effects_test, a_failover_is_felt_if_writes_are_lost) {
    ask({"SET", "k", "x"});
    server.fail_over(1, true, in(0), &e);
    EXPECT_TRUE(e.was_felt());
}

TEST_F(line_effects_test, a_failover_is_not_felt_without_writes) {
    server.fail_over(8, true, in(0), &e);
    EXPECT_FALSE(e.was_felt());
}

TEST_F(line_effects_test, a_failover_is_not_felt_if_the_lost_writes_left_nothing) {
    ask({"SET", "k", "x"});
    ask({"DEL", "k"});
    ask({"SET", "short", "x", "PX", "5"});
    server.fail_over(3, true, in(0), &e);
    EXPECT_FALSE(e.was_felt());
}

TEST_F(line_effects_test, a_restart_without_data_is_felt_if_there_was_any) {
    ask({"SET", "short", "x", "PX", "5"});
    server.restart(false, true, in(0), &e);
    EXPECT_FALSE(e.was_felt()) << "it had expired";
    run_for(1 * seconds);
    net.connect(me, 2);
    run_for(1 * seconds);
    net.send(me, 2, encoded({"SET", "k", "x"}));
    run_for(1 * seconds);
    server.restart(false, true, in(0), &e);
    EXPECT_TRUE(e.was_felt());
}

TEST_F(line_effects_test, a_restart_is_felt_by_who_was_connected) {
    server.restart(true, false, in(1 * seconds), &e);
    EXPECT_TRUE(e.was_felt());
}

TEST_F(line_effects_test, a_restart_is_felt_by_who_finds_the_server_gone) {
    net.close(me, 1);
    run_for(1 * seconds);
    effect shorter{};
    server.restart(true, true, in(1 * seconds), &e);
    server.restart(true, true, in(500 * millis), &shorter);
    EXPECT_FALSE(e.was_felt());
    net.connect(me, 2);
    run_for(1 * seconds);
    EXPECT_TRUE(e.was_felt());
    EXPECT_FALSE(shorter.was_felt());
}

TEST_F(line_effects_test, a_step_of_the_clock_is_felt_by_a_key_that_expires) {
    ask({"SET", "k", "x"});
    server.step_clock(1000, &e);
    EXPECT_FALSE(e.was_felt());
    ask({"SET", "k", "x", "PX", "60000"});
    server.step_clock(0, &e);
    EXPECT_FALSE(e.was_felt());
    server.step_clock(1000, &e);
    EXPECT_TRUE(e.was_felt());
}

}  // namespace
