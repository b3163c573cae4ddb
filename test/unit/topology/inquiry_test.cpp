// SPDX-License-Identifier: BSL-1.0
// How long a sentinel, or a node of a cluster, may take to be reached and to answer.
#include "unit/topology/cluster_harness.hpp"
#include "unit/topology/sentinel_harness.hpp"

namespace {

using namespace conch::test;
using conch::duration;
using conch::time_point;

/// Until the end of the pause.
void pass_pause(topology_harness& h) {
    while (!h.wanted(asked)) {
        h.advance(h.timers.next() - h.now);
    }
}
/// Lets the next one that is asked not answer; how long it was waited for.
duration silence(topology_harness& h) {
    pass_pause(h);
    const auto connection = h.servers.connection(asked).wanted();
    const time_point from = h.now;
    while (h.servers.connection(asked).wanted() == connection) {
        h.advance(h.timers.next() - h.now);
    }
    return h.now - from;
}

TEST_F(topology_sentinel, each_round_of_silence_allows_the_next_one_twice_the_time) {
    submit(a);
    for (const auto allowed : {1s, 1s, 2s, 2s, 4s, 4s, 5s, 5s, 5s, 5s}) {
        EXPECT_EQ(silence(*this), allowed) << "up to connect_timeout";
    }
}

TEST_F(topology_sentinel, one_that_is_far_away_is_met_in_the_second_round) {
    submit(a);
    silence(*this);
    silence(*this);
    pass_pause(*this);
    advance(1500ms);
    find_master("m1");
    EXPECT_EQ(target(main_link), "m1:6379");
    servers.connection(asked).broken("reset");
    EXPECT_EQ(silence(*this), 2s) << "the others may be as far away";
}

TEST_F(topology_sentinel, who_is_far_away_has_as_long_for_an_answer) {
    submit(a);
    silence(*this);
    silence(*this);
    pass_pause(*this);
    advance(1500ms);
    EXPECT_EQ(meet_sentinel(), question);
    advance(1500ms);
    reply(asked, subscribed_to("+switch-master") + names("m1"));
    EXPECT_EQ(target(main_link), "m1:6379");
}

TEST_F(topology_sentinel, once_one_is_reached_soon_a_second_is_enough_again) {
    submit(a);
    silence(*this);
    silence(*this);
    pass_pause(*this);
    servers.connection(asked).broken("refused");
    find_master("m1");
    servers.connection(asked).broken("reset");
    EXPECT_EQ(silence(*this), 1s);
}

TEST_F(topology_sentinel, where_one_is_reached_the_silent_one_has_no_longer_than_a_second) {
    submit(a);
    for (int round = 0; round < 5; ++round) {
        EXPECT_EQ(silence(*this), 1s);
        pass_pause(*this);
        meet_sentinel();
        reply(asked, subscribed_to("+switch-master") + knows_none());
    }
}

TEST_F(topology_sentinel, the_pause_before_it_is_not_the_time_that_one_needs) {
    submit(a);
    duration pause{};
    for (int round = 0; pause <= 700ms && round < 50; ++round) {
        silence(*this);
        silence(*this);
        const time_point from = now;
        pass_pause(*this);
        pause = now - from;
    }
    ASSERT_GT(pause, 700ms);
    advance(400ms);
    find_master("m1");
    servers.connection(asked).broken("reset");
    EXPECT_EQ(silence(*this), 1s);
}

TEST_F(topology_cluster, each_round_of_silent_nodes_allows_the_next_one_twice_the_time) {
    submit(a, 7);
    for (const auto allowed : {1s, 1s, 2s, 2s, 4s, 4s, 5s, 5s}) {
        EXPECT_EQ(silence(*this), allowed);
    }
    pass_pause(*this);
    learn_three();
    servers.connection(asked).broken("reset");
    EXPECT_EQ(silence(*this), 1s) << "it was reached soon";
}

}  // namespace
