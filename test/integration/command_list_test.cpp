// SPDX-License-Identifier: BSL-1.0
// `conch ls` and `conch who`: who holds which lock, and who waits.
#include "support/command_fixture.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <limits.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <map>
#include <sstream>
#include <utility>

namespace {

using namespace conch;
using namespace conch::test;

class list_command_test : public command_fixture {
protected:
    using objects = std::map<std::string, boost::json::object>;

    words run_of(const std::string& name, const words& options) const {
        words all{"run"};
        all.insert(all.end(), options.begin(), options.end());
        all.insert(all.end(), {name, "--"});
        all.insert(all.end(), until_end_of_input.begin(), until_end_of_input.end());
        return conch(all);
    }
    /// The lines of `conch ls --json OPTION...`, by their names.
    objects listed(const words& options = {}) const {
        words all{"ls", "--json"};
        all.insert(all.end(), options.begin(), options.end());
        const ended end = to_end(all);
        EXPECT_EQ(end.err, "");
        objects out;
        std::istringstream lines{end.out};
        for (std::string line; std::getline(lines, line);) {
            boost::json::object o = boost::json::parse(line).as_object();
            const std::string name{o.at("name").as_string()};
            EXPECT_TRUE(out.emplace(name, std::move(o)).second) << name << " is there twice";
        }
        EXPECT_EQ(end.status, out.empty() ? 1 : 0);
        return out;
    }
    static std::string kind_of(const boost::json::object& o) {
        return std::string{o.at("kind").as_string()};
    }
    static const boost::json::object& holder_of(const boost::json::object& o) {
        return o.at("holders").as_array().at(0).as_object();
    }
    static std::string host() {
        char text[HOST_NAME_MAX + 1] = "";
        EXPECT_EQ(::gethostname(text, sizeof text - 1), 0);
        return text;
    }
    /// What is on many a server, and is no lock.
    void put_strangers() {
        raw.must({"SET", "text", "5c1e0a8e-0000-4000-8000-000000000001:1", "PX", "60000"});
        raw.must({"HSET", "user:1", "name", "x", "mode", "read"});
        raw.must({"HSET", "user:2", "mode", "read", "id", "5c1e0a8e-0000-4000-8000"});
        raw.must({"HSET", "pair", "5c1e0a8e-0000-4000-8000-000000000001:1", "1",
                  "5c1e0a8e-0000-4000-8000-000000000001:2", "1"});
        raw.must({"ZADD", "{scores}:timeout", "1", "member"});
        raw.must({"ZADD", "scores", "1", "0123456789abcdef"});
        raw.must({"RPUSH", "list", "a"});
        words big{"HSET", "big"};
        for (int i = 0; i < 5000; ++i) {
            big.insert(big.end(), {"field" + std::to_string(i), "v"});
        }
        raw.must(big);
    }
};

TEST_F(list_command_test, nothing_is_found_among_strangers) {
    put_strangers();
    EXPECT_TRUE(listed().empty());
    const ended end = to_end({"ls"});
    EXPECT_EQ(end.status, 1);
    EXPECT_EQ(end.out, "");
    EXPECT_EQ(end.err, "");
}

TEST_F(list_command_test, each_kind_is_listed_with_its_holder) {
    put_strangers();
    std::deque<program> all;
    const std::vector<std::pair<std::string, words>> kinds{{"mutex", {"--fenced"}},
                                                           {"rw write", {"--rw"}},
                                                           {"rw read", {"--shared"}},
                                                           {"semaphore", {"--at-most", "3"}}};
    for (const auto& [name, options] : kinds) {
        words with{"--service", "billing"};
        with.insert(with.end(), options.begin(), options.end());
        all.emplace_back(run_of(name, with), here());
    }
    all.emplace_back(run_of("fair", {"--fair"}), here());
    for (program& p : all) {
        p.wait_for("in\n");
    }
    program waiter{run_of("fair", {"--fair"}), here()};
    ASSERT_TRUE(run_until(
        io, [&] { return raw.must({"LLEN", "redisson_lock_queue:{fair}"}).number == 1; }));
    const objects found = listed();
    ASSERT_EQ(found.size(), 5u);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        SCOPED_TRACE(kinds[i].first);
        const boost::json::object& o = found.at(kinds[i].first);
        EXPECT_EQ(kind_of(o), kinds[i].first);
        EXPECT_EQ(o.at("held_by").as_int64(), 1);
        EXPECT_EQ(holder_of(o).at("host").as_string(), host());
        EXPECT_EQ(holder_of(o).at("pid").as_int64(), all[i].pid());
        EXPECT_EQ(holder_of(o).at("service").as_string(), "billing");
        EXPECT_GT(o.at("ttl_ms").as_int64(), 10'000);
        EXPECT_EQ(o.at("waiting").as_int64(), 0);
    }
    EXPECT_GT(found.at("mutex").at("fence").as_int64(), 0);
    EXPECT_GE(found.at("mutex").at("held_ms").as_int64(), 0);
    EXPECT_LT(found.at("mutex").at("held_ms").as_int64(), 60'000);
    EXPECT_TRUE(found.at("rw read").at("held_ms").is_null());
    EXPECT_EQ(found.at("semaphore").at("permits").as_int64(), 3);
    EXPECT_EQ(kind_of(found.at("fair")), "fair");
    EXPECT_EQ(found.at("fair").at("waiting").as_int64(), 1);
    const ended who = to_end({"who", "fair"});
    EXPECT_EQ(who.status, 0);
    expect_in("1 in line\n", who.out);
    expect_in("   process " + std::to_string(waiter.pid()) + " on " + host(), who.out);
}

TEST_F(list_command_test, readers_are_listed_all) {
    std::deque<program> readers;
    for (int i = 0; i < 3; ++i) {
        readers.emplace_back(run_of("prices", {"--shared"}), here());
        readers.back().wait_for("in\n");
    }
    const boost::json::object o = listed().at("prices");
    EXPECT_EQ(o.at("held_by").as_int64(), 3);
    EXPECT_EQ(o.at("holders").as_array().size(), 3u);
    expect_in(" +2 ", to_end({"ls"}).out);
}

TEST_F(list_command_test, waiting_clients_are_counted_and_sorted_by) {
    take_as_stranger(raw, "busy");
    take_as_stranger(raw, "idle");
    program waiter{run_of("busy", {}), here()};
    ASSERT_TRUE(run_until(io, [&] { return listening("busy"); }));
    EXPECT_EQ(listed().at("busy").at("waiting").as_int64(), 1);
    const std::string table = to_end({"ls", "--sort", "waiting"}).out;
    EXPECT_LT(table.find("busy"), table.find("idle")) << table;
}

// What they listen to is not written here once more: they are told apart by their number.
TEST_F(list_command_test, a_waiting_client_is_counted_of_each_kind) {
    const auto listen = [&](std::size_t so_many) {
        return run_until(io, [&] { return raw.channels().size() == so_many; });
    };
    const std::vector<std::pair<words, words>> kinds{{{"--rw"}, {"--shared"}},
                                                     {{"--shared"}, {"--rw"}},
                                                     {{"--at-most", "1"}, {"--at-most", "1"}},
                                                     {{"--plain"}, {"--plain"}},
                                                     {{"--fenced"}, {}}};
    std::deque<program> all;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        const std::string name = "lock" + std::to_string(i);
        all.emplace_back(run_of(name, kinds[i].first), here());
        all.back().wait_for("in\n");
        all.emplace_back(run_of(name, kinds[i].second), here());
        ASSERT_TRUE(listen(i + 1)) << name;
    }
    objects found = listed();
    found.merge(listed({"--plain", "lock*"}));
    ASSERT_EQ(found.size(), kinds.size());
    for (const auto& [name, o] : found) {
        EXPECT_EQ(o.at("waiting").as_int64(), 1) << kind_of(o);
        expect_in("\n  waiting     1 client\n", to_end({"who", name}).out);
    }
}

TEST_F(list_command_test, a_waiting_client_is_counted_of_what_nobody_holds) {
    client c{io, push_only()};
    const counting_semaphore permits{c, "permits"};
    const latch start{c, "start"};
    run([&]() -> asio::awaitable<void> {
        co_await start.async_try_set_count(1);
        co_await permits.async_try_set(0);
    });
    permits.async_acquire([](error_code) {});
    start.async_wait([](error_code) {});
    ASSERT_TRUE(run_until(io, [&] { return raw.channels().size() == 2; }));
    for (const char* const name : {"permits", "start"}) {
        const boost::json::object o =
            boost::json::parse(to_end({"who", "--json", name}).out).as_object();
        EXPECT_EQ(kind_of(o), "counter");
        EXPECT_EQ(o.at("waiting").as_int64(), 1) << name;
        expect_in("\n  waiting     1 client\n", to_end({"who", name}).out);
    }
}

TEST_F(list_command_test, a_holder_that_is_no_connected_client_is_told_by_its_field) {
    take_as_stranger(raw, "lock");
    const boost::json::object o = listed().at("lock");
    EXPECT_EQ(holder_of(o).at("holder").as_string(), owner_of_redisson);
    EXPECT_TRUE(holder_of(o).at("host").is_null());
    expect_in("5c1e0a8e..:1", to_end({"ls"}).out);
    expect_in("no connected conch client", to_end({"who", "lock"}).out);
}

TEST_F(list_command_test, a_pattern_picks_names_also_of_semaphores) {
    take_as_stranger(raw, "orders:7");
    take_as_stranger(raw, "customers:7");
    program holder{run_of("orders:crawl", {"--at-most", "1"}), here()};
    holder.wait_for("in\n");
    const objects found = listed({"orders:*"});
    EXPECT_EQ(found.size(), 2u);
    EXPECT_TRUE(found.contains("orders:7"));
    EXPECT_TRUE(found.contains("orders:crawl"));
    EXPECT_TRUE(listed({"none:*"}).empty());
}

TEST_F(list_command_test, plain_locks_are_listed_where_a_pattern_asks_for_them) {
    program holder{run_of("jobs:1", {"--plain"}), here()};
    holder.wait_for("in\n");
    raw.must({"SET", "jobs:2", "0f3a9b1c2d4e5f60718293a4b5c6d7e8", "PX", "60000"});
    raw.must({"SET", "jobs:3", "a text that is no token", "PX", "60000"});
    raw.must({"SET", "jobs:4", "4", "PX", "60000"});
    EXPECT_TRUE(listed().empty());
    const objects found = listed({"--plain", "jobs:*"});
    EXPECT_EQ(found.size(), 2u);
    EXPECT_EQ(holder_of(found.at("jobs:1")).at("pid").as_int64(), holder.pid());
    EXPECT_TRUE(found.contains("jobs:2"));
    EXPECT_EQ(to_end({"ls", "--plain"}).status, 64);
}

TEST_F(list_command_test, held_longer_lists_what_is_known_to_be) {
    take_as_stranger(raw, "unknown");
    program holder{run_of("lock", {"--fenced"}), here()};
    holder.wait_for("in\n");
    const ended none = to_end({"ls", "--held-longer", "5m"});
    EXPECT_EQ(none.status, 1);
    EXPECT_EQ(none.out, "");
    expect_in("not known of 1 more lock, ", none.err);
    // As if it had begun ten minutes ago.
    const std::int64_t now = wall_time() / 1000;
    raw.must({"SET", fence_key_of("lock"), std::to_string(now - 600'000'000)});
    const ended one = to_end({"ls", "--held-longer", "5m"});
    EXPECT_EQ(one.status, 0);
    expect_in(" 10m0", one.out);
    EXPECT_EQ(one.out.find("unknown"), std::string::npos);
}

TEST_F(list_command_test, pages_and_pauses_change_nothing) {
    for (int i = 0; i < 100; ++i) {
        take_as_stranger(raw, "lock:" + std::to_string(i));
    }
    EXPECT_EQ(listed({"--page", "1", "--pause", "0"}).size(), 100u);
}

TEST_F(list_command_test, the_server_is_asked_no_faster_than_the_pauses_say) {
    raw.must({"EVAL", "for i = 1, 1000 do redis.call('set', 'k' .. i, i) end", "0"});
    raw.reset_calls();
    const auto start = clock::now();
    EXPECT_EQ(to_end({"ls", "--page", "100", "--pause", "0.2", "--plain", "none:*"}).status, 1);
    const duration took = clock::now() - start;
    const std::uint64_t pages = raw.calls("scan");
    EXPECT_GE(pages, 9u) << "a page is of about 100 keys";
    EXPECT_GE(took, (pages - 1) * 200ms);
}

TEST_F(list_command_test, wrong_command_lines_are_64_and_one_line) {
    for (const words& line : {words{"ls", "--sort", "color"}, words{"ls", "--held-longer", "soon"},
                              words{"ls", "--page", "0"}, words{"ls", "a", "b"}, words{"ls", ""},
                              words{"who"}, words{"run", "--service", "a b", "lock", "true"},
                              words{"run", "--service", "a:b", "lock", "true"},
                              words{"run", "--service", "", "lock", "true"}}) {
        const ended end = to_end(line);
        EXPECT_EQ(end.status, 64) << ::testing::PrintToString(line);
        expect_one_line(end.err);
    }
    EXPECT_EQ(to_end({"ls"}, nowhere()).status, 69);
    EXPECT_EQ(to_end({"who", "lock"}, nowhere()).status, 69);
}

TEST_F(list_command_test, the_service_comes_from_the_environment_too) {
    program p{run_of("lock", {}), {{"CONCH_REDIS", url()}, {"CONCH_SERVICE", "cron"}}};
    p.wait_for("in\n");
    EXPECT_EQ(holder_of(listed().at("lock")).at("service").as_string(), "cron");
}

TEST_F(list_command_test, who_tells_what_a_key_of_any_kind_is) {
    EXPECT_EQ(to_end({"who", "lock"}).out, "lock: free\n");
    EXPECT_EQ(to_end({"who", "lock"}).status, 1);
    raw.must({"SET", "tickets", "3"});
    EXPECT_EQ(
        to_end({"who", "tickets"}).out,
        "tickets: at 3: a counting semaphore, a latch, or a semaphore of which no permit is out\n"
        "  waiting     none\n");
    raw.must({"SET", "conch_done:{nightly}", "1795867200000", "PX", "60000"});
    const ended note = to_end({"who", "conch_done:{nightly}"});
    EXPECT_EQ(note.status, 69);
    expect_in("is no lock", note.err);
    // A permit whose lease is over is not out any more.
    raw.must({"ZADD", "{tickets}:timeout", "1", "0123456789abcdef"});
    EXPECT_EQ(to_end({"who", "tickets"}).status, 0);
    EXPECT_EQ(to_end({"rate", "--limit", "1", "--per", "60", "api", "true"}).status, 0);
    EXPECT_EQ(to_end({"who", "api"}).out, "api: rate limit, in use\n");
    raw.must({"RPUSH", "list", "a"});
    EXPECT_EQ(to_end({"who", "list"}).status, 69);
    program writer{run_of("prices", {"--rw"}), here()};
    writer.wait_for("in\n");
    expect_in("prices: read-write lock, written\n", to_end({"who", "prices"}).out);
    EXPECT_EQ(to_end({"status", "prices"}).out.substr(0, 33), "prices: read-write lock, written\n");
}

TEST_F(list_command_test, each_hash_is_looked_at_once) {
    put_strangers();
    take_as_stranger(raw, "lock");
    raw.reset_calls();
    EXPECT_EQ(to_end({"ls"}).status, 0);
    EXPECT_EQ(to_end({"who", "lock"}).status, 0);
    EXPECT_EQ(raw.calls("scan"), 2u);
    EXPECT_LE(raw.calls("hscan"), 6u) << "one for each hash";
}

TEST_F(list_command_test, what_the_user_may_not_ask_is_left_out_and_told) {
    may_refuse = true;
    take_as_stranger(raw, "orders:7");
    take_as_stranger(raw, "customers:7");
    raw.must({"ACL", "SETUSER", std::string{conch_user}, "resetkeys", "~orders:*", "-client",
              "+client|kill"});
    const ended end = to_end({"ls"});
    EXPECT_EQ(end.status, 0);
    expect_in("orders:7", end.out);
    EXPECT_EQ(end.out.find("customers:7"), std::string::npos) << end.out;
    expect_in("the server refused this user", end.err);
    expect_in("no host is known", end.err);
}

TEST_F(list_command_test, locks_are_found_among_twenty_thousand_strangers) {
    raw.must({"EVAL", "for i = 1, 20000 do redis.call('set', 'k' .. i, i) end", "0"});
    raw.must({"CONFIG", "SET", "slowlog-log-slower-than", "10000"});
    take_as_stranger(raw, "lock");
    raw.must({"SLOWLOG", "RESET"});
    raw.reset_calls();
    EXPECT_EQ(listed().size(), 1u);
    EXPECT_GE(raw.calls("scan"), 40u);
    EXPECT_LE(raw.calls("hscan"), 1u);
    EXPECT_EQ(raw.calls("type"), 0u);
    EXPECT_EQ(raw.must({"SLOWLOG", "LEN"}).number, 0);
}

}  // namespace
