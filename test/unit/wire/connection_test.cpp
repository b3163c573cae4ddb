// SPDX-License-Identifier: BSL-1.0
#include "unit/wire/link_harness.hpp"

#include <gtest/gtest.h>

#include <set>

// Deadlines, PING and back-off.
namespace {

using namespace conch::test;
using namespace std::chrono_literals;

struct wire_connection : testing::Test {
    link_harness h{};
    note a{plain_note, "a"};

    ~wire_connection() override { h.link.close(); }
    void ready() {
        h.submit(a);
        h.connect();
        h.sent();
        h.reply(ok());
    }
};

TEST_F(wire_connection, a_connection_that_is_not_made_in_time_is_given_up) {
    h.submit(a);
    h.advance(4999ms);
    EXPECT_NE(h.connection.wanted(), 0u);
    h.advance(1ms);
    EXPECT_EQ(h.connection.wanted(), 0u);
}

TEST_F(wire_connection, the_greeting_counts_into_that_time) {
    h.submit(a);
    h.advance(4s);
    h.connection.connected();
    h.sent();
    h.reply(hello(1));
    h.advance(1s);
    EXPECT_EQ(h.connection.wanted(), 0u);
}

TEST_F(wire_connection, failures_in_turn_are_logged_once_each_then_counted_and_told_to_be_over) {
    const std::string none = "no connection to 127.0.0.1:6379: ";
    h.submit(a);
    for (int i = 0; i < 20; ++i) {
        h.wait_for_attempt();
        h.connection.broken(i % 2 == 0 ? "refused" : "unreachable");
        if (i == 1) {
            EXPECT_EQ(h.logged, (lines{none + "refused", none + "unreachable"}));
        }
    }
    ASSERT_EQ(h.logged.size(), 4u);
    EXPECT_TRUE(h.logged[2].starts_with(none + "refused: ")) << h.logged[2];
    EXPECT_TRUE(h.logged[2].ends_with(" more")) << h.logged[2];
    h.logged.clear();
    h.connect();
    EXPECT_EQ(h.logged, (lines{none + "refused: no more, after 10",
                               none + "unreachable: no more, after 10"}));
}

TEST_F(wire_connection, a_server_that_ends_each_connection_at_once_does_not_fill_the_log) {
    h.submit(a);
    for (int i = 0; i < 20; ++i) {
        h.connect();
        h.connection.broken("end of file");
    }
    EXPECT_LE(h.logged.size(), 2u);
}

TEST_F(wire_connection, what_the_server_said_stays_until_it_serves_or_says_something_else) {
    h.submit(a);
    const auto end_of_file = [&] {
        h.wait_for_attempt();
        h.connection.connected();
        h.connection.broken("end of file");
        return h.words;
    };
    EXPECT_EQ(end_of_file(), "end of file");
    h.wait_for_attempt();
    h.connection.connected();
    h.sent();
    h.reply(error("ERR max number of clients reached"));
    EXPECT_EQ(end_of_file(), "ERR max number of clients reached");
    EXPECT_EQ(h.link.why_down(), conch::errc::server_unavailable);
    h.connect();
    h.sent();
    h.reply(ok());
    h.connection.broken("reset");
    EXPECT_EQ(end_of_file(), "end of file");
}

TEST_F(wire_connection, a_silent_connection_is_probed) {
    ready();
    h.advance(9999ms);
    EXPECT_EQ(h.sent(), lines{});
    h.advance(1ms);
    EXPECT_EQ(h.sent(), lines{"PING"});
    h.reply("+PONG\r\n");
    h.advance(9s);
    EXPECT_TRUE(h.link.ready());
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(wire_connection, a_probe_that_is_refused_is_answered) {
    ready();
    h.advance(10s);
    EXPECT_EQ(h.sent(), lines{"PING"});
    h.reply(error("MISCONF Redis is configured to save RDB snapshots"));
    h.advance(9s);
    EXPECT_TRUE(h.link.ready());
    EXPECT_EQ(h.sent(), lines{}) << "the next one is due after 10 s";
}

TEST_F(wire_connection, a_probe_without_an_answer_ends_it) {
    ready();
    h.advance(10s);
    EXPECT_EQ(h.sent(), lines{"PING"});
    h.advance(2999ms);
    EXPECT_TRUE(h.link.ready());
    h.advance(1ms);
    EXPECT_FALSE(h.link.ready());
}

TEST_F(wire_connection, an_answer_that_is_overdue_ends_it) {
    ready();
    h.advance(1s);
    h.submit(a);
    h.sent();
    h.advance(2900ms);
    EXPECT_TRUE(h.link.ready());
    h.advance(3s);
    EXPECT_FALSE(h.link.ready()) << "at most one response_timeout after it was due";
}

TEST_F(wire_connection, messages_are_no_sign_of_life_where_an_answer_is_overdue) {
    ready();
    h.submit(a);
    h.sent();
    for (int i = 0; i < 30 && h.link.ready(); ++i) {
        h.reply(released("x"));
        h.advance(100ms);
    }
    h.advance(1ms);
    EXPECT_FALSE(h.link.ready()) << "what it sends may not arrive";
}

TEST_F(wire_connection, messages_are_a_sign_of_life_where_no_answer_is_due) {
    ready();
    for (int i = 0; i < 20; ++i) {
        h.advance(1s);
        h.reply(released("x"));
    }
    EXPECT_EQ(h.sent(), lines{}) << "there is nothing to probe";
}

TEST_F(wire_connection, a_busy_connection_is_not_probed) {
    ready();
    for (int i = 0; i < 60; ++i) {
        h.submit(a);
        EXPECT_EQ(h.sent(), lines{"a"});
        h.reply(ok());
        h.advance(1s);
    }
    EXPECT_TRUE(h.link.ready());
}

TEST_F(wire_connection, the_pause_grows_is_jittered_and_has_a_limit) {
    h.submit(a);
    std::vector<conch::duration> pauses;
    for (int i = 0; i < 40; ++i) {
        h.connection.broken("refused");
        pauses.push_back(h.wait_for_attempt());
    }
    for (std::size_t i = 0; i < pauses.size(); ++i) {
        const auto full = std::min<conch::duration>(20ms * (1 << std::min<std::size_t>(i, 10)), 1s);
        EXPECT_GE(pauses[i], full / 2) << i;
        EXPECT_LE(pauses[i], full) << i;
    }
    const std::set<conch::duration> distinct{pauses.end() - 30, pauses.end()};
    EXPECT_GT(distinct.size(), 20u);
}

TEST_F(wire_connection, after_a_success_the_pause_is_short_again) {
    h.submit(a);
    for (int i = 0; i < 10; ++i) {
        h.connection.broken("refused");
        h.wait_for_attempt();
    }
    h.connect();
    h.sent();
    h.reply(ok());
    h.connection.broken("reset");
    EXPECT_LE(h.wait_for_attempt(), 20ms);
}

TEST_F(wire_connection, it_tells_since_when_it_is_down) {
    ready();
    EXPECT_EQ(h.link.down_since(h.now), h.now);
    h.advance(1s);
    const auto broke = h.now;
    h.connection.broken("reset");
    h.advance(3s);
    h.connection.broken("refused");
    EXPECT_EQ(h.link.down_since(h.now), broke);
}

}  // namespace
