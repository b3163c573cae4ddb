// SPDX-License-Identifier: BSL-1.0
// The fake is a Redis: random commands and every script get the same answers from both, and leave
// the same keys.
#include "sim/unit/monkey.hpp"
#include "sim/unit/two_servers.hpp"
#include "wire/script.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::sim;
using namespace conch::sim::test;

/// With each script loaded, on connections that talk RESP3.
class differential_test : public ::testing::TestWithParam<std::uint64_t> {
protected:
    static constexpr std::size_t connections = 2;

    differential_test() {
        for (std::size_t i = 0; i < connections; ++i) {
            both.greet(i);
        }
        for (const wire::script& s : scripts()) {
            both.ask(0, {"SCRIPT", "LOAD", std::string{s.body}});
        }
    }
    void SetUp() override {
        const std::string why = both.why_not_comparable();
        if (!why.empty()) {
            GTEST_SKIP() << why;
        }
    }

    static std::vector<wire::script> scripts() {
        std::vector<wire::script> all;
        for (std::size_t i = 0; i < wire::script_count; ++i) {
            all.push_back(wire::get_script(static_cast<wire::script_id>(i)));
        }
        return all;
    }
    void ask(std::size_t connection, const words& command) {
        both.ask(connection, command);
        // With a wrong count of keys a permit is taken for a time in ms, or a word for a key.
        both.wait_for_short_lives(command);
    }
    wire::script any_script() { return scripts()[m.below(wire::script_count)]; }

    two_servers both{connections};
    monkey m{GetParam()};
};

TEST_P(differential_test, random_commands_get_equal_answers) {
    for (int i = 0; i < 3000 && !HasFatalFailure(); ++i) {
        both.ask(m.below(connections), m.command());
        if (i % 100 == 0) {
            both.compare_keys(monkey::keys());
        }
    }
    both.compare_keys(monkey::keys());
    both.expect_silence();
}

TEST_P(differential_test, scripts_with_any_arguments_on_any_keys_get_equal_answers) {
    for (const words& w : monkey::subscriptions()) {
        both.ask(m.below(connections), w);
    }
    for (int i = 0; i < 2000 && !HasFatalFailure(); ++i) {
        const bool plain = m.below(6) == 0;
        ask(m.below(connections), plain ? m.command() : m.script(any_script()));
        if (i % 100 == 0) {
            both.compare_keys(monkey::keys());
        }
    }
    both.compare_keys(monkey::keys());
    both.expect_silence();
}

TEST_P(differential_test, a_lock_and_its_renewal_among_keys_of_other_types) {
    const std::string acquire{wire::get_script(wire::script_id::acquire).sha1};
    const std::string renew{wire::get_script(wire::script_id::renew).sha1};
    both.ask(0, {"SET", "k1", "text"});
    both.ask(0, {"EVALSHA", acquire, "2", "k0", "token", "c:1", "60000", "0"});
    both.ask(0, {"EVALSHA", acquire, "1", "k1", "c:2", "60000", "0"});
    both.ask(0,
             {"EVALSHA", renew, "3", "k0", "k1", "k2", "c:1", "90000", "c:1", "90000", "c:1", "0"});
    both.compare_keys(monkey::keys());
}

TEST_P(differential_test, keys_expire) {
    both.ask(0, {"SET", "k0", "x", "PX", "1"});
    both.ask(0, {"HSET", "k1", "f", "1"});
    both.ask(0, {"PEXPIRE", "k1", "1"});
    both.wait_until_gone("k0");
    both.wait_until_gone("k1");
    both.ask(0, {"PTTL", "k0"});
    both.ask(0, {"PEXPIRE", "k2", "-1"});
    both.compare_keys(monkey::keys());
}

TEST_P(differential_test, forgotten_scripts_are_asked_for) {
    both.ask(0, {"SCRIPT", "FLUSH"});
    for (const wire::script& s : scripts()) {
        ask(0, m.script(s));
        both.ask(0, {"SCRIPT", "EXISTS", std::string{s.sha1}});
    }
    both.ask(0, {"EVAL", "return redis.call('incr', KEYS[1])", "1", "k3"});
    both.ask(0, {"EVAL", "this is no Lua", "0"});
    both.ask(0, {"EVAL", "return {1, 'two', false, 4}", "0"});
    both.ask(0, {"EVAL", "return {1.9, true, {err='MY words'}}", "0"});
    both.ask(0, {"EVAL", "return redis.error_reply('MY words')", "0"});
    both.ask(0, {"EVAL", "return redis.status_reply('FINE')", "0"});
    both.ask(0, {"EVAL", "return redis.call('nosuch')", "0"});
    both.ask(0, {"EVAL", "return redis.call('get')", "0"});
    both.ask(0, {"EVAL", "return redis.pcall('hget', KEYS[1], 'f').err", "1", "k3"});
    both.ask(0, {"EVAL", "return redis.call('get', KEYS[1]) == false", "1", "k2"});
    both.ask(0, {"EVAL", "return type(redis.call('hgetall', KEYS[1]))", "1", "k2"});
    both.ask(0, {"EVAL", "return nosuchglobal", "0"});
    both.ask(0, {"EVAL", "mine = 1 return mine", "0"});
    both.ask(0, {"EVAL", "return redis.call('eval', 'return 1', 0)", "0"});
    both.ask(0, {"EVAL", "return redis.call('set', KEYS[1], {})", "1", "k2"});
    both.ask(0, {"EVAL", "return redis.sha1hex('x')", "0"});
    // What was called by its text is known by its name.
    const std::string sha = both.ask(0, {"SCRIPT", "LOAD", "return 7"}).substr(5, 40);
    both.ask(0, {"SCRIPT", "FLUSH"});
    both.ask(0, {"EVALSHA", sha, "0"});
    both.ask(0, {"EVAL", "return 7", "0"});
    both.ask(0, {"EVALSHA", sha, "0"});
}

TEST_P(differential_test, a_replica_refuses_to_write) {
    for (int i = 0; i < 20; ++i) {
        ask(0, m.script(any_script()));
    }
    both.only_real({"REPLICAOF", "127.0.0.1", "1"});
    both.fake().refuse("READONLY You can't write against a read only replica.");
    for (int i = 0; i < 200 && !HasFatalFailure(); ++i) {
        ask(0, m.script(any_script()));
    }
    for (const words& w : {words{"SET", "k0", "x"}, words{"DEL", "k0"}, words{"GET", "token"},
                           words{"PUBLISH", "channel", "x"}, words{"HDEL", "k0", "f"}}) {
        both.ask(0, w);
    }
}

TEST_P(differential_test, a_full_server_refuses_to_grow) {
    for (int i = 0; i < 20; ++i) {
        ask(0, m.script(any_script()));
    }
    both.only_real({"CONFIG", "SET", "maxmemory", "1"});
    both.fake().refuse("OOM command not allowed when used memory > 'maxmemory'.");
    for (int i = 0; i < 200 && !HasFatalFailure(); ++i) {
        ask(0, m.script(any_script()));
    }
    both.ask(0, {"SET", "k0", "x"});
    both.ask(0, {"DEL", "k0"});
    both.ask(0, {"PEXPIRE", "token", "90000"});
    // Who wrote before may go on.
    const std::string grow = "return redis.call('set', KEYS[1], 'x')";
    both.ask(0, {"EVAL", grow, "1", "k0"});
    both.ask(0, {"EVAL", "redis.call('del', KEYS[1]) " + grow, "1", "k0"});
    both.ask(0, {"GET", "k0"});
}

// As a server before 7.0 does to SPUBLISH.
TEST_P(differential_test, scripts_get_equal_answers_where_messages_are_refused) {
    both.only_real({"ACL", "SETUSER", "default", "resetchannels"});
    both.fake().refuse(
        "NOPERM this user has no permissions to access one of the channels used as arguments");
    for (int i = 0; i < 500 && !HasFatalFailure(); ++i) {
        ask(m.below(connections), m.script(any_script()));
    }
    both.compare_keys(monkey::keys());
    for (const words& w : {words{"PUBLISH", "channel", "x"}, words{"SPUBLISH", "channel", "x"},
                           words{"SUBSCRIBE", "channel"}, words{"SSUBSCRIBE", "channel"}}) {
        both.ask(0, w);
    }
}

INSTANTIATE_TEST_SUITE_P(seeds, differential_test, ::testing::Range<std::uint64_t>(1, 4));

}  // namespace
