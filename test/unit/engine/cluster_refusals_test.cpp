// SPDX-License-Identifier: BSL-1.0
// A master of a cluster that refuses for long, for a reason that will pass: it is asked again after
// pauses, and whoever waits for it is told in time.
#include "unit/engine/cluster_engine.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::duration;
using conch::errc;

struct engine_cluster_refusals : plain_cluster_engine, testing::WithParamInterface<std::string> {
    /// For so long `m1` refuses whatever it is sent: how many times.
    std::size_t refuse_for(duration d) {
        std::size_t times = 0;
        for (const conch::time_point end = now() + d; now() < end; advance(1ms)) {
            tell_the_same();
            for (std::size_t n = sent("m1").size(); n > 0; --n) {
                ++times;
                reply("m1", error(GetParam()));
            }
        }
        return times;
    }
    void connect_to_m1() {
        learn();
        connect("m1");
    }
    /// `m1` is sent something before so long is over.
    void wait_for_next(duration d) {
        const conch::time_point end = now() + d;
        while (sent("m1").empty() && now() <= end) {
            advance(1ms);
        }
        EXPECT_LE(now(), end);
    }
    /// How long it may take until what may be at the server has gone by itself.
    static duration until_gone(duration lease) { return 3 * lease; }
};

TEST_P(engine_cluster_refusals, end_an_acquire_that_waits_when_its_patience_does) {
    const operation& op = lock("a");
    connect_to_m1();
    const std::size_t times = refuse_for(settings.operation_timeout - 10ms);
    EXPECT_FALSE(op.done());
    EXPECT_GE(times, 5u) << "it is asked again";
    EXPECT_LE(times, 20u) << "after pauses that grow";
    refuse_for(10ms);
    EXPECT_TRUE(op.ended(errc::server_unavailable));
    EXPECT_TRUE(nothing_is_left());
    EXPECT_EQ(refuse_for(10s), 0u) << "nothing ran there";
}

TEST_P(engine_cluster_refusals, end_one_that_waited_for_others_before_just_so) {
    const operation& op = lock("a");
    connect_to_m1();
    reply("m1", busy(60'000));
    reply("m1", subscribed("a") + busy(60'000));
    sent("m1");
    turn([&] { reply("m1", released("a")); });
    refuse_for(settings.operation_timeout - 10ms);
    EXPECT_FALSE(op.done());
    refuse_for(10ms);
    EXPECT_TRUE(op.ended(errc::server_unavailable));
}

TEST_P(engine_cluster_refusals, end_a_try_just_so) {
    const operation& op = try_lock("a");
    connect_to_m1();
    const std::size_t times = refuse_for(settings.operation_timeout - 10ms);
    EXPECT_FALSE(op.done()) << "one answer is awaited";
    EXPECT_GE(times, 5u);
    EXPECT_LE(times, 20u);
    refuse_for(10ms);
    EXPECT_TRUE(op.ended(errc::server_unavailable));
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(engine_cluster_refusals, that_end_in_time_are_not_noticed) {
    const operation& op = lock("a");
    connect_to_m1();
    refuse_for(3s);
    wait_for_next(settings.reconnect_delay_max);
    reply("m1", granted());
    EXPECT_TRUE(op.granted());
}

TEST_P(engine_cluster_refusals, of_renewals_end_a_hold_at_its_deadline_and_not_before) {
    const operation& op = hold("a", {.lease = 3s});
    const operation& loss = wait_lost(op);
    const conch::time_point deadline = valid_until(op.view);
    const std::size_t times = refuse_for(deadline - now());
    EXPECT_GE(times, 15u) << "the lease runs: no pause is a long one";
    EXPECT_LE(times, 60u);
    EXPECT_TRUE(loss.ended(errc::lease_expired));
    EXPECT_EQ(loss.at, deadline);
    EXPECT_EQ(valid_until(op.view), deadline);
    refuse_for(until_gone(3s));
    EXPECT_TRUE(nothing_is_left()) << "the key is gone by itself";
}

TEST_P(engine_cluster_refusals, of_renewals_that_end_in_time_are_not_noticed) {
    const operation& op = hold("a", {.lease = 3s});
    const conch::time_point deadline = valid_until(op.view);
    refuse_for(2500ms);
    wait_for_next(100ms);
    reply("m1", array(integer(1)));
    EXPECT_GT(valid_until(op.view), deadline);
    EXPECT_EQ(lost(op.view), errc{});
}

TEST_P(engine_cluster_refusals, end_an_unlock_at_the_deadline_of_its_hold) {
    const operation& op = hold("a", {.lease = 3s});
    const conch::time_point deadline = valid_until(op.view);
    refuse_for(500ms);
    const operation& end = unlock(op);
    const std::size_t times = refuse_for(deadline - now() - 1ms);
    EXPECT_FALSE(end.done());
    EXPECT_GE(times, 15u);
    EXPECT_LE(times, 60u);
    refuse_for(1ms);
    EXPECT_TRUE(end.ended(errc::lease_expired));
    EXPECT_EQ(end.at, deadline);
    EXPECT_GE(refuse_for(1s), 5u) << "the key may be there still";
    refuse_for(until_gone(3s));
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(engine_cluster_refusals, of_an_unlock_that_end_in_time_are_not_noticed) {
    const operation& op = hold("a", {.lease = 3s});
    const operation& end = unlock(op);
    refuse_for(2s);
    wait_for_next(100ms);
    reply("m1", integer(0));
    EXPECT_TRUE(end.ended({}));
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(engine_cluster_refusals, end_each_of_those_that_wait_when_its_own_patience_does) {
    const operation& first = lock("a");
    connect_to_m1();
    refuse_for(2s);
    const operation& second = lock("a");
    refuse_for(settings.operation_timeout - 2s);
    EXPECT_TRUE(first.ended(errc::server_unavailable));
    const std::size_t times = refuse_for(1990ms);
    EXPECT_FALSE(second.done());
    EXPECT_GE(times, 1u);
    EXPECT_LE(times, 10u);
    refuse_for(10ms);
    EXPECT_TRUE(second.ended(errc::server_unavailable));
    EXPECT_TRUE(nothing_is_left());
}

TEST_P(engine_cluster_refusals, of_a_renewal_are_the_last_of_it_if_its_hold_is_released_meanwhile) {
    const operation& op = hold("a", {.lease = 3s});
    EXPECT_GE(refuse_for(1500ms), 1u);
    const operation& end = unlock(op);
    EXPECT_EQ(sent("m1"), lines{release_of("a", 1)});
    reply("m1", integer(0));
    EXPECT_TRUE(end.ended({}));
    EXPECT_TRUE(nothing_is_left());
    EXPECT_EQ(refuse_for(3s), 0u);
}

INSTANTIATE_TEST_SUITE_P(of_a_master, engine_cluster_refusals,
                         testing::Values(
                             std::string{"CLUSTERDOWN Hash slot not served"},
                             std::string{"LOADING Redis is loading the dataset in memory"},
                             std::string{"TRYAGAIN Multiple keys request during rehashing"}),
                         [](const testing::TestParamInfo<std::string>& words) {
                             return words.param.substr(0, words.param.find(' '));
                         });

}  // namespace
