// SPDX-License-Identifier: BSL-1.0
// Single commands that only read: what `inspector` asks for.
#include "unit/engine/harness.hpp"

#include <conch/inspector.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <stdexcept>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

class question_test : public ::testing::Test {
protected:
    operation& ask(std::vector<std::string> command) {
        operation& op = asked.emplace_back();
        h.turn([&] { h.engine.ask(std::move(command), 0, {&op, &op.running}, &reply); });
        return op;
    }

    std::deque<operation> asked{};
    server_reply reply{};
    engine_harness h;
};

TEST_F(question_test, is_sent_as_it_is_and_its_answer_is_told_whole) {
    const operation& op = ask({"SCAN", "0", "COUNT", "10"});
    h.connect();
    EXPECT_EQ(h.sent().back(), "SCAN 0 COUNT 10");
    h.reply(array(bulk("17"), array(bulk("a"), integer(3), "_\r\n")));
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(reply.at(0).text, "17");
    ASSERT_EQ(reply.at(1).list.size(), 3u);
    EXPECT_EQ(reply.at(1).at(0).text, "a");
    EXPECT_EQ(reply.at(1).at(1).number, 3);
    EXPECT_EQ(reply.at(1).at(2).type, server_reply::kind::null);
    EXPECT_EQ(reply.at(7).type, server_reply::kind::null) << "there is none";
}

TEST_F(question_test, that_is_refused_ends_so_with_the_server_s_words) {
    const operation& op = ask({"SCAN", "0"});
    h.connect();
    h.reply(error("NOPERM this user has no permissions to run the 'scan' command"));
    EXPECT_TRUE(op.ended(errc::permission_denied));
    EXPECT_EQ(reply.text, "NOPERM this user has no permissions to run the 'scan' command");
}

TEST_F(question_test, waits_for_a_connection_but_is_not_repeated_on_the_next_one) {
    const operation& op = ask({"TIME"});
    h.connect();
    EXPECT_FALSE(op.done());
    h.sent();
    h.break_connection();
    EXPECT_TRUE(op.ended(errc::not_connected));
    ask({"SCAN", "0"});
    h.connect();
    const std::vector<std::string> sent = h.sent();
    ASSERT_FALSE(sent.empty());
    EXPECT_EQ(sent.back(), "SCAN 0");
    EXPECT_EQ(std::count(sent.begin(), sent.end(), "TIME"), 0);
    h.reply(array(bulk("0"), array()));
}

TEST_F(question_test, that_is_not_answered_in_time_ends_and_its_answer_is_dropped) {
    const operation& op = ask({"TIME"});
    h.connect();
    h.advance(h.settings.operation_timeout);
    EXPECT_TRUE(op.done());
    EXPECT_TRUE(op.ec);
}

TEST_F(question_test, that_is_cancelled_is_not_touched_by_the_answer) {
    operation& op = ask({"TIME"});
    h.connect();
    h.cancel(op);
    EXPECT_TRUE(op.done());
    h.reply(array(bulk("1"), bulk("2")));
    EXPECT_EQ(reply.type, server_reply::kind::null);
}

TEST_F(question_test, ends_when_the_client_does) {
    const operation& op = ask({"TIME"});
    h.connect();
    h.shutdown();
    EXPECT_TRUE(op.ended(errc::client_closed));
    EXPECT_TRUE(ask({"TIME"}).ended(errc::client_closed));
}

TEST(question, only_commands_that_read_are_sent) {
    EXPECT_NO_THROW(impl::check_question({"GET", "a"}, 16383));
    EXPECT_NO_THROW(impl::check_question({"CLIENT", "LIST"}, 0));
    const std::vector<std::vector<std::string>> others{
        {},          {""},     {"SET", "a", "b"}, {"get", "a"},     {"CLIENT"},  {"CLIENT", "KILL"},
        {"CLUSTER"}, {"EVAL"}, {"KEYS", "*"},     {"HGETALL", "a"}, {"DEL", "a"}};
    for (const auto& command : others) {
        EXPECT_THROW(impl::check_question(command, 0), std::invalid_argument);
    }
    EXPECT_THROW(impl::check_question({"GET", "a"}, 16384), std::invalid_argument);
}

}  // namespace
