// SPDX-License-Identifier: BSL-1.0
#include "unit/wire/link_harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>

// Connecting, replaying, and refusals that pass.
namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

struct wire_link : testing::Test {
    link_harness h{};
    note a{plain_note, "a"};
    note b{plain_note, "b"};
    note s{script_note, "s"};

    ~wire_link() override { h.link.close(); }
    void ready() {
        h.submit(a);
        h.connect();
        h.sent();
        h.reply(ok());
        a.ends.clear();
    }
    /// Sends so many calls; the bytes that answer all of them.
    std::string ask(std::size_t count) {
        std::string answers;
        for (std::size_t i = 0; i < count; ++i) {
            h.submit(notes.emplace_back(plain_note, "n"));
            answers += integer(1);
        }
        h.sent();
        return answers;
    }

    static constexpr std::size_t one_turn = conch::wire::pipeline::most_joined;
    std::deque<note> notes{};
};

TEST_F(wire_link, it_connects_on_first_use) {
    EXPECT_EQ(h.connection.wanted(), 0u);
    EXPECT_EQ(h.timers.next(), conch::core::never);
    h.submit(a);
    EXPECT_NE(h.connection.wanted(), 0u);
}

TEST_F(wire_link, the_greeting_comes_before_anything_else) {
    h.submit(a);
    h.connection.connected();
    EXPECT_EQ(h.sent().front(), "HELLO 3 SETNAME conch");
    EXPECT_EQ(h.sent(), lines{}) << "not before the greeting was answered";
    h.reply(greeting(1, "1111"));
    EXPECT_EQ(h.sent(), lines{"a"});
}

TEST_F(wire_link, answers_reach_their_calls_in_order) {
    ready();
    h.submit(a);
    h.submit(b);
    h.sent();
    h.reply(integer(1) + error("ERR no"));
    EXPECT_EQ(a.ends, lines{":1"});
    EXPECT_EQ(b.ends, lines{"refused -6<ERR no>"});
    EXPECT_EQ(h.words, "ERR no");
}

TEST_F(wire_link, what_is_too_much_for_one_turn_is_handled_in_later_ones) {
    ready();
    const std::string answers = ask(2 * one_turn + 1);
    const auto answered = [&] {
        return std::count_if(notes.begin(), notes.end(),
                             [](const note& n) { return !n.ends.empty(); });
    };
    const auto before = h.counters.bytes_received;
    h.reply(answers);
    EXPECT_EQ(answered(), one_turn);
    EXPECT_TRUE(h.connection.halted());
    h.connection.go_on();
    EXPECT_EQ(answered(), 2 * one_turn);
    EXPECT_TRUE(h.connection.halted());
    h.connection.go_on();
    EXPECT_EQ(answered(), 2 * one_turn + 1);
    EXPECT_FALSE(h.connection.halted());
    EXPECT_EQ(h.counters.bytes_received - before, answers.size());
}

TEST_F(wire_link, what_was_not_handled_is_gone_with_its_connection) {
    ready();
    h.reply(ask(one_turn + 1));
    h.connection.broken("reset");
    EXPECT_FALSE(h.connection.halted());
    h.connect(2, "other process");
    EXPECT_FALSE(h.connection.halted());
    EXPECT_EQ(h.sent(), lines{"n"}) << "the one whose answer was not looked at";
    h.reply(integer(2));
    EXPECT_EQ(notes.back().ends, lines{":2"});
}

TEST_F(wire_link, a_turn_that_handles_all_there_is_does_not_make_another) {
    ready();
    h.reply(ask(one_turn));
    EXPECT_EQ(notes.back().ends, lines{":1"});
    EXPECT_FALSE(h.connection.halted());
}

TEST_F(wire_link, a_client_that_is_slow_to_look_does_not_take_the_server_for_silent) {
    ready();
    h.reply(ask(one_turn + 1));
    ASSERT_TRUE(h.connection.halted());
    const auto connection = h.connection.wanted();
    h.advance(1min);
    EXPECT_EQ(h.connection.wanted(), connection);
    h.connection.go_on();
    EXPECT_EQ(notes.back().ends, lines{":1"});
}

TEST_F(wire_link, a_flood_without_the_answer_does_not_hide_that_the_server_is_silent) {
    ready();
    h.submit(a);
    h.sent();
    std::string flood;
    for (std::size_t i = 0; i <= one_turn; ++i) {
        flood += ">2\r\n+invalidate\r\n*0\r\n";
    }
    h.reply(flood);
    ASSERT_TRUE(h.connection.halted());
    const auto connection = h.connection.wanted();
    h.advance(h.settings.response_timeout);
    EXPECT_EQ(h.connection.wanted(), connection) << "the answer may be there";
    h.connection.go_on();
    EXPECT_EQ(h.connection.wanted(), 0U) << "it was not";
    h.connect(2, "other process");
    EXPECT_EQ(h.sent(), lines{"a"});
    h.reply(ok());
}

TEST_F(wire_link, written_calls_are_replayed_in_order_on_the_next_connection) {
    ready();
    h.submit(a);
    h.submit(b);
    h.sent();
    h.connection.broken("reset");
    EXPECT_EQ(h.connection.wanted(), 0u);
    h.connect(2, "other process");
    EXPECT_EQ(h.sent(), (lines{"a", "b"}));
    EXPECT_EQ(a.ends, lines{});
}

TEST_F(wire_link, each_connection_has_a_number_of_its_own) {
    h.submit(a);
    const auto first = h.connection.wanted();
    h.connection.broken("refused");
    h.wait_for_attempt();
    EXPECT_GT(h.connection.wanted(), first);
}

TEST_F(wire_link, noscript_leads_to_eval_once) {
    ready();
    h.submit(s);
    EXPECT_EQ(h.sent(), lines{"acquire s"});
    h.reply(error("NOSCRIPT No matching script."));
    EXPECT_EQ(s.ends, lines{});
    EXPECT_EQ(h.sent(), lines{"EVAL acquire s"});
    h.reply(error("NOSCRIPT No matching script."));
    EXPECT_EQ(s.ends.size(), 1u);
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(wire_link, a_call_after_noscript_begins_with_evalsha_again) {
    ready();
    h.submit(s);
    h.sent();
    h.reply(error("NOSCRIPT No matching script."));
    h.sent();
    h.reply(ok());
    h.submit(s);
    EXPECT_EQ(h.sent(), lines{"acquire s"});
}

TEST_F(wire_link, noscript_does_not_send_what_nobody_wants) {
    ready();
    h.submit(s);
    h.sent();
    s.abandon();
    h.reply(error("NOSCRIPT No matching script."));
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_EQ(s.ends.size(), 1u);
}

TEST_F(wire_link, a_loading_server_is_asked_again_a_little_later) {
    ready();
    h.submit(a);
    h.submit(b);
    h.sent();
    h.reply(error("LOADING Redis is loading") + error("LOADING Redis is loading"));
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_EQ(a.trouble, errc::server_unavailable);
    h.advance(20ms);
    EXPECT_EQ(h.sent(), (lines{"a", "b"})) << "in the order that they had";
    h.reply(ok() + ok());
    EXPECT_EQ(a.ends.size() + b.ends.size(), 2u);
}

TEST_F(wire_link, the_delay_grows_up_to_a_limit) {
    ready();
    h.submit(a);
    h.sent();
    std::vector<conch::duration> delays;
    for (int i = 0; i < 12; ++i) {
        h.reply(error("LOADING Redis is loading"));
        const auto from = h.now;
        while (h.sent().empty()) {
            h.advance(1ms);
        }
        delays.push_back(h.now - from);
    }
    EXPECT_LE(delays.front(), 20ms);
    EXPECT_GE(delays.back(), 500ms);
    EXPECT_LE(delays.back(), 1s);
}

TEST_F(wire_link, what_is_urgent_is_asked_again_sooner_than_the_rest) {
    ready();
    h.submit(a);
    for (int i = 0; i < 8; ++i) {  // until the pauses are long
        while (h.sent().empty()) {
            h.advance(1ms);
        }
        h.reply(error("LOADING Redis is loading"));
    }
    note u{urgent_note, "u"};
    h.submit(u);
    EXPECT_EQ(h.sent(), lines{"u"});
    for (int i = 0; i < 3; ++i) {
        h.reply(error("LOADING Redis is loading"));
        h.advance(100ms);
        EXPECT_EQ(h.sent(), lines{"u"});
    }
    h.reply(ok());
    EXPECT_EQ(u.ends.size(), 1u);
    h.advance(1s);
    EXPECT_EQ(h.sent(), lines{"a"});
}

TEST_F(wire_link, what_nobody_wants_is_not_sent_again_after_loading) {
    ready();
    h.submit(a);
    h.sent();
    a.abandon();
    h.reply(error("LOADING Redis is loading"));
    EXPECT_EQ(a.ends.size(), 1u);
    h.advance(2s);
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(wire_link, a_delayed_call_can_be_withdrawn) {
    ready();
    h.submit(a);
    h.sent();
    h.reply(error("LOADING Redis is loading"));
    h.link.withdraw(a);
    h.advance(2s);
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_EQ(a.ends, lines{});
}

TEST_F(wire_link, a_reply_that_answers_nothing_drops_the_connection) {
    ready();
    h.reply(ok());
    EXPECT_FALSE(h.link.ready());
    EXPECT_EQ(h.words, "a reply that answers no command");
}

TEST_F(wire_link, bytes_that_are_no_resp3_drop_the_connection) {
    ready();
    h.submit(a);
    h.sent();
    h.reply("HTTP/1.1 400 Bad Request\r\n");
    EXPECT_FALSE(h.link.ready());
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", "a"})) << "it starts anew";
}

TEST_F(wire_link, a_push_that_concerns_nobody_is_counted_and_ignored) {
    ready();
    h.reply(join(">2\r\n", bulk("invalidate"), "_\r\n"));
    h.reply(push("subscribe", "unknown", integer(1)));
    EXPECT_TRUE(h.link.ready());
    EXPECT_EQ(h.counters.unknown_pushes, 2u);
}

TEST_F(wire_link, closing_ends_every_call_as_lost) {
    ready();
    h.submit(a);
    h.sent();
    h.submit(b);
    h.link.close();
    EXPECT_EQ(a.ends, lines{"lost"});
    EXPECT_EQ(b.ends, lines{"lost"});
    EXPECT_EQ(h.connection.wanted(), 0u);
    EXPECT_EQ(h.timers.next(), conch::core::never);
}

TEST(wire_link_tls, a_failure_that_will_not_pass_is_told_and_connecting_goes_on) {
    link_harness h;
    note n{plain_note, "x"};
    h.submit(n);
    h.connection.broken("a certificate", errc::tls_failed);
    EXPECT_EQ(h.news, lines{join("lost ", static_cast<int>(errc::tls_failed))});
    EXPECT_EQ(h.words, "a certificate");
    EXPECT_EQ(h.link.why_down(), errc::tls_failed);
    h.connect();
    EXPECT_TRUE(h.link.ready());
    h.link.close();
}

TEST(wire_link_tls, a_tls_handshake_without_answer_is_called_by_its_name) {
    for (const bool tls : {true, false}) {
        conch::config c;
        if (tls) {
            c.tls.emplace();
        }
        link_harness h{c};
        note n{plain_note, "x"};
        h.submit(n);
        h.advance(c.connect_timeout);
        EXPECT_EQ(h.words.find("TLS") != std::string::npos, tls);
        h.link.close();
    }
}

}  // namespace
