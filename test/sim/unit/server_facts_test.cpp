// SPDX-License-Identifier: BSL-1.0
// What the fake does by the clock, by passwords and by the numbers of connections is what a Redis
// does: the random commands can't see it, as two servers differ in all of these.
#include "sim/redis/command.hpp"
#include "sim/unit/two_servers.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace conch::sim;
using namespace conch::sim::test;

constexpr std::int64_t noon_us = 1'700'000'000'000'123;

class server_facts_test : public ::testing::Test {
protected:
    void SetUp() override {
        both.greet(0);
        both.greet(1);
        const std::string why = both.why_not_comparable();
        if (!why.empty()) {
            GTEST_SKIP() << why;
        }
    }

    two_servers both{2};
};

bool has_flag(const std::string& info, const std::string& flag) {
    return info.find("+" + flag + "\r\n") != std::string::npos;
}

/// Of commands with words of their own, the one that matters.
std::string full_name(std::string_view name) {
    return std::string{name} + (name == "client"   ? "|kill"
                                : name == "script" ? "|load"
                                : name == "pubsub" ? "|numsub"
                                                   : "");
}

std::int64_t integer_in(const std::string& answer) {
    return answer.starts_with(":") ? std::atoll(answer.c_str() + 1) : -1;
}

TEST_F(server_facts_test, each_command_has_the_arity_and_the_flags_that_redis_gives_it) {
    for (const auto group : {key_commands(), type_commands(), zset_commands(), server_commands()}) {
        for (const command& c : group) {
            const std::string name = full_name(c.name);
            const std::string info = both.only_real({"COMMAND", "INFO", name});
            const std::string before = name + "\r\n:";
            const std::int64_t arity = std::atoll(info.c_str() + info.find(before) + before.size());
            // Of some, the fake knows only the shortest form.
            EXPECT_TRUE(name != c.name || c.arity == arity || c.arity == -arity)
                << name << ": " << arity;
            EXPECT_EQ((c.flags & command::writes) != 0, has_flag(info, "write")) << name;
            EXPECT_EQ((c.flags & command::grows) != 0, has_flag(info, "denyoom")) << name;
            EXPECT_EQ((c.flags & command::while_loading) != 0, has_flag(info, "loading")) << name;
            EXPECT_EQ((c.flags & command::not_in_scripts) != 0, has_flag(info, "noscript")) << name;
        }
    }
}

/// An expiry and what is asked next within one millisecond, which the real one gets now and then.
void expect_at_once(two_servers& both, const std::string& script, const std::string& answer) {
    EXPECT_EQ(both.only_fake({"EVAL", script, "1", "k"}, noon_us), answer) << script;
    for (int i = 0; i < 1000; ++i) {
        if (both.only_real({"EVAL", script, "1", "k"}) == answer) {
            return;
        }
    }
    ADD_FAILURE() << "a real server never answers " << answer << " to " << script;
}

TEST_F(server_facts_test, the_time_left_is_exact) {
    const std::string set = "redis.call('set', KEYS[1], 'x', 'px', 60499) ";
    expect_at_once(both, set + "return redis.call('pttl', KEYS[1])", ":60499\r\n");
    expect_at_once(both, set + "return redis.call('ttl', KEYS[1])", ":60\r\n");
    const std::string longer = set + "redis.call('pexpire', KEYS[1], 60500) ";
    expect_at_once(both, longer + "return redis.call('pttl', KEYS[1])", ":60500\r\n");
    expect_at_once(both, longer + "return redis.call('ttl', KEYS[1])", ":61\r\n");
    const std::string in_seconds = set + "redis.call('expire', KEYS[1], 61) ";
    expect_at_once(both, in_seconds + "return redis.call('pttl', KEYS[1])", ":61000\r\n");
}

TEST_F(server_facts_test, a_key_is_still_there_in_the_millisecond_of_its_deadline) {
    both.only_fake({"HSET", "k", "f", "1"}, noon_us);
    both.only_fake({"PEXPIRE", "k", "5"}, noon_us);
    both.only_fake({"SET", "another", "x", "PX", "5"}, noon_us);
    const std::int64_t deadline = noon_us + 5'000;
    EXPECT_EQ(both.only_fake({"PTTL", "k"}, deadline), ":0\r\n");
    EXPECT_EQ(both.only_fake({"HEXISTS", "k", "f"}, deadline), ":1\r\n");
    EXPECT_EQ(both.only_fake({"HEXISTS", "k", "f"}, deadline + 1'000), ":0\r\n");
    EXPECT_EQ(both.only_fake({"PTTL", "k"}, deadline + 1'000), ":-2\r\n");
    EXPECT_EQ(both.only_fake({"GET", "another"}, deadline + 1'000), "_\r\n");
    EXPECT_EQ(both.only_fake({"DBSIZE"}, deadline + 1'000), ":0\r\n");

    // The real one: asked as often as possible until it is gone.
    for (int i = 0; i < 1000; ++i) {
        both.only_real({"SET", "k", "x", "PX", "2"});
        std::int64_t left = 0;
        do {
            left = integer_in(both.only_real({"PTTL", "k"}));
        } while (left > 0);
        if (left == 0) {
            return;
        }
    }
    FAIL() << "a real server never answers that no time is left";
}

TEST_F(server_facts_test, the_time_is_told_in_seconds_and_microseconds) {
    EXPECT_EQ(both.only_fake({"TIME"}, noon_us), "*2\r\n$10\r\n1700000000\r\n$3\r\n123\r\n");
    const auto real = [&] {
        const std::string answer = both.only_real({"TIME"});
        const std::size_t second = answer.find("\r\n", answer.find("\r\n", 4) + 2) + 2;
        return std::pair{answer,
                         std::atoll(answer.c_str() + answer.find("\r\n", 4) + 2) * 1'000'000 +
                             std::atoll(answer.c_str() + answer.find("\r\n", second) + 2)};
    };
    const auto [answer, us] = real();
    EXPECT_EQ(both.only_fake({"TIME"}, us), answer);
}

TEST_F(server_facts_test, connections_are_numbered_and_killed_by_their_numbers) {
    std::array<std::int64_t, 2> on_real{};
    std::array<std::int64_t, 2> on_fake{};
    for (std::size_t i = 0; i < 2; ++i) {
        on_real[i] = integer_in(both.only_real({"CLIENT", "ID"}, i));
        on_fake[i] = integer_in(both.only_fake({"CLIENT", "ID"}, noon_us, i));
    }
    EXPECT_EQ(on_real[1] - on_real[0], on_fake[1] - on_fake[0]);
    const auto kill = [&](std::size_t i) {
        both.ask_each(0, {"CLIENT", "KILL", "ID", std::to_string(on_real[i])},
                      {"CLIENT", "KILL", "ID", std::to_string(on_fake[i])});
    };
    kill(0);
    EXPECT_EQ(both.ask(0, {"PING"}), "+PONG\r\n") << "nobody kills itself";
    kill(1);
    both.expect_end(1);
    kill(1);
    both.ask(0, {"CLIENT", "KILL", "ID", "0"});
    both.ask(0, {"CLIENT", "KILL", "ID", "x"});
    both.ask(0, {"CLIENT", "KILL", "NAME", "x"});
}

TEST_F(server_facts_test, a_script_is_refused_whole_for_one_key_that_its_user_may_not_have) {
    const words both_keys{"EVAL", "return #KEYS", "2", "mine", "yours"};
    const words my_key{"EVAL", "return #KEYS", "1", "mine"};
    both.ask(0, both_keys);
    both.only_real({"ACL", "SETUSER", "default", "resetkeys", "~mine"});
    both.fake().refuse_batches(true);
    EXPECT_TRUE(both.ask(0, both_keys).starts_with("-NOPERM "));
    EXPECT_EQ(both.ask(0, my_key), ":1\r\n");
    both.ask(0, {"EVALSHA", std::string(40, '0'), "2", "mine", "yours"});
    both.only_real({"ACL", "SETUSER", "default", "allkeys"});
    both.fake().refuse_batches(false);
    EXPECT_EQ(both.ask(0, both_keys), ":2\r\n");
}

TEST_F(server_facts_test, a_password_that_nobody_asked_for_is_an_error) {
    both.ask(0, {"AUTH", "x"});
    both.ask(0, {"AUTH", "default", "x"});
    both.ask(0, {"AUTH", "nobody", "x"});
    both.ask(0, {"AUTH", "a", "b", "c"});
}

TEST_F(server_facts_test, nothing_is_done_before_the_right_password_is_told) {
    two_servers locked{2, "open sesame"};
    locked.ask(0, {"GET", "k"});
    locked.ask(0, {"PING"});
    locked.ask(0, {"NOSUCH"});
    locked.ask(0, {"GET"});
    locked.ask(0, {"HELLO", "3"});
    locked.ask(0, {"HELLO", "4"});
    locked.ask(0, {"HELLO", "x"});
    locked.ask(0, {"HELLO", "3", "AUTH", "default", "wrong"});
    locked.ask(0, {"HELLO", "3", "AUTH", "nobody", "open sesame"});
    locked.ask(0, {"HELLO", "3", "AUTH", "default"});
    locked.ask(0, {"AUTH", "wrong"});
    locked.ask(0, {"AUTH", "nobody", "open sesame"});
    locked.ask(0, {"GET", "k"});
    EXPECT_EQ(locked.ask(0, {"AUTH", "open sesame"}), "+OK\r\n");
    EXPECT_EQ(locked.ask(0, {"GET", "k"}), "$-1\r\n");
    locked.ask(0, {"HELLO", "4"});
    locked.ask(0, {"AUTH", "wrong"});
    EXPECT_EQ(locked.ask(0, {"GET", "k"}), "$-1\r\n") << "a wrong password takes nothing back";
    EXPECT_EQ(locked.ask(1, {"AUTH", "default", "open sesame"}), "+OK\r\n");
    locked.ask(1, {"HGETALL", "k"});
}

}  // namespace
