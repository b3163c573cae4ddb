// SPDX-License-Identifier: BSL-1.0
// What a fake server forgets, and what it does not.
#include "sim/fake_redis.hpp"
#include "sim/unit/two_servers.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using namespace conch::sim;
using conch::sim::test::encoded;
using conch::sim::test::words;

class server_faults_test : public ::testing::Test {
protected:
    static constexpr std::int64_t now_us = 1'700'000'000'000'000;

    std::string ask(fake_redis::connection c, const words& command) {
        server.receive(c, encoded(command), now_us);
        return server.take_output(c);
    }
    std::string ask(const words& command) { return ask(me, command); }

    fake_redis server{{}};
    fake_redis::connection me = server.connect();
};

TEST_F(server_faults_test, the_last_writes_never_happened) {
    ask({"HSET", "k", "f", "1"});
    ask({"PEXPIRE", "k", "5000"});
    ask({"SET", "other", "x"});
    const std::string before = server.dump(now_us);
    ask({"PEXPIRE", "k", "9000"});
    ask({"GET", "other"});
    ask({"HDEL", "k", "f"});
    ask({"DEL", "other", "nothing"});
    ask({"SET", "new", "x"});
    server.lose_last_writes(1);
    EXPECT_EQ(server.dump(now_us), "");
    server.lose_last_writes(3);
    EXPECT_EQ(server.dump(now_us), before);
    server.lose_last_writes(100);
    EXPECT_EQ(server.dump(now_us), "");
}

TEST_F(server_faults_test, a_script_may_have_the_keys_that_it_declares_and_no_others) {
    EXPECT_EQ(ask({"EVAL", "return redis.call('set', KEYS[1], 'x')", "1", "k"}), "+OK\r\n");
    const std::string refused = ask({"EVAL", "return redis.call('get', 'k')", "0"});
    EXPECT_TRUE(refused.starts_with("-ERR script tried accessing undeclared key")) << refused;
}

TEST_F(server_faults_test, what_a_script_wrote_is_lost_together) {
    ask({"SET", "k", "x"});
    const std::string before = server.dump(now_us);
    ask({"EVAL",
         "redis.call('del', KEYS[1]) redis.call('hset', KEYS[1], 'f', 1) "
         "redis.call('pexpire', KEYS[1], 5000)",
         "1", "k"});
    EXPECT_NE(server.dump(now_us), before);
    server.lose_last_writes(1);
    EXPECT_EQ(server.dump(now_us), before);
}

TEST_F(server_faults_test, a_restart_ends_connections_and_scripts_and_changes_the_run_id) {
    ask({"SET", "k", "x"});
    const std::string script = "return 1";
    ask({"SCRIPT", "LOAD", script});
    const std::string sha = server.connect() == 2 ? "e0e1f9fabfc9d4800c877a703b823ac0578ff8db" : "";
    EXPECT_EQ(ask({"SCRIPT", "EXISTS", sha}), "*1\r\n:1\r\n");
    const std::string id = server.run_id();
    server.restart(true);
    EXPECT_TRUE(server.closed(me));
    EXPECT_NE(server.run_id(), id);
    EXPECT_EQ(server.connect(), 1) << "ids start again";
    EXPECT_EQ(ask(1, {"SCRIPT", "EXISTS", sha}), "*1\r\n:0\r\n");
    EXPECT_EQ(ask(1, {"GET", "k"}), "$1\r\nx\r\n");
    server.restart(false);
    EXPECT_EQ(server.dump(now_us), "");
}

TEST_F(server_faults_test, a_stranger_takes_the_expiry_of_a_key_away) {
    ask({"HSET", "k", "f", "1"});
    EXPECT_FALSE(server.persist("k", now_us)) << "there is none yet";
    EXPECT_FALSE(server.persist("nothing", now_us));
    ask({"PEXPIRE", "k", "5000"});
    EXPECT_TRUE(server.persist("k", now_us));
    EXPECT_EQ(ask({"PTTL", "k"}), ":-1\r\n");
    server.expire("k", 7000, now_us);
    EXPECT_EQ(ask({"PTTL", "k"}), ":7000\r\n");
}

TEST_F(server_faults_test, a_holder_is_the_first_field_of_a_hash) {
    ask({"HSET", "k", "f", "1"});
    ask({"SET", "text", "x"});
    ASSERT_TRUE(server.holder("k", now_us));
    EXPECT_EQ(*server.holder("k", now_us), "f");
    EXPECT_FALSE(server.holder("text", now_us));
    EXPECT_FALSE(server.holder("nothing", now_us));
}

TEST_F(server_faults_test, batches_are_refused_until_they_are_not_even_over_a_restart) {
    const words batch{"EVAL", "return 1", "2", "a", "b"};
    server.refuse_batches(true);
    EXPECT_TRUE(ask(batch).starts_with("-NOPERM "));
    EXPECT_EQ(ask({"EVAL", "return 1", "1", "a"}), ":1\r\n");
    EXPECT_EQ(ask({"DEL", "a", "b"}), ":0\r\n") << "only scripts";
    server.restart(true);
    EXPECT_TRUE(ask(server.connect(), batch).starts_with("-NOPERM "));
    server.refuse_batches(false);
    EXPECT_EQ(ask(batch), ":1\r\n");
}

TEST_F(server_faults_test, a_refusal_is_felt_by_the_first_whom_it_concerns) {
    effect reads{};
    effect batches{};
    effect subscriptions{};
    effect kills{};
    server.refuse("READONLY You can't write against a read only replica.", &reads);
    server.refuse_batches(true, &batches);
    server.refuse_subscriptions(true, &subscriptions);
    server.refuse_kills(true, &kills);
    ask({"GET", "k"});
    ask({"EVAL", "return 1", "1", "a"});
    ask({"UNSUBSCRIBE", "c"});
    ask({"CLIENT", "ID"});
    for (const effect* e : {&reads, &batches, &subscriptions, &kills}) {
        EXPECT_FALSE(e->was_felt());
    }
    ask({"SET", "k", "x"});
    EXPECT_TRUE(reads.was_felt());
    ask({"EVAL", "return 1", "2", "a", "b"});
    EXPECT_TRUE(batches.was_felt());
    ask({"SUBSCRIBE", "c"});
    EXPECT_TRUE(subscriptions.was_felt());
    ask({"CLIENT", "KILL", "ID", "7"});
    EXPECT_TRUE(kills.was_felt());
}

TEST_F(server_faults_test, a_subscription_that_the_server_ends_is_told_and_over) {
    ask({"HELLO", "3"});
    ask({"SUBSCRIBE", "c", "d"});
    const fake_redis::connection other = server.connect();
    server.end_subscriptions("c");
    const std::vector<fake_redis::connection> told{me};
    EXPECT_EQ(server.take_ready(), told);
    EXPECT_EQ(server.take_output(me), ">3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:1\r\n");
    EXPECT_EQ(ask(other, {"PUBLISH", "c", "0"}), ":0\r\n");
    EXPECT_EQ(ask(other, {"PUBLISH", "d", "0"}), ":1\r\n");
}

TEST_F(server_faults_test, a_message_that_is_lost_is_counted_as_delivered) {
    ask({"SUBSCRIBE", "c"});
    const fake_redis::connection other = server.connect();
    effect e{};
    server.lose_messages(1, &e);
    EXPECT_EQ(ask(other, {"PUBLISH", "nobody", "0"}), ":0\r\n") << "loses nothing";
    EXPECT_FALSE(e.was_felt());
    EXPECT_EQ(ask(other, {"PUBLISH", "c", "1"}), ":1\r\n");
    EXPECT_TRUE(e.was_felt());
    EXPECT_EQ(server.take_output(me), "");
    EXPECT_EQ(ask(other, {"PUBLISH", "c", "2"}), ":1\r\n");
    EXPECT_NE(server.take_output(me), "");
}

}  // namespace
