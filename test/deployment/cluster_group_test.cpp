// SPDX-License-Identifier: BSL-1.0
// That the cluster of the tests is one, and does what they make it do.
#include "deployment/cluster_group.hpp"
#include "support/server_version.hpp"

#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>

#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class cluster_group_test : public testing::Test {
protected:
    template <typename Body>
    void run(Body&& body) {
        run_test(io, body(), 90s);
    }
    /// "GET key" at a node: what it says instead of an answer.
    std::string refusal(std::size_t i, const std::string& key) const {
        const reply r = group.raw(i).command({"GET", key});
        return r.is_error() ? r.text.substr(0, r.text.find(' ')) : std::string{};
    }

    cluster_group group{};
    asio::io_context io{};
};

TEST_F(cluster_group_test, slow_its_nodes_share_the_slots_and_know_them) {
    EXPECT_EQ(group.owner_of(0u), 0u);
    EXPECT_EQ(group.owner_of(slot_count - 1), 2u);
    for (const std::string& key :
         std::vector<std::string>{"a", "{a}b", "a{b}c", "a{", "{}a", "a{}{b}", "{{a}}", "ä"}) {
        raw_client r = group.raw_at(key);
        EXPECT_EQ(r.must({"CLUSTER", "KEYSLOT", key}).number, slot_of(key)) << key;
        r.must({"SET", key, ""});
    }
    for (std::size_t i = 0; i < cluster_group::master_count; ++i) {
        EXPECT_EQ(group.owner_of(group.name_in(i)), i);
        EXPECT_TRUE(group.replicated(i));
    }
    EXPECT_EQ(slot_of(cluster_group::name_of_slot(7)), 7u);
}

TEST_F(cluster_group_test, slow_a_slot_moves_with_its_keys_and_their_leases) {
    const std::string first = "first{x}";
    const std::string second = "second{x}";
    const unsigned slot = slot_of("x");
    const std::size_t from = group.owner_of(slot);
    const std::size_t to = (from + 1) % cluster_group::master_count;
    raw_client subscriber = group.raw(from);
    if (server_has_shard_messages()) {
        subscriber.must({"SSUBSCRIBE", "channel{x}"});
    }
    for (const std::string& key : {first, second}) {
        group.raw(from).must({"SET", key, "value", "PX", "60000"});
    }
    group.begin_migration(slot, from, to);
    EXPECT_EQ(group.owner_of(slot), from);
    group.move_key(first, from, to);
    EXPECT_EQ(group.raw(from).get(second), "value");
    EXPECT_EQ(refusal(from, first), "ASK");
    EXPECT_EQ(refusal(to, first), "MOVED");
    EXPECT_EQ(group.move_keys(slot, from, to), 1u);
    EXPECT_EQ(group.node(to).keys_in(slot).size(), 2u);
    group.end_migration(slot, from, to);
    EXPECT_EQ(group.owner_of(slot), to);
    EXPECT_EQ(refusal(from, first), "MOVED");
    EXPECT_EQ(group.raw(to).get(first), "value");
    EXPECT_GT(group.raw(to).pttl(second), 0);
    if (server_has_shard_messages()) {
        EXPECT_EQ(subscriber.receive().items.at(0).text, "sunsubscribe");
    }
    group.migrate(slot, from);
    EXPECT_EQ(group.raw(from).get(second), "value");
    run([&] { return group.settle(); });
}

TEST_F(cluster_group_test, slow_a_killed_master_is_replaced_and_comes_back_as_a_replica) {
    const std::string key = group.name_in(1);
    group.raw(1).must({"SET", key, "value"});
    EXPECT_TRUE(group.replicated(1));
    run([&]() -> asio::awaitable<void> {
        const std::size_t heir = co_await group.fail_over(1);
        EXPECT_EQ(heir, 4u);
        EXPECT_EQ(group.owner_of(key), heir);
        EXPECT_EQ(group.raw(heir).get(key), "value");
        EXPECT_EQ(group.replica_of(heir), cluster_group::nobody);
        group.node(1).start();
        co_await group.settle();
        EXPECT_EQ(group.replica_of(heir), 1u);
        EXPECT_EQ(refusal(1, key), "MOVED");
    });
}

TEST_F(cluster_group_test, slow_a_frozen_master_is_replaced_and_comes_back_as_a_replica) {
    run([&]() -> asio::awaitable<void> {
        group.allow_failover();
        group.node(2).freeze();
        const bool replaced = co_await when([&] { return group.settled(); }, 60s);
        EXPECT_TRUE(replaced);
        EXPECT_EQ(group.owner_of(slot_count - 1), 5u);
        group.node(2).thaw();
        co_await group.settle();
        EXPECT_EQ(group.replica_of(5), 2u);
    });
}

TEST_F(cluster_group_test, slow_a_replica_takes_over_when_it_is_asked) {
    run([&]() -> asio::awaitable<void> {
        const std::string key = group.name_in(0);
        co_await group.hand_over_to(3);
        EXPECT_EQ(group.owner_of(key), 3u);
        EXPECT_EQ(group.replica_of(3), 0u);
    });
}

TEST_F(cluster_group_test, slow_a_new_node_gets_slots) {
    run([&]() -> asio::awaitable<void> {
        const std::size_t added = co_await group.add_node();
        EXPECT_EQ(added, cluster_group::node_count);
        group.raw(0).must({"SET", cluster_group::name_of_slot(5), "value"});
        group.migrate(5, added);
        co_await group.settle();
        EXPECT_EQ(group.owner_of(5u), added);
        EXPECT_EQ(group.node(added).keys_in(5).size(), 1u);
    });
}

TEST_F(cluster_group_test, slow_it_outlives_a_restart_of_all_nodes) {
    run([&]() -> asio::awaitable<void> {
        for (std::size_t i = 0; i < group.size(); ++i) {
            group.node(i).kill();
        }
        for (std::size_t i = 0; i < group.size(); ++i) {
            group.node(i).start();
        }
        co_await group.settle();
        EXPECT_EQ(group.owner_of(0u), 0u);
        EXPECT_EQ(group.replica_of(2), 5u);
    });
}

}  // namespace
