// SPDX-License-Identifier: BSL-1.0
#include "unit/topology/sentinel_harness.hpp"

// Where the master is, as sentinels tell it.
namespace {

using namespace conch::test;

TEST_F(topology_sentinel, the_first_call_asks_and_nothing_is_wanted_before) {
    EXPECT_FALSE(wanted(asked));
    EXPECT_EQ(timers.next(), conch::core::never);
    submit(a);
    EXPECT_FALSE(wanted(main_link));
    EXPECT_TRUE(wanted(asked));
    EXPECT_EQ(target(asked), "s1:26379");
}

TEST_F(topology_sentinel, the_answer_is_where_the_master_is_met) {
    submit(a);
    find_master("m1");
    EXPECT_EQ(target(main_link), "m1:6379");
    ASSERT_TRUE(wanted(main_link));
    const lines greeting_sent = meet_master();
    ASSERT_GE(greeting_sent.size(), 4u);
    EXPECT_EQ(greeting_sent[0], "HELLO 3 AUTH u p SETNAME conch") << "not as the sentinels' user";
    EXPECT_EQ(greeting_sent[1], "SELECT 2");
    EXPECT_EQ(greeting_sent[2], "INFO replication");
    EXPECT_EQ(news, lines{"ready"});
    EXPECT_EQ(sent(main_link), lines{"a"});
}

TEST_F(topology_sentinel, a_replica_is_left_and_the_sentinel_asked_again) {
    submit(a);
    find_master("m1");
    meet_master("slave");
    EXPECT_FALSE(wanted(main_link));
    EXPECT_EQ(servers.last_words(), "the server is no master but a slave");
    EXPECT_EQ(sent(asked), asked_again);
    reply(asked, names("m2", 2));
    EXPECT_TRUE(wanted(main_link)) << "at once";
    EXPECT_EQ(target(main_link), "m2:6379");
    meet_master();
    EXPECT_EQ(sent(main_link), lines{"a"});
}

TEST_F(topology_sentinel, who_may_not_ask_for_the_role_goes_on) {
    submit(a);
    find_master("m1");
    servers.connection(main_link).connected();
    sent(main_link);
    std::string answers = hello(7) + ok() + error("NOPERM no INFO") + info("1111");
    for (std::size_t i = 0; i < conch::wire::preloaded_scripts; ++i) {
        answers += bulk("sha");
    }
    reply(main_link, answers);
    EXPECT_EQ(sent(main_link), lines{"a"});
}

TEST_F(topology_sentinel, an_announcement_between_its_two_answers_is_asked_about_once_more) {
    submit(a);
    find_master("m1", 1);
    meet_master();
    reply(asked, message("+switch-master", "other m1 6379 m2 6379"));
    EXPECT_EQ(sent(asked), asked_again);
    reply(asked, as_of(1) + message("+switch-master", "m m1 6379 m2 6379") + at("m2"));
    EXPECT_EQ(target(main_link), "m1:6379") << "as of the old configuration";
    EXPECT_EQ(sent(asked), asked_again);
    reply(asked, names("m2", 2));
    EXPECT_EQ(target(main_link), "m2:6379");
    EXPECT_EQ(sent(asked), lines{});
}

TEST_F(topology_sentinel, an_announcement_is_followed_at_once) {
    submit(a);
    find_master("m1");
    meet_master();
    EXPECT_EQ(sent(main_link), lines{"a"});
    reply(asked, message("+switch-master", "m m1 6379 m2 6379"));
    EXPECT_EQ(sent(asked), asked_again);
    reply(asked, names("m2", 2));
    EXPECT_EQ(target(main_link), "m2:6379");
    ASSERT_TRUE(wanted(main_link));
    meet_master("master", "2222");
    EXPECT_EQ(sent(main_link), lines{"a"}) << "replayed at the new master";
    EXPECT_EQ(news, (lines{"ready", "broken", "ready"}));
}

TEST_F(topology_sentinel, the_same_answer_changes_nothing) {
    submit(a);
    find_master("m1");
    meet_master();
    const auto connection = servers.connection(main_link).wanted();
    reply(asked, message("+switch-master", "other m1 6379 m2 6379"));
    sent(asked);
    reply(asked, names("m1"));
    EXPECT_EQ(servers.connection(main_link).wanted(), connection);
}

TEST_F(topology_sentinel, it_asks_the_next_one_from_time_to_time) {
    submit(a);
    find_master("m1");
    meet_master();
    advance(400ms);
    EXPECT_EQ(target(asked), "s1:26379") << "about a scan_interval, with jitter";
    EXPECT_EQ(sent(asked), lines{});
    advance(600ms);
    EXPECT_EQ(target(asked), "s2:26379");
    find_master("m2", 2);
    EXPECT_EQ(target(main_link), "m2:6379");
}

TEST_F(topology_sentinel, one_that_has_not_said_all_is_not_left_for_the_next) {
    submit(a);
    EXPECT_EQ(meet_sentinel(), question);
    reply(asked, subscribed_to("+switch-master") + as_of(1));
    advance(990ms);
    EXPECT_EQ(target(asked), "s1:26379") << "what it says next would be missed";
    EXPECT_TRUE(servers.connection(asked).ready());
    reply(asked, at("m1"));
    EXPECT_EQ(target(main_link), "m1:6379");
}

TEST_F(topology_sentinel, a_lost_master_is_asked_for_at_once) {
    submit(a);
    find_master("m1");
    meet_master();
    servers.connection(main_link).broken("reset");
    EXPECT_EQ(sent(asked), asked_again);
    reply(asked, names("m1"));
    EXPECT_FALSE(wanted(main_link)) << "the same: after its pause";
    advance(100ms);
    EXPECT_TRUE(wanted(main_link));
}

}  // namespace
