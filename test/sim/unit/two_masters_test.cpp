// SPDX-License-Identifier: BSL-1.0
// A master that is cut off and goes on, beside the one that took its place.
#include "sim/fake_redis.hpp"
#include "sim/network.hpp"
#include "sim/server_node.hpp"
#include "sim/standings.hpp"
#include "sim/unit/two_servers.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace {

using namespace conch::sim;
using conch::sim::test::encoded;
using conch::sim::test::words;

class two_masters_test : public ::testing::Test {
protected:
    static constexpr std::int64_t now_us = 1'700'000'000'000'000;
    static constexpr std::size_t shard = 0;

    /// The replica lacks so many writes, and takes over.
    void split(std::size_t lacks) {
        server.divide(shard, lacks, now_us);
        server.cut_off({0});
        server.promote(shard);
    }
    std::string ask(fake_redis::connection c, const words& command) {
        server.receive(c, encoded(command), now_us);
        return server.take_output(c);
    }
    std::string set(fake_redis::connection c, const char* value) {
        return ask(c, {"EVAL", "return redis.call('set', KEYS[1], ARGV[1])", "1", "k", value});
    }
    std::string get(fake_redis::connection c) {
        return ask(c, {"EVAL", "return redis.call('get', KEYS[1])", "1", "k"});
    }

    fake_redis server{{.run_as = deployment::sentinel}};
    fake_redis::connection old = server.connect(0);
    fake_redis::connection heir = server.connect(1);
};

TEST_F(two_masters_test, a_replica_that_takes_over_lacks_the_last_writes) {
    set(old, "1");
    set(old, "2");
    split(1);
    EXPECT_EQ(get(old), "$1\r\n2\r\n");
    EXPECT_EQ(get(heir), "$1\r\n1\r\n");
}

// The hash lives as long as the last of its readers.
TEST_F(two_masters_test, a_reader_holds_until_the_end_of_its_own_key) {
    const std::string deadline = timeout_key("k", "one");
    const char* const take =
        "redis.call('hset', KEYS[1], 'mode', 'read', 'one', '1', 'gone', '1') "
        "redis.call('pexpire', KEYS[1], '9000') return redis.call('set', KEYS[2], '1', 'px', "
        "'100')";
    ask(old, {"EVAL", take, "2", "k", deadline});
    const auto all = server.holders_at(0, "k", now_us);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all.front().field, "one");
    EXPECT_EQ(all.front().expires_ms, now_us / 1000 + 100);
}

TEST_F(two_masters_test, a_permit_that_is_out_holds_until_its_own_end) {
    const char* const take = "return redis.call('zadd', KEYS[1], '1700000000123', 'one')";
    ask(old, {"EVAL", take, "1", "k"});
    EXPECT_EQ(server.fields("k", now_us), words{"one"});
    const auto all = server.holders_at(0, "k", now_us);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all.front().expires_ms, 1'700'000'000'123);
}

TEST_F(two_masters_test, neither_has_what_is_written_to_the_other) {
    split(0);
    set(old, "1");
    EXPECT_EQ(get(heir), "$-1\r\n");
    set(heir, "2");
    EXPECT_EQ(get(old), "$1\r\n1\r\n");
}

TEST_F(two_masters_test, the_old_one_discards_what_it_has_when_it_hears_of_the_other) {
    split(0);
    set(old, "1");
    server.learn(0);
    EXPECT_EQ(get(old), "$1\r\n1\r\n") << "it is cut off";
    set(heir, "2");
    server.rejoin();
    EXPECT_TRUE(server.is_to_resync(0));
    server.learn(0);
    EXPECT_TRUE(get(old).starts_with("-READONLY"));
    EXPECT_FALSE(server.divided(shard));
    EXPECT_EQ(get(heir), "$1\r\n2\r\n");
}

TEST_F(two_masters_test, the_old_one_may_refuse_what_writes_until_it_hears_of_the_other) {
    split(0);
    server.refuse_writes(0);
    EXPECT_TRUE(ask(old, {"SET", "k", "1"}).starts_with("-NOREPLICAS"));
    EXPECT_EQ(set(heir, "2"), "+OK\r\n");
    EXPECT_EQ(get(old), "$-1\r\n");
    server.rejoin();
    server.learn(0);
    EXPECT_TRUE(get(old).starts_with("-READONLY"));
}

TEST_F(two_masters_test, no_replica_acknowledges_a_write_to_either) {
    split(0);
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(ask(old, {"WAIT", "1", "10"}), ":0\r\n");
        EXPECT_EQ(ask(heir, {"WAIT", "1", "10"}), ":0\r\n");
    }
}

TEST_F(two_masters_test, who_listens_at_one_hears_nothing_of_the_other) {
    ask(old, {"SUBSCRIBE", "c"});
    EXPECT_EQ(ask(heir, {"PUBLISH", "c", "0"}), ":1\r\n") << "a replica's listener";
    split(0);
    EXPECT_EQ(ask(heir, {"PUBLISH", "c", "0"}), ":0\r\n");
    EXPECT_EQ(ask(server.connect(0), {"PUBLISH", "c", "0"}), ":1\r\n");
}

TEST_F(two_masters_test, a_stranger_meets_the_new_one_and_both_are_looked_at) {
    set(old, "1");
    split(1);
    EXPECT_FALSE(server.exists("k", now_us));
    EXPECT_TRUE(server.anyone_has("k", now_us));
    server.remove("k", now_us);
    EXPECT_TRUE(server.anyone_has("k", now_us));
}

TEST(standings_test, what_was_copied_with_its_lease_is_in_both) {
    standings s;
    s.has(1, "f", 5000);
    s.copied(2, "f", 5000);
    EXPECT_EQ(*s.of("f"), (standings::data_sets{1, 2}));
    s.has(1, "f", 5000);
    EXPECT_EQ(*s.of("f"), (standings::data_sets{1, 2})) << "no news";
}

TEST(standings_test, what_was_prolonged_is_only_there) {
    standings s;
    s.has(1, "f", 5000);
    s.copied(2, "f", 5000);
    s.has(1, "f", 6000);
    EXPECT_EQ(*s.of("f"), standings::data_sets{1});
    s.has(2, "f", 5000);
    EXPECT_EQ(*s.of("f"), standings::data_sets{1}) << "a shorter lease";
    s.found(2, "f");
    EXPECT_EQ(*s.of("f"), (standings::data_sets{1, 2})) << "its client has prolonged it there";
}

TEST(standings_test, a_copy_that_lacks_the_last_renewal_is_none) {
    standings s;
    s.has(1, "f", 5000);
    s.copied(2, "f", 4000);
    s.copied(2, "another", 4000);
    EXPECT_EQ(*s.of("f"), standings::data_sets{1});
    EXPECT_EQ(s.of("another"), std::nullopt);
}

TEST(standings_test, a_key_made_persistent_is_where_it_was_given_the_later_end) {
    standings s;
    s.has(1, "f", standings::no_expiry);
    s.copied(2, "f", standings::no_expiry);
    s.found(1, "f");
    s.has(1, "f", 5000);
    s.has(2, "f", standings::no_expiry);
    EXPECT_EQ(*s.of("f"), (standings::data_sets{1, 2})) << "its client believes in the lowered end";
    s.found(2, "f");
    s.has(2, "f", 6000);
    EXPECT_EQ(*s.of("f"), standings::data_sets{2});
}

TEST(standings_test, a_key_made_persistent_counts_no_more_when_it_was_discarded) {
    standings s;
    s.has(1, "f", standings::no_expiry);
    s.copied(2, "f", standings::no_expiry);
    s.has(2, "f", 5000);
    s.discarded(1);
    EXPECT_EQ(*s.of("f"), standings::data_sets{2});
    s.copied(3, "f", 5000);
    s.has(3, "f", 6000);
    EXPECT_EQ(*s.of("f"), standings::data_sets{3}) << "the later end is that of the others";
    s.discarded(3);
    s.has(2, "f", 5500);
    EXPECT_EQ(*s.of("f"), standings::data_sets{3}) << "its client was promised more";
}

/// Two clients, one of which is cut off with the old master.
class split_test : public ::testing::Test {
protected:
    struct ear final : client_end {
        void opened(std::uint64_t) override { open = true; }
        void bytes_came(std::uint64_t, std::string_view bytes) override { got += bytes; }
        void broken(std::uint64_t) override { open = false; }
        bool open = false;
        std::string got{};
    };

    static constexpr const char* field = "00000000-0000-0000-0000-000000000000:1";
    static constexpr const char* other = "00000000-0000-0000-0000-000000000001:1";

    split_test() {
        server.use(net);
        server.watch({"k"});
        at_old = connect(on_old, 0);
        at_heir = connect(on_heir, 1);
        run_until(100 * millis);
    }
    std::uint64_t connect(ear& of, fleet::process to) {
        const std::uint64_t client = net.add(of);
        net.connect(client, 1, fleet::port_of(to));
        return client;
    }
    void run_until(instant t) {
        while (w.step(t)) {
        }
    }
    void take(std::uint64_t client, const char* by) {
        net.send(client, 1,
                 encoded({"EVAL",
                          "redis.call('hset', KEYS[1], ARGV[1], 1) "
                          "return redis.call('pexpire', KEYS[1], 60000)",
                          "1", "k", by}));
        run_until(w.now() + 10 * millis);
    }
    void split(std::size_t lost_writes) {
        ASSERT_TRUE(server.split({.lost_writes = lost_writes,
                                  .promoted = w.now() + 1 * millis,
                                  .over = w.now() + 1 * seconds},
                                 &e));
        run_until(w.now() + 2 * millis);
    }

    world w{1};
    server_node server{w, {.run_as = deployment::sentinel}};
    network net{w, server, {}};
    ear on_old{};
    ear on_heir{};
    std::uint64_t at_old = 0;
    std::uint64_t at_heir = 0;
    effect e{};
};

TEST_F(split_test, holds_of_two_masters_share_no_data_and_one_of_them_is_discarded) {
    split(0);
    take(at_old, field);
    take(at_heir, other);
    EXPECT_EQ(server.redis().fields("k", server.wall_clock()), std::vector<std::string>{other});
    EXPECT_TRUE(server.redis().anyone_has_field("k", field, server.wall_clock()));
    EXPECT_FALSE(server.share_data("k", field, other));
    EXPECT_FALSE(server.discarded(field)) << "not yet";
    EXPECT_EQ(server.last_split("k"), w.now());
    run_until(3 * seconds);
    EXPECT_TRUE(server.discarded(field));
    EXPECT_FALSE(server.discarded(other));
    EXPECT_FALSE(server.redis().anyone_has_field("k", field, server.wall_clock()));
    EXPECT_TRUE(e.was_felt());
    EXPECT_LT(server.last_split("k"), w.now());
}

TEST_F(split_test, a_hold_that_the_replica_has_may_not_overlap_with_one_of_either) {
    take(at_old, field);
    split(0);
    EXPECT_TRUE(server.share_data("k", field, other)) << "the new master has it, too";
    run_until(3 * seconds);
    EXPECT_FALSE(server.discarded(field));
    EXPECT_FALSE(e.was_felt());
}

TEST_F(split_test, a_hold_that_the_replica_lacks_may_overlap_with_one_of_the_new_master) {
    take(at_old, field);
    split(1);
    take(at_heir, other);
    EXPECT_FALSE(server.share_data("k", field, other));
    EXPECT_TRUE(server.share_data("k", field, field));
}

TEST_F(split_test, holds_of_one_of_the_two_masters_may_not_overlap) {
    split(0);
    take(at_old, field);
    take(at_old, other);  // no script of a lock would
    EXPECT_TRUE(server.share_data("k", field, other));
}

TEST_F(split_test, there_is_no_other_split_and_no_failover_before_it_is_over) {
    split(0);
    EXPECT_FALSE(server.split({.promoted = w.now(), .over = w.now()}));
    EXPECT_FALSE(server.may_take_over(0));
    run_until(3 * seconds);
    EXPECT_TRUE(server.may_take_over(0));
}

TEST(split_in_a_cluster_test, is_one_of_the_keys_of_its_part_alone) {
    world w{1};
    server_node server{w, {.run_as = deployment::cluster}};
    network net{w, server, {}};
    server.use(net);
    const std::size_t shard = server.shard_of("k");
    std::string elsewhere = "a";
    while (server.shard_of(elsewhere) == shard) {
        ++elsewhere.front();
    }
    ASSERT_TRUE(server.split({.shard = shard, .promoted = 1 * millis, .over = 1 * seconds}));
    EXPECT_EQ(server.last_split("k"), w.now());
    EXPECT_EQ(server.last_split(elsewhere), -1);
    while (w.step(3 * seconds)) {
    }
    EXPECT_GE(server.last_split("k"), 1 * seconds);
    EXPECT_EQ(server.last_split(elsewhere), -1);
}

// A process that takes over knows it, so that clients find a master where the others say it is.
TEST(split_in_a_cluster_test, cuts_nobody_off_who_is_about_to_take_over) {
    world w{1};
    server_node server{w, {.run_as = deployment::cluster}};
    network net{w, server, {}};
    server.use(net);
    const fleet& f = server.redis().processes();
    const fleet::process heir = f.replica(0);
    ASSERT_TRUE(server.take_over({.promoted = 1 * millis, .back = 2 * millis}));
    EXPECT_FALSE(server.split({.shard = 1, .over = 1 * seconds, .with_old = heir}));
    while (w.step(1 * seconds)) {
    }
    ASSERT_EQ(f.master(0), heir);
    EXPECT_TRUE(f.is_master(heir));
    EXPECT_TRUE(server.split({.shard = 1, .over = 2 * seconds, .with_old = f.replica(0)}));
}

TEST_F(split_test, healing_ends_it_at_once) {
    split(0);
    take(at_old, field);
    server.heal();
    EXPECT_TRUE(server.discarded(field));
    EXPECT_TRUE(server.may_take_over(0));
}

TEST_F(split_test, a_client_that_is_kept_apart_from_a_port_is_heard_there_later) {
    net.separate(at_old, fleet::port_of(0), w.now() + 1 * seconds, &e);
    const instant end = w.now() + 1 * seconds;
    take(at_old, field);
    take(at_heir, other);
    EXPECT_EQ(on_old.got, "");
    EXPECT_NE(on_heir.got, "") << "another client and port";
    EXPECT_TRUE(e.was_felt());
    run_until(end + 10 * millis);
    EXPECT_NE(on_old.got, "");
}

}  // namespace
