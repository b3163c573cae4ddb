// SPDX-License-Identifier: BSL-1.0
#include "unit/topology/cluster_harness.hpp"
#include "unit/topology/sentinel_harness.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

// Where to reach servers that others told of: those that no connection can be made to, and those
// that a function of the settings maps.
namespace {

using namespace conch::test;
using conch::server_address;

const std::string too_long(256, 'h');

server_address outside(const server_address& told) {
    return {"outside-" + told.host, static_cast<std::uint16_t>(told.port + 1)};
}

// What a function may do wrong.
server_address without_host(const server_address&) { return {"", 1}; }
server_address without_port(const server_address& told) { return {told.host, 0}; }
server_address too_far(const server_address&) { return {too_long, 1}; }
server_address with_a_space(const server_address&) { return {"a b", 1}; }
server_address throws(const server_address&) { throw std::runtime_error{"no"}; }

constexpr std::array bad_maps{&without_host, &without_port, &too_far, &with_a_space, &throws};

bool any_has(const lines& all, std::string_view words) {
    return std::any_of(all.begin(), all.end(),
                       [&](const std::string& l) { return l.find(words) != l.npos; });
}

TEST_F(topology_cluster, a_node_whose_host_no_server_can_have_is_left_out) {
    submit(a, 7);
    meet_node();
    tell(integer(0) + array(part_of(0, 5460, "m1"), part_of(5461, 10922, too_long),
                            part_of(10923, 16383, "a b")));
    EXPECT_EQ(serving(7), "m1:7000");
    EXPECT_EQ(serving(6000), "m1:7000") << "with whom it was";
    EXPECT_EQ(serving(16000), "m1:7000");
    EXPECT_EQ(servers.count(), 2u);
    EXPECT_TRUE(any_has(logged, "longer than 255 bytes")) << testing::PrintToString(logged);
}

TEST_F(topology_cluster, a_move_to_a_host_that_no_server_can_have_waits_for_a_better_one) {
    submit(a, 7);
    learn_three();
    meet(main_link);
    sent(main_link);
    const std::size_t before = servers.count();
    for (const std::string& where : {"MOVED 7 " + too_long + ":7000", "ASK 7 " + too_long + ":7000",
                                     std::string{"MOVED 7 ?:7000"}, std::string{"ASK 7 ?:7000"},
                                     std::string{"MOVED 7 m2:0"}}) {
        reply(main_link, error(where));
        EXPECT_EQ(a.ends, lines{});
        EXPECT_EQ(servers.count(), before);
        advance(1s);
        EXPECT_EQ(sent(main_link), lines{"a"}) << "asked again behind " << where;
    }
    reply(main_link, error("MOVED 7 m2:7000"));
    EXPECT_EQ(serving(7), "m2:7000");
}

struct topology_mapped : topology_cluster {
    void map_by(server_address (*f)(const server_address&)) { settings.cluster->map_address = f; }
};

TEST_F(topology_mapped, hosts_that_were_not_told_are_not_mapped_again) {
    map_by(&outside);
    submit(a, 7);
    meet_node();
    tell(integer(0) + array(part_of(0, 5460, ""), part_of(5461, 16383, "m2")));
    EXPECT_EQ(serving(7), "n1:7000") << "the node that was asked: as the settings have it";
    EXPECT_EQ(serving(6000), "outside-m2:7001");
    meet(main_link);
    sent(main_link);
    reply(main_link, error("ASK 7 :7005"));
    meet(place_of("n1:7005"));
    advance(100ms);
    sent(main_link);
    reply(main_link, error("ASK 7 :7005"));
    EXPECT_EQ(sent(place_of("n1:7005")), (lines{"ASKING", "a"}));
}

TEST_F(topology_mapped, a_redirection_without_a_host_leads_to_where_the_answer_came_from) {
    map_by(&outside);
    submit(a, 6000);
    meet_node();
    tell(integer(0) + array(part_of(0, 5460, "m1"), part_of(5461, 16383, "m2")));
    const std::size_t second = place_of("outside-m2:7001");
    meet(second);
    sent(second);
    reply(second, error("ASK 6000 :7005"));
    meet(place_of("outside-m2:7005"));
    advance(100ms);
    sent(second);
    reply(second, error("ASK 6000 :7005"));
    EXPECT_EQ(sent(place_of("outside-m2:7005")), (lines{"ASKING", "a"}));
}

TEST_F(topology_mapped, a_function_that_gives_no_address_is_told_of_and_the_own_address_used) {
    submit(a, 7);
    meet_node();
    reply(asked, integer(0));
    int others = 0;
    for (const auto& bad : bad_maps) {
        map_by(bad);
        logged.clear();
        const std::string host = "m" + std::to_string(++others);
        tell(array(part_of(0, 16383, host)));
        EXPECT_EQ(serving(7), host + ":7000");
        EXPECT_TRUE(any_has(logged, "cluster.map_address")) << others;
        servers.connection(main_link).broken("reset");
        EXPECT_EQ(sent(asked), lines{"CLUSTER SLOTS"});
    }
}

struct topology_mapped_sentinel : topology_sentinel {
    void map_by(server_address (*f)(const server_address&)) { settings.sentinel->map_address = f; }
};

TEST_F(topology_mapped_sentinel, the_master_is_where_the_map_says_and_the_sentinels_are_not) {
    map_by(&outside);
    submit(a);
    EXPECT_EQ(target(asked), "s1:26379");
    just_find_master("m1");
    EXPECT_EQ(target(main_link), "outside-m1:6380");
    note b{plain_note, "b"};
    submit_durable(b);
    EXPECT_EQ(target(durable_link), "outside-m1:6380");
    reply(asked, message("+switch-master", "m m1 6379 m2 6379"));
    EXPECT_EQ(sent(asked), lines{asked_again});
    reply(asked, just_names("m2"));
    EXPECT_EQ(target(main_link), "outside-m2:6380");
    servers.connection(asked).broken("reset");
    EXPECT_EQ(target(asked), "s2:26379");
    servers.close();
}

TEST_F(topology_mapped_sentinel, one_that_names_a_dead_master_again_makes_way_for_the_next) {
    map_by(&outside);
    submit(a);
    just_find_master("m1");
    servers.connection(main_link).broken("refused");
    sent(asked);
    reply(asked, just_names("m1"));
    advance(1s);
    servers.connection(main_link).broken("refused");
    sent(asked);
    reply(asked, just_names("m1"));
    EXPECT_EQ(target(asked), "s2:26379");
}

TEST_F(topology_mapped_sentinel, a_function_that_gives_no_address_is_told_of) {
    int others = 0;
    for (const auto& bad : bad_maps) {
        map_by(bad);
        logged.clear();
        const std::string host = "m" + std::to_string(++others);
        if (others == 1) {
            submit(a);
            just_find_master(host);
        } else {
            reply(asked, message("+switch-master", "news"));
            EXPECT_EQ(sent(asked), lines{asked_again});
            reply(asked, just_names(host));
        }
        EXPECT_EQ(target(main_link), host + ":6379");
        EXPECT_TRUE(any_has(logged, "sentinel.map_address")) << others;
    }
}

TEST_F(topology_sentinel, a_host_that_no_server_can_have_is_no_address) {
    submit(a);
    meet_sentinel();
    reply(asked, subscribed_to("+switch-master") + names(too_long));
    EXPECT_FALSE(wanted(main_link));
    EXPECT_EQ(target(asked), "s2:26379");
    just_find_master("m1");
    EXPECT_EQ(target(main_link), "m1:6379");
}

// A function may know what a server means that no other can reach.
TEST_F(topology_mapped_sentinel, a_host_that_no_server_can_have_may_be_mapped) {
    map_by([](const server_address& told) {
        return server_address{told.host.substr(0, 3), told.port};
    });
    submit(a);
    find_master(too_long);
    EXPECT_EQ(target(main_link), "hhh:6379");
}

}  // namespace
