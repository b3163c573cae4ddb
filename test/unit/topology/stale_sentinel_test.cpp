// SPDX-License-Identifier: BSL-1.0
// Sentinels that disagree: some were cut off together with an old master.
#include "unit/topology/sentinel_harness.hpp"

namespace {

using namespace conch::test;
using namespace std::chrono_literals;

struct topology_stale_sentinel : topology_sentinel {
    topology_stale_sentinel() : topology_sentinel{settings_with(3)} {}

    /// At the first look the first sentinel names this master.
    void begin(std::string_view master, int epoch) {
        submit(a);
        find_master(master, epoch);
        meet_master();
    }
    /// The next look is at this sentinel, which names a master.
    void look(std::string_view sentinel, std::string_view master, int epoch) {
        turn_to(sentinel);
        find_master(master, epoch);
    }
    /// At each look all but the second sentinel are dead.
    void look_at_the_only_one_alive(std::string_view master, int epoch) {
        advance(1s);
        for (int dead = 0; dead < 2 && target(asked) != "s2:26379"; ++dead) {
            servers.connection(asked).broken("refused");
        }
        find_master(master, epoch);
    }
    void hear_again_and_again(std::string_view master, int epoch) {
        for (int i = 0; i < 10; ++i) {
            reply(asked, message("+switch-master", "other m1 6379 m2 6379"));
            EXPECT_EQ(sent(asked), asked_again);
            reply(asked, names(master, epoch));
        }
    }
    /// Answers what the sentinel is asked, which names a server like itself.
    bool asks_anew() {
        if (servers.connection(asked).wanted() != connection_to_sentinel) {
            connection_to_sentinel = servers.connection(asked).wanted();
            find_master("m" + target(asked).substr(1, 1));
            return true;
        }
        if (sent(asked) == asked_again) {
            reply(asked, names("m" + target(asked).substr(1, 1)));
            return true;
        }
        return false;
    }
    /// All sentinels name replicas, each another one: how many connections to one were made.
    int meet_replicas_for(conch::duration d) {
        submit(a);
        int replicas = 0;
        for (const conch::time_point end = now + d; now < end; advance(1ms)) {
            for (bool any = true; any && replicas < 1000;) {
                any = wanted(asked) && asks_anew();
                if (wanted(main_link) && connects_anew()) {
                    any = true;
                    ++replicas;
                    meet_master("slave");
                }
            }
        }
        return replicas;
    }
    void hear(std::string_view master, int epoch) {
        reply(asked, message("+switch-master", "m m1 6379 m2 6379"));
        sent(asked);
        reply(asked, names(master, epoch));
    }
    bool wait_for_master() {
        for (const conch::time_point end = now + 1s; now < end && !wanted(main_link);) {
            advance(1ms);
        }
        return wanted(main_link);
    }
    bool connects_anew() {
        const std::uint64_t wanted = servers.connection(main_link).wanted();
        return std::exchange(connection_to_master, wanted) != wanted;
    }
    void turn_to(std::string_view sentinel) {
        advance(1s);
        EXPECT_EQ(target(asked), std::string{sentinel} + ":26379");
    }

    std::uint64_t connection_to_sentinel = 0;
    std::uint64_t connection_to_master = 0;
};

TEST_F(topology_stale_sentinel, is_left_with_its_master_as_soon_as_another_knows_more) {
    begin("m1", 1);
    look("s2", "m2", 2);
    EXPECT_EQ(target(main_link), "m2:6379");
    ASSERT_TRUE(wanted(main_link));
    meet_master("master", "2222");
    EXPECT_EQ(sent(main_link), lines{"a"});
}

TEST_F(topology_stale_sentinel, is_not_believed_by_who_knows_more) {
    begin("m2", 2);
    const auto connection = servers.connection(main_link).wanted();
    for (int round = 0; round < 5; ++round) {
        look("s2", "m1", 1);
        EXPECT_EQ(target(asked), "s2:26379");
        look("s3", "m2", 2);
        look("s1", "m2", 2);
    }
    EXPECT_EQ(servers.connection(main_link).wanted(), connection);
}

TEST_F(topology_stale_sentinel, is_not_believed_though_the_new_master_is_away) {
    begin("m2", 2);
    look("s2", "m1", 1);
    servers.connection(main_link).broken("reset");
    EXPECT_EQ(sent(asked), asked_again);
    reply(asked, names("m1", 1));
    EXPECT_EQ(target(main_link), "m2:6379");
    look("s3", "m3", 3);
    EXPECT_EQ(target(main_link), "m3:6379");
}

TEST_F(topology_stale_sentinel, counts_once_however_often_it_is_asked) {
    begin("m2", 2);
    look("s2", "m1", 1);
    hear_again_and_again("m1", 1);
    EXPECT_EQ(target(main_link), "m2:6379");
}

TEST_F(topology_stale_sentinel, is_none_where_a_whole_round_of_them_agrees) {
    begin("m1", 5);
    look("s2", "m2", 0);
    look("s3", "m2", 0);
    EXPECT_EQ(target(main_link), "m1:6379");
    look("s1", "m2", 0);
    EXPECT_EQ(target(main_link), "m2:6379") << "they were told to monitor another";
    look("s2", "m3", 1);
    EXPECT_EQ(target(main_link), "m3:6379");
}

TEST_F(topology_stale_sentinel, is_none_soon_where_no_master_is_reached) {
    settings.sentinel->scan_interval = 1h;
    begin("m1", 5);
    servers.connection(main_link).broken("reset");
    EXPECT_EQ(sent(asked), asked_again);
    reply(asked, names("m2", 0));
    look("s2", "m2", 0);
    EXPECT_EQ(target(main_link), "m1:6379");
    look("s3", "m2", 0);
    EXPECT_EQ(target(main_link), "m2:6379");
}

TEST_F(topology_stale_sentinel, makes_way_in_time_however_often_it_is_asked) {
    begin("m1", 5);
    servers.connection(main_link).broken("reset");
    EXPECT_EQ(sent(asked), asked_again);
    reply(asked, names("m2", 0));
    for (int i = 0; i < 9; ++i) {
        advance(100ms);
        reply(asked, message("+switch-master", "other m1 6379 m2 6379"));
        if (target(asked) == "s1:26379" && sent(asked) == asked_again) {
            reply(asked, names("m2", 0));
        }
    }
    advance(100ms);
    EXPECT_EQ(target(asked), "s2:26379");
}

TEST_F(topology_stale_sentinel, that_is_dead_is_left_out_of_the_round) {
    begin("m1", 5);
    look("s2", "m2", 0);
    turn_to("s3");
    servers.connection(asked).broken("refused");
    find_master("m2", 0);
    look("s2", "m2", 0);
    EXPECT_EQ(target(main_link), "m2:6379");
}

TEST_F(topology_stale_sentinel, alone_does_not_outvote_a_master_that_is_reached) {
    begin("m2", 2);
    const auto connection = servers.connection(main_link).wanted();
    for (int round = 0; round < 5; ++round) {
        look_at_the_only_one_alive("m1", 1);
    }
    EXPECT_EQ(servers.connection(main_link).wanted(), connection);
    servers.connection(main_link).broken("reset");
    EXPECT_EQ(sent(asked), asked_again);
    reply(asked, names("m1", 1));
    hear_again_and_again("m1", 1);
    look_at_the_only_one_alive("m1", 1);
    EXPECT_EQ(target(main_link), "m2:6379") << "as before, it may be back at once";
    look_at_the_only_one_alive("m1", 1);
    look_at_the_only_one_alive("m1", 1);
    EXPECT_EQ(target(main_link), "m1:6379") << "nothing else is left";
}

TEST_F(topology_stale_sentinel, may_be_of_the_same_configuration_and_is_not_followed_to_and_fro) {
    begin("m1", 0);
    const auto connection = servers.connection(main_link).wanted();
    for (int round = 0; round < 5; ++round) {
        look("s2", "m2", 0);
        look("s3", "m1", 0);
        look("s1", "m1", 0);
    }
    EXPECT_EQ(servers.connection(main_link).wanted(), connection);
}

TEST_F(topology_stale_sentinel, may_be_of_the_same_and_is_believed_where_nothing_is_reached) {
    submit(a);
    find_master("m1", 0);
    servers.connection(main_link).broken("refused");
    sent(asked);
    reply(asked, names("m1", 0));
    look("s2", "m2", 0);
    EXPECT_EQ(target(main_link), "m2:6379");
}

TEST_F(topology_stale_sentinel, may_name_a_replica_as_others_do_and_all_are_followed_with_pauses) {
    const int replicas = meet_replicas_for(10s);
    EXPECT_GE(replicas, 10);
    EXPECT_LE(replicas, 100);
}

TEST_F(topology_stale_sentinel, that_has_news_after_many_replicas_is_followed_at_once) {
    settings.sentinel->scan_interval = 1h;
    meet_replicas_for(100ms);
    const std::string before = target(main_link);
    hear("m8", 1);
    EXPECT_EQ(target(main_link), before) << "not yet";
    hear("m9", 2);
    EXPECT_EQ(target(main_link), "m9:6379");
    EXPECT_TRUE(wanted(main_link));
}

TEST_F(topology_stale_sentinel, that_was_not_believed_after_many_replicas_is_asked_soon) {
    settings.sentinel->scan_interval = 1h;
    meet_replicas_for(100ms);
    hear("m8", 1);
    EXPECT_NE(target(main_link), "m8:6379");
    for (const conch::time_point end = now + 1s; now < end; advance(1ms)) {
        if (sent(asked) == asked_again) {
            reply(asked, names("m8", 1));
        } else if (servers.connection(asked).wanted() != connection_to_sentinel) {
            connection_to_sentinel = servers.connection(asked).wanted();
            find_master("m8", 1);
        }
    }
    EXPECT_EQ(target(main_link), "m8:6379");
}

TEST_F(topology_stale_sentinel, that_leads_to_a_master_ends_those_pauses) {
    settings.sentinel->scan_interval = 1h;
    meet_replicas_for(1500ms);
    ASSERT_TRUE(wanted(main_link) || wait_for_master());
    meet_master();
    servers.connection(main_link).broken("reset");
    hear("m8", 1);
    EXPECT_EQ(target(main_link), "m8:6379");
}

TEST_F(topology_stale_sentinel, that_hears_of_the_failover_is_followed_at_once) {
    begin("m1", 1);
    reply(asked, message("+switch-master", "m m1 6379 m2 6379"));
    EXPECT_EQ(sent(asked), asked_again);
    reply(asked, names("m2", 2));
    EXPECT_EQ(target(main_link), "m2:6379");
    look("s2", "m1", 1);
    EXPECT_EQ(target(main_link), "m2:6379");
}

TEST_F(topology_stale_sentinel, is_not_asked_with_the_epoch_of_another) {
    begin("m2", 2);
    turn_to("s2");
    EXPECT_EQ(meet_sentinel(), question);
    reply(asked, subscribed_to("+switch-master") + as_of(9));
    servers.connection(asked).broken("reset");
    find_master("m1", 1);
    EXPECT_EQ(target(asked), "s3:26379");
    EXPECT_EQ(target(main_link), "m2:6379");
}

TEST_F(topology_stale_sentinel, that_may_not_say_how_old_it_is_is_believed_and_asked_on) {
    submit(a);
    just_find_master("m1");
    EXPECT_EQ(target(main_link), "m1:6379");
    for (int i = 0; i < 5; ++i) {
        advance(1s);
        EXPECT_EQ(target(asked), "s1:26379");
        EXPECT_EQ(sent(asked), asked_again);
        reply(asked, just_names(i < 4 ? "m1" : "m2"));
    }
    EXPECT_EQ(target(main_link), "m2:6379");
    const auto tells = [](const std::string& line) {
        return line.find("+sentinel|master") != std::string::npos;
    };
    EXPECT_EQ(std::count_if(logged.begin(), logged.end(), tells), 1);
}

TEST_F(topology_stale_sentinel, rounds_are_not_worth_a_line_in_the_log) {
    begin("m1", 1);
    const std::size_t before = logged.size();
    for (int round = 0; round < 5; ++round) {
        look("s2", "m1", 1);
        turn_to("s3");
        servers.connection(asked).broken("refused");
        find_master("m1", 1);
    }
    EXPECT_EQ(logged.size(), before + 1) << "one of them is dead";
}

TEST_F(topology_stale_sentinel, that_has_not_answered_yet_is_given_its_time) {
    begin("m1", 1);
    turn_to("s2");
    const auto connection = servers.connection(asked).wanted();
    advance(400ms);
    EXPECT_EQ(servers.connection(asked).wanted(), connection);
}

}  // namespace
