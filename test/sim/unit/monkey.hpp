// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_UNIT_MONKEY_HPP
#define CONCH_TEST_SIM_UNIT_MONKEY_HPP

#include "core/check.hpp"
#include "sim/unit/random_words.hpp"
#include "wire/script.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace conch::sim::test {

/// Random commands, right ones and wrong ones.
class monkey : public random_words {
public:
    using random_words::random_words;

    words command() {
        switch (below(12)) {
            case 0: return {"SET", one_of({key(), "text"}), number()};
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
        if (what.starts_with("shared_")) {
            return of_read_write_lock(s);
        }
        if (what.starts_with("semaphore_")) {
            return of_semaphore(s);
        }
        if (what.starts_with("permits_")) {
            return of_permits(s);
        }
        if (what.starts_with("fair_")) {
            return of_fair_lock(s);
        }
        if (what == "once") {
            return evalsha(s, {key_of(1), key()},
                           {holder(), one_of({"-", "0", "86400000", "99999999999999"}),
                            std::to_string(60 + below(40)) + "000", "3600000"});
        }
        what.remove_prefix(what.starts_with("value_") ? 6 : 0);
        const bool many = what.ends_with("_many");
        what.remove_suffix(many ? 5 : 0);
        const std::size_t runs = many ? 2 + below(3) : 1;
        const bool fenced = (what == "acquire" || what == "status") && once_in(2);
        const std::size_t all_keys = runs * (fenced ? 2 : 1);
        // A wrong number of keys would give `many` a wrong number of runs, maybe without end.
        words w{"EVALSHA", std::string{s.sha1},
                !many && once_in(20) ? number() : std::to_string(all_keys)};
        for (std::size_t i = 0; i < runs; ++i) {
            w.push_back(key());
            if (fenced) {
                w.push_back(one_of({"token", "token", key()}));
            }
        }
        if (many) {
            w.push_back(std::to_string(runs));
        }
        const bool takes_over = what == "acquire" && once_in(3);
        const bool sharded = what == "release" && once_in(2);
        for (std::size_t i = 0; i < runs; ++i) {
            const words args = arguments_of(what);
            w.insert(w.end(), args.begin(), args.end());
            if (takes_over) {
                w.push_back(holder());
            }
            if (sharded) {
                w.emplace_back("spublish");
            }
        }
        if (once_in(40)) {
            w.pop_back();
        }
        return w;
    }

private:
    static words evalsha(const wire::script& s, const words& keys, const words& args) {
        words w{"EVALSHA", std::string{s.sha1}, std::to_string(keys.size())};
        w.insert(w.end(), keys.begin(), keys.end());
        w.insert(w.end(), args.begin(), args.end());
        return w;
    }
    words of_read_write_lock(const wire::script& s) {
        const std::string lock = key_of(1);
        if (s.name == "shared_read") {
            return evalsha(s, {lock, key(), key_of(0)}, {holder(), ttl()});
        }
        if (s.name == "shared_write") {
            words keys{lock, key_of(0)};
            words args{holder() + ":write", ttl(), one_of({"0", "90000"})};
            for (std::size_t n = below(3); n > 0; --n) {
                keys.push_back(key());
                args.push_back(holder());
                args.emplace_back("1");
            }
            return evalsha(s, keys, args);
        }
        if (s.name == "shared_downgrade") {
            const std::string who = holder();
            return evalsha(s, {lock, key()},
                           {who + ":write", below(4) == 0 ? holder() : who, ttl(),
                            one_of({"channel", "other"}), verb()});
        }
        if (s.name == "shared_release") {
            const words keys = below(2) == 0 ? words{lock} : words{lock, key()};
            return evalsha(s, keys,
                           {one_of({"channel", "other"}), verb(), holder(),
                            holder() + one_of({"", ":write"})});
        }
        if (s.name == "shared_renew") {
            words keys, args;
            for (std::size_t n = 1 + below(3); n > 0; --n) {
                keys.push_back(key_of(1));
                keys.push_back(key());
                args.push_back(holder());
                args.push_back(one_of({"0", ttl()}));
            }
            return evalsha(s, keys, args);
        }
        CONCH_CHECK(s.name == "shared_status");
        return evalsha(s, {lock}, {});
    }
    words of_semaphore(const wire::script& s) {
        words keys{key_of(0), "once:" + std::to_string(below(40))};
        if (s.name == "semaphore_change" && below(3) == 0) {
            keys.push_back(key_of(3));
        }
        if (s.name == "semaphore_acquire") {
            words args{"60000", one_of({"take", "take", "again", "mark"})};
            for (std::size_t n = 1 + below(3); n > 0; --n) {
                args.push_back(std::to_string(1 + below(5)));
            }
            return evalsha(s, keys, args);
        }
        CONCH_CHECK(s.name == "semaphore_change");
        return evalsha(s, keys,
                       {"60000", "channel", verb(),
                        one_of({"add", "add", "set", "try_set", "drain", "mark", "arm", "arm",
                                "count_down", "count_down"}),
                        one_of({"1", "7", "-2", "0", "2147483647", "-2147483648"})});
    }
    words of_permits(const wire::script& s) {
        const auto start = [&] { return "of an owner " + std::to_string(10 + below(4)); };
        const auto lease = [&] { return std::to_string(60 + below(40)) + "000"; };
        const words keys{key_of(0), key_of(3)};
        if (s.name == "permits_acquire") {
            words args{start(), one_of({"1", "2", "300"}), lease(), "channel", verb()};
            if (below(3) == 0) {
                args.push_back(start());
            }
            return evalsha(s, keys, args);
        }
        if (s.name == "permits_release") {
            return below(4) == 0
                       ? evalsha(s, keys, {"channel", verb(), "", field(), field()})
                       : evalsha(s, keys, {"channel", verb(), start(), one_of({"1", "2"})});
        }
        if (s.name == "permits_status") {
            return evalsha(s, keys, {});
        }
        CONCH_CHECK(s.name == "permits_renew");
        words all, args;
        for (std::size_t n = 1 + below(3); n > 0; --n) {
            all.push_back(key_of(3));
            args.insert(args.end(), {start(), one_of({"1", "2"}),
                                     one_of({"0", "-70000", "-90000", lease(), lease()})});
        }
        return evalsha(s, all, args);
    }
    words of_fair_lock(const wire::script& s) {
        // Mostly their own: what stands in line there is not swept by others.
        words keys{"fair", "queue", "times", "waiters"};
        if (below(3) == 0) {
            keys = {key_of(1), key_of(2), key_of(3), below(4) == 0 ? key() : "waiters"};
        }
        const bool watched = below(2) == 0;
        if (s.name == "fair_release") {
            keys.emplace_back("token");
            words args{holder(), one_of({"channel:", "channel:", "chan:"}), verb()};
            if (watched) {
                args.emplace_back("leader");
            }
            return evalsha(s, keys, args);
        }
        CONCH_CHECK(s.name == "fair_acquire");
        if (below(2) == 0) {
            keys.push_back(one_of({"token", "token", key()}));
        }
        words args{holder(), ttl(), one_of({"0", "0", "90000"}), one_of({"0", place(), place()}),
                   std::to_string(1 + below(9))};
        if (watched) {
            args.emplace_back("channel:leader");
            args.push_back(verb());
        }
        return evalsha(s, keys, args);
    }
    words arguments_of(std::string_view script) {
        if (script == "acquire") {
            return {holder(), ttl(), one_of({"0", "0", "90000"})};
        }
        if (script == "release") {
            return {holder(), one_of({"channel", "other"})};
        }
        if (script == "renew") {
            return {holder(), once_in(3) ? one_of({"0", "-70000", "-90000"}) : ttl()};
        }
        if (script == "nest") {
            return {holder(), std::to_string(1 + below(3)), ttl()};
        }
        if (script == "status") {
            return {};
        }
        CONCH_CHECK(script.starts_with("rate_"));
        // A window of more than a year is refused by the client.
        words w{std::to_string(3 + below(5)), std::to_string(60 + below(40)) + "000"};
        for (std::size_t n = 1 + below(3); n > 0; --n) {
            w.push_back(std::to_string(1 + below(3)));
        }
        return w;
    }

    words strings() {
        if (once_in(40)) {
            return {"FLUSHALL"};
        }
        if (once_in(6)) {
            // A part of what a script wrote may be a part of a moment.
            return one_of({"whole", "part"}) == "part"
                       ? words{"GETRANGE", "text", number(), number()}
                       : words{"GETRANGE", key(), "0", "-1"};
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
        switch (below(7)) {
            case 0: return {one_of({"LPUSH", "RPUSH"}), key_of(2), field(), field()};
            case 1: return {"LINDEX", key_of(2), number()};
            case 6: return {"LPOS", key_of(2), field()};
            case 2: return {"LRANGE", key_of(2), number(), number()};
            case 3: return {"LREM", key_of(2), one_of({"0", "1", "-1", "x"}), field()};
            case 4: return {"LPOP", key_of(2)};
            default: return {"LLEN", key_of(2)};
        }
    }
    words zsets() {
        const std::string low = one_of({"-inf", "1", "(3", "0.5", "nan?"});
        const std::string high = one_of({"+inf", "10", "(12", "x"});
        switch (below(11)) {
            case 0: return {"ZADD", key_of(3), number(), field()};
            case 10:
                return {"ZINCRBY", key_of(3), one_of({"1.5", "-3", "inf", "-inf", "x"}), field()};
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
            case 0: return {one_of({"PUBLISH", "SPUBLISH"}), channel(), number()};
            case 1:
                return below(2) == 0 ? words{"SUBSCRIBE", channel(), "third"}
                                     : words{"SSUBSCRIBE", channel()};
            case 2: return {one_of({"UNSUBSCRIBE", "SUNSUBSCRIBE"}), one_of({"third", channel()})};
            case 3: return {"PUBSUB", "NUMSUB", "channel", "other"};
            case 4: return {"PING", number()};
            case 5: return {"CLIENT", "GETNAME"};
            case 6: return {"CLIENT", "SETNAME", field()};
            default: return {"SELECT", one_of({"0", "x", "99"})};
        }
    }
    words cut_short() {
        words w = one_of({"a", "b"}) == "a" ? hashes() : keys_of_any_type();
        if (once_in(3)) {
            w[0] = "NOSUCHCOMMAND";
        } else {
            w.pop_back();
        }
        return w;
    }
};

}  // namespace conch::sim::test

#endif
