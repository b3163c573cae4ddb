// SPDX-License-Identifier: BSL-1.0
#include "unit/topology/sentinel_harness.hpp"

// Sentinels that fail, and servers that are no master.
namespace {

using namespace conch::test;

TEST_F(topology_sentinel, a_sentinel_that_fails_makes_way_for_the_next_at_once) {
    submit(a);
    servers.connection(asked).broken("refused");
    EXPECT_EQ(target(asked), "s2:26379");
    ASSERT_TRUE(wanted(asked));
    find_master("m1");
    EXPECT_EQ(target(main_link), "m1:6379");
}

TEST_F(topology_sentinel, a_silent_sentinel_has_a_second) {
    submit(a);
    advance(1s);
    EXPECT_EQ(target(asked), "s2:26379");
    EXPECT_TRUE(wanted(asked));
}

TEST_F(topology_sentinel, one_that_names_a_dead_master_again_makes_way_for_the_next) {
    submit(a);
    just_find_master("m1");
    servers.connection(main_link).broken("refused");
    EXPECT_EQ(sent(asked), asked_again);
    reply(asked, just_names("m1"));
    EXPECT_EQ(target(asked), "s1:26379") << "it may not know yet";
    advance(1s);
    servers.connection(main_link).broken("refused");
    EXPECT_EQ(sent(asked), asked_again);
    reply(asked, just_names("m1"));
    EXPECT_EQ(target(asked), "s2:26379");
    find_master("m2");
    EXPECT_EQ(target(main_link), "m2:6379");
    EXPECT_TRUE(wanted(main_link));
}

TEST_F(topology_sentinel, one_that_names_a_master_that_dies_once_more_is_not_left_at_once) {
    submit(a);
    just_find_master("m1");
    servers.connection(main_link).broken("refused");
    sent(asked);
    reply(asked, just_names("m1"));
    advance(500ms);
    meet_master();
    advance(1s);
    sent(asked);
    reply(asked, just_names("m1"));
    servers.connection(main_link).broken("reset");
    EXPECT_EQ(sent(asked), asked_again);
    reply(asked, just_names("m1"));
    EXPECT_EQ(target(asked), "s1:26379") << "it may not know yet";
}

TEST_F(topology_sentinel, one_that_names_a_replica_again_makes_way_at_once) {
    submit(a);
    just_find_master("m1");
    meet_master("slave");
    EXPECT_EQ(sent(asked), asked_again) << "it may have heard meanwhile";
    reply(asked, just_names("m1"));
    EXPECT_EQ(target(asked), "s2:26379");
    find_master("m2");
    EXPECT_EQ(target(main_link), "m2:6379");
    EXPECT_TRUE(wanted(main_link));
}

TEST_F(topology_sentinel, what_was_a_replica_may_be_a_dead_master) {
    submit(a);
    just_find_master("m1");
    meet_master("slave");
    sent(asked);
    reply(asked, just_names("m1"));
    just_find_master("m1");
    advance(1s);
    ASSERT_TRUE(wanted(main_link));
    servers.connection(main_link).broken("refused");
    sent(asked);
    reply(asked, just_names("m1"));
    EXPECT_EQ(target(asked), "s2:26379") << "a second more";
}

TEST_F(topology_sentinel, a_move_is_no_failed_attempt) {
    settings.retry_attempts = 1;
    submit(a);
    find_master("m1");
    ASSERT_TRUE(wanted(main_link)) << "connecting";
    reply(asked, message("+switch-master", "m m1 6379 m2 6379"));
    sent(asked);
    reply(asked, names("m2", 2));
    EXPECT_EQ(target(main_link), "m2:6379");
    EXPECT_TRUE(wanted(main_link));
    EXPECT_EQ(news, lines{});
}

TEST_F(topology_sentinel, what_one_of_them_refuses_the_others_may_not) {
    submit(a);
    meet_sentinel();
    reply(asked, subscribed_to("+switch-master") + knows_none());
    servers.connection(asked).broken("refused");
    EXPECT_EQ(news, lines{}) << "it may know the name";
}

TEST_F(topology_sentinel, those_that_know_nothing_are_not_asked_without_pause) {
    submit(a);
    const auto from = now;
    for (int i = 0; i < 20; ++i) {
        for (int waited = 0; !wanted(asked) && waited < 100; ++waited) {
            advance(timers.next() - now);
        }
        meet_sentinel();
        reply(asked, subscribed_to("+switch-master") + knows_none());
    }
    EXPECT_GT(now - from, 2s);
}

TEST_F(topology_sentinel, the_words_of_a_sentinel_are_not_those_of_a_master_that_is_there) {
    submit(a);
    find_master("m1");
    meet_master();
    sent(main_link);
    reply(main_link, error("ERR of the master"));
    servers.connection(asked).broken("refused");
    servers.connection(asked).broken("refused");
    EXPECT_EQ(servers.last_words(), "ERR of the master");
}

TEST_F(topology_sentinel, so_has_one_that_falls_silent) {
    submit(a);
    EXPECT_EQ(meet_sentinel(), question);
    advance(1s);
    EXPECT_EQ(target(asked), "s2:26379");
    EXPECT_EQ(meet_sentinel(), question);
}

TEST_F(topology_sentinel, after_all_of_them_it_pauses_and_begins_again) {
    submit(a);
    servers.connection(asked).broken("refused");
    servers.connection(asked).broken("refused too");
    EXPECT_FALSE(wanted(asked));
    EXPECT_EQ(servers.last_words(), "sentinel s2:26379: refused too");
    EXPECT_EQ(news, lines{}) << "it may pass";
    advance(200ms);
    EXPECT_TRUE(wanted(asked));
    EXPECT_EQ(target(asked), "s1:26379");
}

TEST_F(topology_sentinel, a_name_that_none_of_them_knows_fails_those_who_wait) {
    submit(a);
    meet_sentinel();
    reply(asked, subscribed_to("+switch-master") + knows_none());
    EXPECT_EQ(target(asked), "s2:26379");
    EXPECT_EQ(news, lines{});
    meet_sentinel();
    reply(asked, subscribed_to("+switch-master") + knows_none());
    EXPECT_EQ(news, lines{"lost: no sentinel knows a master of this name"});
    EXPECT_EQ(servers.last_words(), "sentinel s1:26379: it knows no master named m");
}

TEST_F(topology_sentinel, a_password_that_they_refuse_fails_those_who_wait) {
    submit(a);
    for (int i = 0; i < 2; ++i) {
        servers.connection(asked).connected();
        sent(asked);
        reply(asked, error("WRONGPASS invalid username-password pair"));
    }
    EXPECT_EQ(news, lines{"lost: the server refused user name or password"});
}

TEST_F(topology_sentinel, nonsense_of_a_sentinel_is_no_address) {
    submit(a);
    meet_sentinel();
    reply(asked, subscribed_to("+switch-master") + as_of(1) + at("m1", "70000"));
    EXPECT_FALSE(wanted(main_link));
    EXPECT_EQ(target(asked), "s2:26379");
}

TEST_F(topology_sentinel, what_a_replica_may_not_write_is_written_at_its_master) {
    note b{plain_note, "b"};
    submit(a);
    find_master("m1");
    meet_master();
    submit(b);
    EXPECT_EQ(sent(main_link), (lines{"a", "b"}));
    reply(main_link, error("READONLY You can't write against a read only replica."));
    EXPECT_EQ(a.ends, lines{});
    EXPECT_FALSE(wanted(main_link));
    EXPECT_EQ(sent(asked), asked_again);
    reply(asked, names("m2", 2));
    meet_master("master", "2222");
    EXPECT_EQ(sent(main_link), (lines{"a", "b"})) << "in their order";
    reply(main_link, integer(1) + integer(2));
    EXPECT_EQ(a.ends, lines{":1"});
    EXPECT_EQ(b.ends, lines{":2"});
}

TEST_F(topology_sentinel, an_abandoned_call_is_not_sent_to_the_new_master) {
    submit(a);
    find_master("m1");
    meet_master();
    sent(main_link);
    a.abandon();
    reply(main_link, error("READONLY You can't write against a read only replica."));
    EXPECT_EQ(a.ends.size(), 1u);
    sent(asked);
    reply(asked, names("m2", 2));
    meet_master("master", "2222");
    EXPECT_EQ(sent(main_link), lines{});
}

TEST_F(topology_sentinel, after_its_end_nothing_is_asked) {
    submit(a);
    find_master("m1");
    servers.close();
    advance(1h);
    EXPECT_FALSE(wanted(asked));
    EXPECT_FALSE(wanted(main_link));
    EXPECT_EQ(a.ends, lines{"lost"});
}

conch::config impatient_sentinel_settings() {
    conch::config c = settings_with(2);
    c.retry_attempts = 2;
    return c;
}

struct topology_impatient_sentinel : topology_sentinel {
    topology_impatient_sentinel() : topology_sentinel{impatient_sentinel_settings()} {}
};

TEST_F(topology_impatient_sentinel, a_whole_round_of_them_is_one_attempt) {
    submit(a);
    const auto fail_all = [&] {
        servers.connection(asked).broken("refused");
        EXPECT_EQ(news, lines{}) << "there is another";
        servers.connection(asked).broken("refused");
    };
    fail_all();
    EXPECT_EQ(news, lines{});
    advance(200ms);
    fail_all();
    EXPECT_EQ(news, lines{"lost: no connection to the Redis server"});
    EXPECT_EQ(durable_news, lines{"lost: no connection to the Redis server"});
    news.clear();
    advance(200ms);
    fail_all();
    EXPECT_EQ(news, lines{"lost: no connection to the Redis server"}) << "each further one, too";
}

TEST_F(topology_impatient_sentinel, a_master_is_not_counted_for_its_successor) {
    submit(a);
    note other{plain_note, "b"};
    submit_durable(other);
    find_master("m1", 1);
    servers.connection(main_link).broken("refused");
    servers.connection(durable_link).broken("refused");
    EXPECT_EQ(sent(asked), asked_again);
    reply(asked, names("m2", 2));
    ASSERT_TRUE(wanted(main_link));
    servers.connection(main_link).broken("refused");
    servers.connection(durable_link).broken("refused");
    EXPECT_EQ(news, lines{}) << "the first attempt there";
    EXPECT_EQ(durable_news, lines{});
    durable().withdraw(other);
}

TEST_F(topology_impatient_sentinel,
       what_they_fail_to_answer_is_no_matter_once_the_master_is_known) {
    submit(a);
    servers.connection(asked).broken("refused");
    servers.connection(asked).broken("refused");
    advance(200ms);
    find_master("m1");
    meet_master();
    for (int i = 0; i < 8; ++i) {
        servers.connection(asked).broken("refused");
        advance(200ms);
    }
    EXPECT_EQ(news, lines{"ready"});
}

}  // namespace
