// SPDX-License-Identifier: BSL-1.0
// How a cluster is found, and what can't be locked in one.
#include "deployment/cluster_test.hpp"
#include "support/name_server.hpp"
#include "support/named_types.hpp"
#include "support/rights.hpp"

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class cluster_address : public cluster_test {
protected:
    server_address address(std::size_t i) { return {"127.0.0.1", group.node(i).port()}; }
};

TEST_F(cluster_address, slow_a_seed_that_is_down_or_mute_is_skipped) {
    const reserved_port nobody_there;
    group.node(5).freeze();
    config c = group.settings("c");
    c.cluster->addresses = {{"127.0.0.1", nobody_there.number()}, address(5), address(3)};
    client seeded{io, c};
    run([&] { return locks_everywhere(seeded); });
    group.node(5).thaw();
}

TEST_F(cluster_address, a_seed_whose_name_server_is_silent_keeps_nobody_waiting) {
    const silent_name silent;
    config c = group.settings("c");
    c.cluster->addresses = {{silent.text(), 6379}, address(3)};
    client seeded{io, c};
    run([&] { return locks_everywhere(seeded); });
    EXPECT_GE(silent.searches(), 1u);
}

TEST_F(cluster_address, a_master_whose_name_server_is_silent_stops_no_other) {
    silent_name silent;
    config c = group.settings("c");
    c.operation_timeout = long_patience;
    c.cluster->map_address = [&](const server_address& announced) {
        const bool hidden = announced.port == group.node(1).port();
        return server_address{hidden ? silent.text() : "127.0.0.1", announced.port};
    };
    client mapped{io, c};
    const auto lock_in = [&](std::size_t node) -> asio::awaitable<void> {
        const mutex m{mapped, group.name_in(node)};
        hold h = co_await m.async_lock();
        EXPECT_TRUE(h.owns_lock());
        co_await h.async_unlock();
    };
    run([&]() -> asio::awaitable<void> {
        task_group waiting{io.get_executor()};
        waiting.spawn(lock_in(1));
        const bool searched = co_await when([&] { return silent.searches() > 0; });
        EXPECT_TRUE(searched);
        co_await lock_in(0);
        co_await lock_in(2);
        silent.answer();
        co_await waiting.join();
    });
}

TEST_F(cluster_address, slow_no_seed_is_needed_any_more_once_the_cluster_is_known) {
    config c = group.settings("c");
    c.cluster->addresses = {address(4)};
    client seeded{io, c};
    run([&]() -> asio::awaitable<void> {
        co_await locks_everywhere(seeded);
        group.node(4).kill();
        group.raw(0).kill_connections("c");
        co_await locks_everywhere(seeded);
        const std::size_t heir = co_await group.fail_over(0);
        const mutex m{seeded, group.name_in(heir)};
        hold h = co_await m.async_lock();
        EXPECT_TRUE(h.owns_lock());
    });
}

TEST_F(cluster_address, slow_nodes_are_reached_where_the_map_says) {
    if (server_is_before(7)) {
        GTEST_SKIP() << "for Redis 7.0 or newer: nodes have no names before";
    }
    std::vector<std::string> hosts;
    for (std::size_t i = 0; i < group.size(); ++i) {
        hosts.push_back("node-" + std::to_string(i) + ".invalid");
        group.name(i, hosts.back());
    }
    config c = group.settings("c");
    std::map<std::string, int> asked;
    c.cluster->map_address = [&asked](const server_address& announced) {
        ++asked[announced.host];
        return server_address{"127.0.0.1", announced.port};
    };
    run([&]() -> asio::awaitable<void> {
        co_await named({hosts.begin(), hosts.end()});
        client mapped{io, c};
        co_await locks_everywhere(mapped);
        for (std::size_t i = 0; i < cluster_group::master_count; ++i) {
            EXPECT_GT(asked[hosts[i]], 0) << hosts[i];
        }
        // Redirected by a master that names the other by its host, too.
        const std::string name = group.name_in(0);
        const mutex m{mapped, name};
        group.migrate(slot_of(name), 1);
        hold h = co_await m.async_lock();
        EXPECT_TRUE(group.raw(1).exists(name));
        co_await h.async_unlock();
        co_await mapped.async_shutdown();
    });
}

TEST_F(cluster_address, slow_a_node_that_names_no_host_is_where_the_others_are) {
    if (server_is_before(7)) {
        GTEST_SKIP() << "for Redis 7.0 or newer: nodes have an address before";
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
        group.raw(i).must({"CONFIG", "SET", "cluster-preferred-endpoint-type", "unknown-endpoint"});
    }
    run([&]() -> asio::awaitable<void> {
        co_await locks_everywhere(a);
        const std::string name = group.name_in(0);
        group.migrate(slot_of(name), 1);
        const mutex m{a, name};
        hold h = co_await m.async_lock();
        EXPECT_TRUE(group.raw(1).exists(name));
        co_await h.async_unlock();
    });
}

TEST_F(cluster_address, slow_servers_that_are_no_cluster_say_so_soon) {
    const cli::private_redis alone{
        {.tcp = true, .arguments = arguments_for_user(cluster_rights())}};
    config c = group.settings("c");
    c.cluster->addresses = {{"127.0.0.1", alone.port()}};
    c.operation_timeout = 2s;
    client lost{io, c};
    run([&]() -> asio::awaitable<void> {
        const mutex m{lost, "lock"};
        const auto [ec, h] = co_await m.async_lock({}, as_result);
        EXPECT_TRUE(ec);
        EXPECT_NE(lost.last_server_error().find("cluster support disabled"), std::string::npos)
            << ec.message() << ": " << lost.last_server_error();
    });
}

// No server is needed to find these out.
class cluster_settings : public testing::Test {
protected:
    static config somewhere() {
        config c;
        c.cluster.emplace();
        c.cluster->addresses = {{"127.0.0.1", 1}};
        return c;
    }

    asio::io_context io{};
};

TEST_F(cluster_settings, a_cluster_has_one_database) {
    config c = somewhere();
    EXPECT_NO_THROW(client(io, c));
    c.database = 1;
    EXPECT_THROW(client(io, c), std::invalid_argument);
}

TEST_F(cluster_settings, what_makes_no_sense_is_refused) {
    config c = somewhere();
    c.cluster->addresses.clear();
    EXPECT_THROW(client(io, c), std::invalid_argument);
    c = somewhere();
    c.cluster->addresses.push_back({"", 1});
    EXPECT_THROW(client(io, c), std::invalid_argument);
    c = somewhere();
    c.cluster->addresses.push_back({"127.0.0.1", 0});
    EXPECT_THROW(client(io, c), std::invalid_argument);
    c = somewhere();
    c.cluster->scan_interval = 0s;
    EXPECT_THROW(client(io, c), std::invalid_argument);
    c = somewhere();
    c.unix_path = "/redis.sock";
    EXPECT_THROW(client(io, c), std::invalid_argument);
    c = somewhere();
    c.sentinel.emplace();
    c.sentinel->master = "master";
    c.sentinel->addresses = {{"127.0.0.1", 1}};
    EXPECT_THROW(client(io, c), std::invalid_argument);
}

TEST_F(cluster_settings, a_url_names_the_seeds) {
    const config c = config::from_url("redis+cluster://user:pass%40word@one:7000,two,[::1]:7001");
    ASSERT_TRUE(c.cluster);
    const std::vector<server_address> expected{{"one", 7000}, {"two", 6379}, {"::1", 7001}};
    EXPECT_EQ(c.cluster->addresses, expected);
    EXPECT_EQ(c.username, "user");
    EXPECT_EQ(c.password, "pass@word");
    EXPECT_FALSE(c.tls);
    EXPECT_TRUE(config::from_url("rediss+cluster://one").tls);
    EXPECT_THROW(config::from_url("redis+cluster://"), std::invalid_argument);
    EXPECT_THROW(config::from_url("redis+cluster://one,"), std::invalid_argument);
}

bool is_usable(cluster_names which, const std::string& name) {
    switch (which) {
        case cluster_names::any: return true;
        case cluster_names::whole_tag: return slot_of(name) == slot_of(channel_of(name));
        case cluster_names::no_brace: return name.find_first_of("{}") == name.npos;
    }
    return false;
}

// A key, those beside it and its channel have to be in one slot; Redisson's rule for the names of
// the latter sees to that, but for some names with odd braces.
TEST_F(cluster_settings, a_name_whose_slot_is_not_that_of_its_channel_is_refused) {
    const client cluster{io, somewhere()};
    const client single{io};
    for (const std::string& name :
         std::vector<std::string>{"a", "{a}", "a{b}", "{a}b", "{a}{b}", "{{a}}", "}a{b}", "a{}b",
                                  "a{b", "{}x", "{", "}", "a}b", "{}", "}{", "a{}{b}", "zwölf"}) {
        SCOPED_TRACE(name);
        for (const named_type& t : named_types) {
            SCOPED_TRACE(t.text);
            EXPECT_EQ(refusal_of(t, single, name), "");
            const std::string why = refusal_of(t, cluster, name);
            if (is_usable(t.in_cluster, name)) {
                EXPECT_EQ(why, "");
            } else {
                EXPECT_TRUE(why.starts_with(t.text + std::string{": "})) << why;
                EXPECT_NE(why.find("a cluster can't"), why.npos) << why;
            }
        }
    }
    EXPECT_NE(slot_of("a{b"), slot_of(channel_of("a{b")));
    EXPECT_NE(slot_of("{}x"), slot_of(channel_of("{}x")));
    EXPECT_NE(slot_of("a}b"), slot_of(channel_of("a}b")));
    run_to_end(io);
    EXPECT_EQ(cluster.stats().connects, 0u);
}

}  // namespace
