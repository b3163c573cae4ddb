// SPDX-License-Identifier: BSL-1.0
// The connection of locks that wait for replicas, where sentinels name the master.
#include "unit/topology/sentinel_harness.hpp"

namespace {

using namespace conch::test;

using topology_durable = topology_sentinel;

TEST_F(topology_durable, asks_by_itself_and_the_main_one_is_not_made) {
    submit_durable(a);
    EXPECT_FALSE(wanted(durable_link));
    find_master("m1");
    EXPECT_EQ(target(durable_link), "m1:6379");
    EXPECT_TRUE(wanted(durable_link));
    EXPECT_FALSE(wanted(main_link));
    const lines greeting_sent = meet_master("master", "1111", durable_link);
    EXPECT_EQ(greeting_sent.at(0), "HELLO 3 AUTH u p SETNAME conch");
    EXPECT_EQ(sent(durable_link), lines{"a"});
    EXPECT_EQ(durable_news, lines{"ready"});
    EXPECT_EQ(news, lines{});
}

TEST_F(topology_durable, moves_with_the_master) {
    note b{plain_note, "b"};
    submit(a);
    find_master("m1");
    meet_master();
    submit_durable(b);
    EXPECT_EQ(target(durable_link), "m1:6379") << "as it is known by now";
    meet_master("master", "1111", durable_link);
    EXPECT_EQ(sent(durable_link), lines{"b"});
    reply(asked, message("+switch-master", "m m1 6379 m2 6379"));
    sent(asked);
    reply(asked, names("m2", 2));
    EXPECT_EQ(target(main_link), "m2:6379");
    EXPECT_EQ(target(durable_link), "m2:6379");
    meet_master("master", "2222", durable_link);
    EXPECT_EQ(sent(durable_link), lines{"b"}) << "replayed at the new master";
    EXPECT_EQ(durable_news, (lines{"ready", "broken", "ready"}));
    EXPECT_EQ(durable().moves(), 1u);
}

TEST_F(topology_durable, is_not_made_for_a_move) {
    submit(a);
    find_master("m1");
    meet_master();
    reply(asked, message("+switch-master", "m m1 6379 m2 6379"));
    sent(asked);
    reply(asked, names("m2", 2));
    EXPECT_FALSE(wanted(durable_link));
}

TEST_F(topology_durable, pauses_where_the_master_that_is_named_refuses_it) {
    submit_durable(a);
    find_master("m1");
    servers.connection(durable_link).broken("refused");
    EXPECT_EQ(sent(asked), asked_again);
    reply(asked, names("m1"));
    EXPECT_FALSE(wanted(durable_link)) << "the same: after its pause";
    advance(100ms);
    EXPECT_TRUE(wanted(durable_link));
}

TEST_F(topology_durable, hears_that_no_sentinel_knows_the_master) {
    submit_durable(a);
    for (int i = 0; i < 2; ++i) {
        meet_sentinel();
        reply(asked, subscribed_to("+switch-master") + knows_none());
    }
    ASSERT_FALSE(durable_news.empty());
    EXPECT_EQ(durable_news.back(),
              "lost: " + make_error_code(conch::errc::unknown_master).message());
    EXPECT_EQ(servers.last_words(), "sentinel s1:26379: it knows no master named m");
}

TEST_F(topology_durable, the_last_words_are_those_of_either) {
    submit(a);
    find_master("m1");
    servers.main().remember_words("of main");
    EXPECT_EQ(servers.last_words(), "of main");
    advance(1ms);
    durable().remember_words("of durable");
    EXPECT_EQ(servers.last_words(), "of durable");
    advance(1ms);
    servers.main().remember_words("of main again");
    EXPECT_EQ(servers.last_words(), "of main again");
}

}  // namespace
