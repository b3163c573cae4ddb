// SPDX-License-Identifier: BSL-1.0
// The fake is a Redis: random commands and every script get the same answers from both, and leave
// the same keys.
#include "sim/unit/two_servers.hpp"

#include "sim/world.hpp"
#include "wire/script.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::sim;
using namespace conch::sim::test;

const words keys{"k0", "k1", "k2", "k3", "token"};

/// Random commands, right ones and wrong ones.
class monkey {
public:
    explicit monkey(std::uint64_t seed) : chance_{seed} {}

    std::size_t below(std::size_t n) { return static_cast<std::size_t>(chance_.below(n)); }
    std::string key() { return keys[below(4)]; }
    /// Mostly the one that has the right type, so that there is something in it.
    std::string key_of(std::size_t type) { return below(4) == 0 ? key() : keys[type]; }
    std::string field() { return "f" + std::to_string(below(4)); }
    std::string number() {
        static const words odd{"0",
                               "-1",
                               "7",
                               "abc",
                               "",
                               "1.5",
                               "9223372036854775807",
                               " 3",
                               "03",
                               "-9223372036854775808",
                               "99999999999999999999"};
        return chance_.once_in(3) ? odd[below(odd.size())] : std::to_string(below(20));
    }
    /// Long enough that it can't pass during the test, or odd.
    std::string ttl() {
        static const words odd{"0", "-1", "abc", "", "1.5", "9223372036854775807", " 3", "060000"};
        return chance_.once_in(4) ? odd[below(odd.size())] : std::to_string(60 + below(40)) + "000";
    }

    words command() {
        switch (below(12)) {
            case 0: return {"SET", key(), number()};
            case 1: return {"SET", key(), field(), one_of({"PX", "EX", "px"}), ttl()};
            case 2: return {"SET", key(), field(), one_of({"NX", "XX", "KEEPTTL", "GET", "zz"})};
            case 3: return strings();
            case 4: return keys_of_any_type();
            case 5:
            case 6: return hashes();
            case 7: return lists();
            case 8:
            case 9: return zsets();
            case 10: return servers();
            default: return cut_short();
        }
    }

    words script(const wire::script& s) {
        std::string_view what = s.name;
        what.remove_prefix(what.starts_with("token_") ? 6 : 0);
        const bool many = what.ends_with("_many");
        what.remove_suffix(many ? 5 : 0);
        const std::size_t runs = many ? 2 + below(3) : 1;
        words w{"EVALSHA", std::string{s.sha1},
                chance_.once_in(20) ? number() : std::to_string(runs)};
        for (std::size_t i = 0; i < runs; ++i) {
            w.push_back(key());
        }
        for (std::size_t i = 0; i < runs; ++i) {
            const words args = arguments_of(what);
            w.insert(w.end(), args.begin(), args.end());
        }
        if (chance_.once_in(40)) {
            w.pop_back();
        }
        return w;
    }

private:
    words arguments_of(std::string_view script) {
        const std::string holder = "client:" + std::to_string(below(3));
        if (script == "acquire") {
            return {holder, ttl(), one_of({"", "token", "token", key()}),
                    one_of({"0", "0", "90000"})};
        }
        if (script == "release") {
            return {holder, one_of({"channel", "other"})};
        }
        if (script == "renew") {
            return {holder, chance_.once_in(3) ? "0" : ttl()};
        }
        if (script == "nest") {
            return {holder, std::to_string(1 + below(3)), ttl()};
        }
        if (script == "status") {
            return {one_of({"", "token", key()})};
        }
        EXPECT_TRUE(script.starts_with("rate_")) << script << " has no arguments here";
        // A window of more than a year is refused by the client.
        words w{std::to_string(3 + below(5)), std::to_string(60 + below(40)) + "000"};
        for (std::size_t n = 1 + below(3); n > 0; --n) {
            w.push_back(std::to_string(1 + below(3)));
        }
        return w;
    }

    std::string one_of(const words& w) { return w[below(w.size())]; }

    words strings() {
        if (chance_.once_in(40)) {
            return {"FLUSHALL"};
        }
        const std::string what = one_of({"GET", "INCR", "DECR", "INCRBY", "STRLEN", "get"});
        return what == "INCRBY" ? words{what, key(), number()} : words{what, key()};
    }
    words keys_of_any_type() {
        switch (below(7)) {
            case 0: return {one_of({"DEL", "UNLINK"}), key(), key()};
            case 1: return {"EXISTS", key(), key()};
            case 5: return {"EXPIRE", key(), one_of({"70", "80", "0", "-1", "x", "1.5"})};
            case 2: return {"PERSIST", key()};
            case 3: return {"PEXPIRE", key(), ttl()};
            case 4: return {"PEXPIRE", key(), ttl(), one_of({"NX", "XX", "GT", "LT", "qq"})};
            default: return {one_of({"TYPE", "PTTL"}), key()};
        }
    }
    words hashes() {
        switch (below(8)) {
            case 0: return {"HSET", key_of(1), field(), number(), field(), number()};
            case 1: return {"HSETNX", key_of(1), field(), number()};
            case 2: return {"HGET", key_of(1), field()};
            case 3: return {"HEXISTS", key_of(1), field()};
            case 4: return {"HDEL", key_of(1), field(), field()};
            case 5: return {"HINCRBY", key_of(1), field(), number()};
            case 6: return {"HLEN", key_of(1)};
            default: return {"HGETALL", key_of(1)};
        }
    }
    words lists() {
        switch (below(6)) {
            case 0: return {one_of({"LPUSH", "RPUSH"}), key_of(2), field(), field()};
            case 1: return {"LINDEX", key_of(2), number()};
            case 2: return {"LRANGE", key_of(2), number(), number()};
            case 3: return {"LREM", key_of(2), one_of({"0", "1", "-1", "x"}), field()};
            case 4: return {"LPOP", key_of(2)};
            default: return {"LLEN", key_of(2)};
        }
    }
    words zsets() {
        const std::string low = one_of({"-inf", "1", "(3", "0.5", "nan?"});
        const std::string high = one_of({"+inf", "10", "(12", "x"});
        switch (below(10)) {
            case 0: return {"ZADD", key_of(3), number(), field()};
            case 1: return {"ZADD", key_of(3), one_of({"1.5", "3", "inf"}), field(), "2", field()};
            case 2: return {"ZSCORE", key_of(3), field()};
            case 3: return {"ZREM", key_of(3), field(), field()};
            case 4: return {"ZRANGEBYSCORE", key_of(3), low, high};
            case 8:
                return {"ZRANGEBYSCORE",
                        key_of(3),
                        "-inf",
                        "+inf",
                        one_of({"LIMIT", "limit", "x"}),
                        one_of({"0", "1", "-1"}),
                        one_of({"0", "1", "-1", "y"})};
            case 9: return {"ZRANGE", key_of(3), one_of({"0", "1", "-2"}), one_of({"0", "-1"})};
            case 5: return {"ZREMRANGEBYSCORE", key_of(3), low, high};
            case 6: return {"ZCOUNT", key_of(3), low, high};
            default: return {one_of({"ZCARD", "LLEN", "HLEN"}), key_of(3)};
        }
    }
    words servers() {
        switch (below(8)) {
            case 0: return {"PUBLISH", one_of({"channel", "other"}), number()};
            case 1: return {"SUBSCRIBE", one_of({"channel", "other"}), "third"};
            case 2: return {"UNSUBSCRIBE", one_of({"channel", "other", "third"})};
            case 3: return {"PUBSUB", "NUMSUB", "channel", "other"};
            case 4: return {"PING", number()};
            case 5: return {"CLIENT", "GETNAME"};
            case 6: return {"CLIENT", "SETNAME", field()};
            default: return {"SELECT", one_of({"0", "x", "99"})};
        }
    }
    words cut_short() {
        words w = one_of({"a", "b"}) == "a" ? hashes() : keys_of_any_type();
        if (chance_.once_in(3)) {
            w[0] = "NOSUCHCOMMAND";
        } else {
            w.pop_back();
        }
        return w;
    }

    dice chance_;
};

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
            both.compare_keys(keys);
        }
    }
    both.compare_keys(keys);
    both.expect_silence();
}

TEST_P(differential_test, scripts_with_any_arguments_on_any_keys_get_equal_answers) {
    for (int i = 0; i < 2000 && !HasFatalFailure(); ++i) {
        const bool plain = m.below(6) == 0;
        ask(m.below(connections), plain ? m.command() : m.script(any_script()));
        if (i % 100 == 0) {
            both.compare_keys(keys);
        }
    }
    both.compare_keys(keys);
    both.expect_silence();
}

TEST_P(differential_test, a_lock_and_its_renewal_among_keys_of_other_types) {
    const std::string acquire{wire::get_script(wire::script_id::acquire).sha1};
    const std::string renew{wire::get_script(wire::script_id::renew).sha1};
    both.ask(0, {"SET", "k1", "text"});
    both.ask(0, {"EVALSHA", acquire, "1", "k0", "c:1", "60000", "token", "0"});
    both.ask(0, {"EVALSHA", acquire, "1", "k1", "c:2", "60000", "", "0"});
    both.ask(0,
             {"EVALSHA", renew, "3", "k0", "k1", "k2", "c:1", "90000", "c:1", "90000", "c:1", "0"});
    both.compare_keys(keys);
}

TEST_P(differential_test, keys_expire) {
    both.ask(0, {"SET", "k0", "x", "PX", "1"});
    both.ask(0, {"HSET", "k1", "f", "1"});
    both.ask(0, {"PEXPIRE", "k1", "1"});
    both.wait_until_gone("k0");
    both.wait_until_gone("k1");
    both.ask(0, {"PTTL", "k0"});
    both.ask(0, {"PEXPIRE", "k2", "-1"});
    both.compare_keys(keys);
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

INSTANTIATE_TEST_SUITE_P(seeds, differential_test, ::testing::Range<std::uint64_t>(1, 4));

}  // namespace
