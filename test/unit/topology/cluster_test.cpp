// SPDX-License-Identifier: BSL-1.0
#include "unit/topology/cluster_harness.hpp"

// Which master has which part of a cluster, as its nodes tell it.
namespace {

using namespace conch::test;
using conch::errc;

TEST_F(topology_cluster, the_first_call_asks_and_no_master_is_wanted_before) {
    EXPECT_FALSE(wanted(asked));
    EXPECT_EQ(timers.next(), conch::core::never);
    submit(a, 7);
    EXPECT_FALSE(wanted(main_link));
    EXPECT_TRUE(wanted(asked));
    EXPECT_EQ(target(asked), "n1:7000");
    EXPECT_EQ(meet_node(), first_questions);
}

TEST_F(topology_cluster, the_slots_are_asked_for_again_at_intervals_with_jitter) {
    submit(a, 7);
    learn_three();
    meet(main_link);
    EXPECT_EQ(sent(main_link), lines{"a"});
    reply(main_link, integer(1));
    std::vector<conch::duration> intervals;
    for (conch::time_point before = now; intervals.size() < 5; advance(10ms)) {
        if (sent(asked) == next_question) {
            intervals.push_back(now - before);
            before = now;
            tell(thirds("m1", "m2", "m3"));
        }
    }
    const auto [least, most] = std::minmax_element(intervals.begin(), intervals.end());
    EXPECT_GE(*least, 1s) << "half of scan_interval";
    EXPECT_LE(*most, 2s + 10ms);
    EXPECT_NE(*least, *most);
}

TEST_F(topology_cluster, each_call_goes_to_the_master_of_its_part) {
    submit(a, 7);
    submit(b, 16000);
    learn_three();
    EXPECT_EQ(serving(5460), "m1:7000");
    EXPECT_EQ(serving(5461), "m2:7000");
    EXPECT_FALSE(wanted(place_of("m2:7000"))) << "nothing is asked of it";
    for (const char* const m : {"m1:7000", "m3:7000"}) {
        EXPECT_EQ(meet(place_of(m)).at(1), "INFO replication");
    }
    EXPECT_EQ(sent(place_of("m1:7000")), lines{"a"});
    EXPECT_EQ(sent(place_of("m3:7000")), lines{"b"});
}

TEST_F(topology_cluster, a_master_that_took_the_place_of_another_takes_its_link) {
    submit(a, 7);
    learn_three();
    meet(main_link);
    EXPECT_EQ(sent(main_link), lines{"a"});
    const auto moves = servers.main().moves();
    servers.connection(main_link).broken("reset");
    EXPECT_EQ(sent(asked), next_question);
    tell(thirds("r1", "m2", "m3"));
    EXPECT_EQ(target(main_link), "r1:7000");
    meet(main_link, "master", "2222");
    EXPECT_EQ(sent(main_link), lines{"a"}) << "replayed at the new master";
    EXPECT_NE(servers.main().moves(), moves) << "what is held must be checked";
}

TEST_F(topology_cluster, a_call_that_was_moved_goes_where_it_was_sent) {
    submit(a, 7);
    learn_three();
    meet(main_link);
    sent(main_link);
    reply(main_link, error("MOVED 7 m2:7000"));
    EXPECT_EQ(a.ends, lines{});
    meet(place_of("m2:7000"));
    EXPECT_EQ(sent(place_of("m2:7000")), lines{"a"});
    EXPECT_EQ(serving(7), "m2:7000");
    EXPECT_EQ(serving(8), "m1:7000");
    EXPECT_EQ(sent(asked), next_question);
    EXPECT_EQ(counters.redirections, 1u);
}

TEST_F(topology_cluster, a_call_that_is_moved_to_an_unknown_master_waits_until_it_is_known) {
    submit(a, 7);
    learn_three();
    meet(main_link);
    sent(main_link);
    reply(main_link, error("MOVED 7 r1:7000"));
    EXPECT_EQ(servers.count(), 4u);
    EXPECT_EQ(sent(asked), next_question);
    tell(thirds("r1", "m2", "m3"));
    EXPECT_EQ(target(main_link), "r1:7000");
    meet(main_link, "master", "2222");
    EXPECT_EQ(sent(main_link), lines{"a"});
}

TEST_F(topology_cluster, a_call_that_is_asked_for_elsewhere_goes_there_after_asking) {
    const std::size_t there = sent_on("m2:7000");
    EXPECT_EQ(serving(7), "m1:7000") << "for this once";
    reply(there, ok() + integer(5));
    EXPECT_EQ(a.ends, lines{":5"});
}

TEST_F(topology_cluster, who_holds_hears_at_once_of_a_part_that_moved) {
    submit(a, 7);
    learn_three();
    meet(main_link);
    sent(main_link);
    news.clear();
    reply(main_link, error("MOVED 7 m2:7000"));
    EXPECT_EQ(serving(7), "m2:7000");
    EXPECT_EQ(news, lines{"regrouped"}) << "though the cluster was not heard yet";
}

TEST_F(topology_cluster, what_was_sent_on_and_lost_asks_where_the_part_belongs) {
    const std::size_t there = sent_on("m9:7000");
    servers.connection(there).broken("reset");
    EXPECT_EQ(sent(main_link), lines{"a"}) << "by then it may be anywhere: its part's master knows";
}

// By the time there is a connection the part may be on its way a second time, and another have the
// lock where it was: who comes with ASKING would be given it, too.
TEST_F(topology_cluster, nobody_waits_with_asking_for_a_connection) {
    sent_on_to_new("m9:7000");
    EXPECT_EQ(sent(main_link), lines{});
    advance(100ms);
    EXPECT_EQ(sent(main_link), lines{"a"}) << "asked again where the part belongs";
    reply(main_link, integer(7));
    EXPECT_EQ(a.ends, lines{":7"});
}

TEST_F(topology_cluster, nor_does_who_heard_of_it_late_go_there_with_asking) {
    const std::size_t there = sent_on("m9:7000");
    reply(there, ok() + integer(5));
    submit(b, 7);
    EXPECT_EQ(sent(main_link), lines{"b"});
    advance(1s);
    reply(main_link, error("ASK 7 m9:7000"));
    EXPECT_EQ(sent(there), lines{});
    advance(100ms);
    EXPECT_EQ(sent(main_link), lines{"b"}) << "asked again where the part belongs";
    advance(1s - 1ns);
    reply(main_link, error("ASK 7 m9:7000"));
    EXPECT_EQ(sent(there), (lines{"ASKING", "b"}));
}

TEST_F(topology_cluster, nor_for_the_next_one) {
    sent_on("m9:7000");
    reply(place_of("m9:7000"), ok() + integer(7));
    submit(b, 7);
    sent(main_link);
    reply(main_link, error("ASK 7 m9:7000"));
    servers.connection(place_of("m9:7000")).broken("reset");
    EXPECT_EQ(sent(main_link), lines{"b"});
}

TEST_F(topology_cluster, who_takes_the_place_of_a_master_may_have_got_parts_of_others_before) {
    submit(a, 6000);
    learn_three();
    const std::size_t second = place_of("m2:7000");
    meet(second);
    servers.connection(second).broken("reset");
    EXPECT_EQ(sent(asked), lines{"CLUSTER SLOTS"});
    tell(array(part_of(0, 5400, "m1"), part_of(5401, 10922, "r2"), part_of(10923, 16383, "m3")));
    EXPECT_EQ(target(second), "r2:7000");
    meet(second, "master", "2222");
    EXPECT_EQ(servers.serving(6000).moves(), 1);
    EXPECT_EQ(serving(5401), "r2:7000");
}

TEST_F(topology_cluster, a_call_that_is_sent_round_and_round_waits) {
    submit(a, 7);
    learn_three();
    meet(main_link);
    int sends = 0;
    std::size_t where = main_link;
    for (; sends < 100 && !sent(where).empty(); ++sends) {
        const std::size_t next = where == main_link ? place_of("m2:7000") : main_link;
        reply(where, error("MOVED 7 " + target(next)));
        if (wanted(next) && !servers.connection(next).ready()) {
            meet(next);
        }
        where = next;
    }
    EXPECT_LT(sends, 20);
    EXPECT_EQ(a.ends, lines{});
}

TEST_F(topology_cluster, parts_that_move_take_what_waits_along) {
    submit(a, 7);
    learn_three();
    meet(place_of("m1:7000"));
    EXPECT_EQ(sent(main_link), lines{"a"});
    reply(main_link, integer(1));
    submit(b, 8);
    advance(2s);
    EXPECT_EQ(sent(asked), next_question);
    tell(array(part_of(0, 6, "m1"), part_of(7, 10922, "m2"), part_of(10923, 16383, "m3")));
    EXPECT_EQ(sent(main_link), lines{});
    meet(place_of("m2:7000"));
    EXPECT_EQ(sent(place_of("m2:7000")), lines{"b"});
    EXPECT_EQ(servers.main().moves(), 0) << "a master that keeps its place";
}

TEST_F(topology_cluster, what_a_broken_connection_had_goes_to_the_present_master) {
    submit(a, 7);
    learn_three();
    meet(main_link);
    sent(main_link);
    advance(2s);
    sent(asked);
    tell(array(part_of(0, 6, "m1"), part_of(7, 10922, "m2"), part_of(10923, 16383, "m3")));
    servers.connection(main_link).broken("reset");
    meet(place_of("m2:7000"));
    EXPECT_EQ(sent(place_of("m2:7000")), lines{"a"});
}

TEST_F(topology_cluster, a_master_without_parts_is_left) {
    submit(a, 7);
    learn_three();
    meet(main_link);
    sent(main_link);
    reply(main_link, integer(1));
    submit(b, 6000);
    const std::size_t second = place_of("m2:7000");
    meet(second);
    sent(second);
    reply(second, integer(1));
    advance(2s);
    sent(asked);
    tell(array(part_of(0, 10922, "m1"), part_of(10923, 16383, "m3")));
    EXPECT_FALSE(wanted(second));
    EXPECT_TRUE(wanted(main_link));
}

TEST_F(topology_cluster, the_next_node_is_asked_where_one_is_of_no_use) {
    submit(a, 7);
    servers.connection(asked).broken("refused");
    EXPECT_EQ(target(asked), "n2:7000");
    EXPECT_EQ(meet_node(), first_questions);
    tell(error("ERR unknown command") + error("ERR This instance has cluster support disabled"));
    EXPECT_EQ(target(asked), "n1:7000");
    EXPECT_EQ(news, lines{}) << "the first could not be reached: it may know more";
}

TEST_F(topology_cluster, nodes_that_all_refuse_are_told_of) {
    submit(a, 7);
    const std::string refusal = error("NOPERM no CLUSTER for you");
    EXPECT_EQ(meet_node(), first_questions);
    tell(integer(0) + refusal);
    EXPECT_EQ(meet_node(), next_question);
    tell(refusal);
    EXPECT_EQ(news, lines{"lost: " + make_error_code(errc::permission_denied).message()});
    EXPECT_NE(servers.last_words().find("NOPERM"), std::string::npos) << servers.last_words();
}

// Redis' order is to give it the keys first.
TEST_F(topology_cluster, a_node_that_is_to_get_its_first_part_keeps_its_connection) {
    const auto scan = [&] {
        for (int n = 0; sent(asked).empty(); ++n) {
            ASSERT_LT(n, 100);
            advance(100ms);
        }
        tell(thirds("m1", "m2", "m3"));
    };
    const std::size_t there = sent_on("m9:7000");
    reply(there, ok() + integer(1));
    for (int n = 0; n < 3; ++n) {
        scan();
        EXPECT_TRUE(wanted(there));
        note c{plain_note, "c"};
        submit(c, 7);
        sent(main_link);
        reply(main_link, error("ASK 7 m9:7000"));
        EXPECT_EQ(sent(there), (lines{"ASKING", "c"})) << "at once";
        reply(there, ok() + integer(1));
    }
    scan();
    EXPECT_TRUE(wanted(there));
    scan();
    EXPECT_FALSE(wanted(there)) << "nobody was sent there between two of them";
}

TEST_F(topology_cluster, nonsense_is_left_out) {
    submit(a, 7);
    meet_node();
    tell(integer(0) + array(integer(5), part_of(3, 2, "m8"), part_of(0, 20000, "m8"),
                            part_of(0, 1, "m8", 0), part_of(0, 1, "?"), part_of(0, 16383, "m1")));
    EXPECT_EQ(serving(0), "m1:7000");
    EXPECT_EQ(servers.count(), 2u);
}

TEST_F(topology_cluster, a_node_without_an_address_is_where_it_was_asked) {
    submit(a, 7);
    meet_node();
    tell(integer(0) + array(part_of(0, 16383, "", 7001)));
    EXPECT_EQ(serving(0), "n1:7001");
}

TEST_F(topology_cluster, messages_are_sharded_where_the_server_can) {
    submit(a, 7);
    meet_node();
    tell(array() + thirds("m1", "m2", "m3"));
    EXPECT_TRUE(servers.sharded());
}

TEST_F(topology_cluster, messages_are_plain_where_the_server_says_no) {
    submit(a, 7);
    meet_node();
    tell(error("ERR Unknown subcommand") + thirds("m1", "m2", "m3"));
    EXPECT_FALSE(servers.sharded());
}

conch::config mapped_settings() {
    conch::config c = cluster_settings(1);
    c.cluster->map_address = [](const conch::server_address& told) {
        return conch::server_address{"outside-" + told.host,
                                     static_cast<std::uint16_t>(told.port + 1)};
    };
    return c;
}

struct topology_mapped_cluster : topology_cluster {
    topology_mapped_cluster() : topology_cluster{mapped_settings()} {}
};

TEST_F(topology_mapped_cluster, addresses_are_those_of_the_mapper) {
    submit(a, 7);
    learn_three();
    EXPECT_EQ(serving(7), "outside-m1:7001");
    meet(main_link);
    sent(main_link);
    reply(main_link, error("MOVED 7 m2:7000"));
    EXPECT_EQ(serving(7), "outside-m2:7001");
}

conch::config impatient_settings() {
    conch::config c = cluster_settings(2);
    c.retry_attempts = 2;
    return c;
}

struct topology_impatient_cluster : topology_cluster {
    topology_impatient_cluster() : topology_cluster{impatient_settings()} {}
};

TEST_F(topology_impatient_cluster, a_whole_round_of_the_nodes_is_one_attempt) {
    submit(a, 7);
    const auto fail_all = [&] {
        servers.connection(asked).broken("refused");
        EXPECT_EQ(news, lines{}) << "there is another";
        servers.connection(asked).broken("refused");
    };
    const lines told{"lost: " + make_error_code(errc::not_connected).message()};
    fail_all();
    EXPECT_EQ(news, lines{});
    advance(200ms);
    fail_all();
    EXPECT_EQ(news, told);
    news.clear();
    advance(200ms);
    fail_all();
    EXPECT_EQ(news, told) << "each further one, too";
    news.clear();
    advance(1s);
    learn_three();
    servers.connection(asked).broken("refused");
    advance(100ms);
    EXPECT_EQ(news, lines{"regrouped"}) << "the masters are known";
}

// Its failures are not those of who takes its place.
TEST_F(topology_impatient_cluster, a_server_counts_for_itself) {
    submit(a, 7);
    learn_three();
    servers.connection(main_link).broken("refused");
    news.clear();
    EXPECT_EQ(sent(asked), next_question);
    tell(thirds("m4", "m2", "m3"));
    EXPECT_EQ(target(main_link), "m4:7000");
    servers.connection(main_link).broken("refused");
    EXPECT_EQ(news, lines{}) << "the first of two attempts";
}

}  // namespace
