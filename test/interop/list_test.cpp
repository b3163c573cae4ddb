// SPDX-License-Identifier: BSL-1.0
// `conch ls` and `conch who`, of locks that Redisson holds and waits for.
#include "interop_test.hpp"
#include "support/program.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class redisson_list : public interop_test {
protected:
    std::string told(std::vector<std::string> words) const {
        words.insert(words.begin(), CONCH_PROGRAM_PATH);
        program p{words, {{"CONCH_REDIS", url_for(both.server())}}};
        const ended& end = p.finish();
        EXPECT_EQ(end.status, 0) << testing::PrintToString(end);
        EXPECT_EQ(end.err, "");
        return end.out;
    }
    /// The lines of `conch ls --json` of this test's locks, by their names.
    std::map<std::string, boost::json::value> listed() const {
        std::istringstream lines{told({"ls", "--json", fresh("*")})};
        std::map<std::string, boost::json::value> out;
        for (std::string line; std::getline(lines, line);) {
            const boost::json::value o = boost::json::parse(line);
            out[std::string{o.at("name").as_string()}] = o;
        }
        return out;
    }
    boost::json::value listed(const std::string& name) const { return listed().at(name); }

    /// Another Java thread waits for what is held: it listens for the release.
    template <typename... Words>
    std::future<answer> start_waiting(const std::string& name, const Words&... words) {
        std::future<answer> asked = start_java("waits", words...);
        const bool listens = eventually([&] {
            return std::ranges::any_of(raw.channels(), [&](const std::string& channel) {
                return channel.find('{' + name + '}') != channel.npos;
            });
        });
        EXPECT_TRUE(listens) << "nobody waits for " << name;
        return asked;
    }
    void expect_told(const boost::json::value& o, const std::string& kind, int holders = 1,
                     duration lease = long_lease) {
        SCOPED_TRACE(boost::json::serialize(o));
        EXPECT_EQ(o.at("kind").as_string(), kind);
        EXPECT_TRUE(o.at("locked").as_bool());
        EXPECT_EQ(o.at("held_by").as_int64(), holders);
        EXPECT_EQ(o.at("waiting").as_int64(), 1);
        const std::chrono::milliseconds left{o.at("ttl_ms").as_int64()};
        const bool is_renewed = lease == java_watchdog;
        EXPECT_LE(left, lease);
        EXPECT_GT(left, is_renewed ? duration::zero() : lease / 2);
        EXPECT_TRUE(o.at("held_ms").is_null());
        for (const boost::json::value& holder : o.at("holders").as_array()) {
            for (const char* const of_conch : {"host", "pid", "service", "connection", "address"}) {
                EXPECT_TRUE(holder.at(of_conch).is_null()) << of_conch;
            }
        }
    }
    static std::string holder_of(const boost::json::value& o, std::size_t i = 0) {
        return std::string{o.at("holders").as_array().at(i).at("holder").as_string()};
    }
    void expect_who(const std::string& name, const std::vector<std::string>& lines) const {
        const std::string who = told({"who", name});
        for (const std::string& line : lines) {
            EXPECT_NE(who.find(line), who.npos) << line << "is not in:\n" << who;
        }
    }
    static inline const std::string no_client =
        "\n              no connected conch client: one of Redisson, say, or one that is gone\n";
    static inline const std::string one_waits = "\n  waiting     1 client\n";
};

TEST_F(redisson_list, tells_a_lock) {
    const std::string name = fresh();
    java("a", "lock", name, long_lease);
    java("a", "lock", name, long_lease);
    std::future<answer> waits = start_waiting(name, "lock", name, long_lease);
    const boost::json::value o = listed(name);
    expect_told(o, "mutex");
    EXPECT_EQ(holder_of(o), raw.hgetall(name).begin()->first);
    EXPECT_EQ(o.at("depth").as_int64(), 2);
    EXPECT_EQ(o.at("fence").as_int64(), 0);
    expect_who(name, {": mutex, locked\n", "\n  holder      " + holder_of(o) + no_client,
                      "\n  held        - (no fence tells it; ", "\n  depth       2\n",
                      "\n  lease       ends in 1m", one_waits});
    java("a", "unlock", name);
    java("a", "unlock", name);
    value_of(waits);
    java("waits", "unlock", name);
}

TEST_F(redisson_list, tells_a_fenced_lock) {
    const std::string name = fresh();
    raw.must({"SET", fence_key_of(name), "41"});
    EXPECT_EQ(java("a", "lockAndGetToken", name), "42");
    std::future<answer> waits = start_waiting(name, "lock", name, long_lease);
    const boost::json::value o = listed(name);
    expect_told(o, "mutex", 1, java_watchdog);
    EXPECT_EQ(o.at("fence").as_int64(), 42);
    EXPECT_EQ(holder_of(o), raw.hgetall(name).begin()->first);
    expect_who(name, {": mutex, locked\n", no_client, "\n  fence       42\n", one_waits});
    java("a", "unlockFenced", name);
    value_of(waits);
    java("waits", "unlock", name);
}

TEST_F(redisson_list, tells_a_fair_lock_and_who_is_in_line) {
    const std::string name = fresh();
    java("a", "lock", "fair:" + name, long_lease);
    std::future<answer> waits = start_waiting(name, "lock", "fair:" + name, long_lease);
    const std::string queue = "redisson_lock_queue:{" + name + '}';
    ASSERT_TRUE(eventually([&] { return raw.must({"LLEN", queue}).number == 1; }));
    const boost::json::value o = listed(name);
    expect_told(o, "fair");
    EXPECT_EQ(holder_of(o), raw.hgetall(name).begin()->first);
    EXPECT_EQ(o.at("depth").as_int64(), 1);
    const std::string next = raw.must({"LINDEX", queue, "0"}).text;
    expect_who(name, {": fair mutex, locked\n", no_client,
                      "\n  waiting     1 in line\n              1. " + next + '\n'});
    java("a", "unlock", "fair:" + name);
    value_of(waits);
    java("waits", "unlock", "fair:" + name);
}

TEST_F(redisson_list, tells_readers_and_a_writer) {
    const std::string name = fresh();
    const auto listeners = [&](int n) {
        return eventually([&] { return raw.subscribers("redisson_rwlock:{" + name + '}') == n; });
    };
    java("a", "lock", "read:" + name, long_lease);
    java("b", "lock", "read:" + name, long_lease);
    std::future<answer> waits = start_waiting(name, "lock", "write:" + name, long_lease);
    const boost::json::value reading = listed(name);
    expect_told(reading, "rw read", 2);
    const std::set<std::string> readers{holder_of(reading, 0), holder_of(reading, 1)};
    EXPECT_EQ(readers.size(), 2u);
    for (const std::string& reader : readers) {
        EXPECT_TRUE(raw.hgetall(name).contains(reader)) << reader;
    }
    expect_who(name, {": read-write lock, read by 2\n", no_client, one_waits});
    java("a", "unlock", "read:" + name);
    java("b", "unlock", "read:" + name);
    value_of(waits);
    ASSERT_TRUE(listeners(0)) << "that of the writer";
    std::future<answer> reads = start_java("a", "lock", "read:" + name, long_lease);
    ASSERT_TRUE(listeners(1));
    expect_told(listed(name), "rw write");
    expect_who(name, {": read-write lock, written\n", no_client, one_waits});
    java("waits", "unlock", "write:" + name);
    value_of(reads);
    java("a", "unlock", "read:" + name);
}

TEST_F(redisson_list, tells_permits_with_leases) {
    const std::string name = fresh();
    EXPECT_EQ(java("a", "leased", name, std::string{"trySetPermits"}, 2), "true");
    const std::string ids = java("a", "leased", name, std::string{"acquire"}, 2, long_lease);
    std::future<answer> waits =
        start_waiting(name, "leased", name, std::string{"acquire"}, 1, long_lease);
    const boost::json::value o = listed(name);
    expect_told(o, "semaphore", 2);
    EXPECT_EQ(o.at("permits").as_int64(), 2);
    for (const std::size_t i : {0U, 1U}) {
        EXPECT_NE(ids.find(holder_of(o, i)), ids.npos) << ids;
    }
    EXPECT_NE(holder_of(o, 0), holder_of(o, 1));
    expect_who(name, {": semaphore, 2 of 2 permits are out\n", no_client,
                      "\n  next        ends in 1m", one_waits});
    java("a", "leased", name, std::string{"release"}, ids);
    java("a", "leased", name, std::string{"release"}, value_of(waits));
}

}  // namespace
