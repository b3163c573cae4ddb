// SPDX-License-Identifier: BSL-1.0
// Rule 9: a subscription that the server ends unasked, as it does when a part of a cluster leaves
// it. What came before the next one was heard by nobody.
#include "unit/engine/cluster_engine.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;
using conch::sharded_messages;

struct engine_ended_subscription : plain_cluster_engine {
    engine_ended_subscription() : plain_cluster_engine{sharded_messages::on} {}

    /// For "a", behind somebody else's lock at `m1`: the last try was the second.
    operation& wait() {
        operation& op = lock("a");
        learn();
        connect("m1");
        reply("m1", busy(60'000));
        EXPECT_EQ(sent("m1"), (lines{subscribe, acquire_of("a", 2)}));
        reply("m1", subscribed() + busy(60'000));
        EXPECT_EQ(sent("m1"), lines{});
        return op;
    }
    static std::string subscribed() { return push("ssubscribe", channel_of("a"), integer(1)); }
    static std::string message() { return push("smessage", channel_of("a"), bulk("0")); }
    static std::string ended() { return push("sunsubscribe", channel_of("a"), integer(0)); }

    const std::string subscribe = "SSUBSCRIBE " + channel_of("a");
};

// The same servers count their listeners by another command.
TEST_F(engine_ended_subscription, a_status_counts_those_who_listen_in_the_shard) {
    wait();
    conch::lock_status s;
    operation& op = status("a", &s, {.clients = true});
    EXPECT_EQ(sent("m1"), lines{"status a"});
    reply("m1", array(integer(1500), bulk(""), bulk("x:9"), bulk("1")));
    EXPECT_EQ(sent("m1"), lines{"PUBSUB SHARDNUMSUB " + channel_of("a")});
    reply("m1", array(bulk(channel_of("a")), integer(1)));
    EXPECT_EQ(sent("m1"), lines{"CLIENT LIST"});
    reply("m1", bulk(""));
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(s.waiting_clients, 1u);
}

TEST_F(engine_ended_subscription, is_asked_for_anew_and_who_waits_tries_at_once) {
    const operation& op = wait();
    reply("m1", message());
    EXPECT_EQ(sent("m1"), lines{acquire_of("a", 3)});
    reply("m1", busy(60'000));
    const auto before = engine.counters();
    reply("m1", ended());
    EXPECT_EQ(sent("m1"), (lines{subscribe, acquire_of("a", 4)}));
    EXPECT_EQ(engine.counters().wakes_by_subscribe, before.wakes_by_subscribe + 1);
    EXPECT_EQ(engine.counters().wakes_by_message, before.wakes_by_message)
        << "nobody has told of a release";
    reply("m1", subscribed() + granted());
    EXPECT_TRUE(op.granted());
    EXPECT_EQ(sent("m1"), lines{"SUNSUBSCRIBE " + channel_of("a")});
}

TEST_F(engine_ended_subscription, is_tried_for_once) {
    wait();
    reply("m1", ended());
    sent("m1");
    reply("m1", subscribed());
    reply("m1", busy(60'000));
    EXPECT_EQ(sent("m1"), lines{}) << "the try left behind the subscription";
}

TEST_F(engine_ended_subscription, that_is_taken_up_later_is_tried_for_then) {
    wait();
    reply("m1", ended());
    sent("m1");
    reply("m1", sends_on("MOVED", "a", "m2") + busy(60'000));
    EXPECT_EQ(sent("m1"), lines{});
    advance(50ms);
    EXPECT_EQ(sent("m1"), lines{subscribe});
    reply("m1", subscribed());
    EXPECT_EQ(sent("m1"), lines{acquire_of("a", 4)});
}

// What the try was answered, others may have changed before the subscription was on again.
TEST_F(engine_ended_subscription, while_a_try_is_on_its_way_is_tried_for_when_it_is_on_again) {
    wait();
    reply("m1", message());
    EXPECT_EQ(sent("m1"), lines{acquire_of("a", 3)});
    reply("m1", ended());
    EXPECT_EQ(sent("m1"), lines{subscribe}) << "one try at a time";
    reply("m1", busy(60'000));
    EXPECT_EQ(sent("m1"), lines{});
    reply("m1", subscribed());
    EXPECT_EQ(sent("m1"), lines{acquire_of("a", 4)});
}

TEST_F(engine_ended_subscription, or_one_at_another_master_is_tried_for_at_once) {
    wait();
    connect_to_m2();
    lock("{a}");
    EXPECT_EQ(sent("m1"), lines{acquire_of("{a}", 4)});
    reply("m1", sends_on("MOVED", "a", "m2"));
    EXPECT_EQ(sent("m2"), (lines{acquire_of("{a}", 4), subscribe, acquire_of("a", 5)}));
    reply("m2", granted());
    EXPECT_EQ(sent("m2"), lines{});
    reply("m2", subscribed());
    reply("m2", busy(60'000));
    EXPECT_EQ(sent("m2"), lines{}) << "the try left behind the subscription";
}

TEST_F(engine_ended_subscription, is_a_reason_to_look_at_a_hold_that_others_here_wait_behind) {
    const operation& op = hold("a");
    const operation& next = lock("a");
    advance(10ms);
    EXPECT_EQ(sent("m1"), lines{subscribe});
    reply("m1", subscribed());
    EXPECT_EQ(sent("m1"), lines{renew_of("a", 1)});
    reply("m1", array(integer(1)));
    EXPECT_EQ(sent("m1"), lines{});

    reply("m1", ended());
    EXPECT_EQ(sent("m1"), (lines{renew_of("a", 1), subscribe}));
    reply("m1", array(integer(0)));
    EXPECT_EQ(lost(op.view), errc::lock_lost);
    EXPECT_EQ(sent("m1"), lines{acquire_of("a", 2)});
    EXPECT_FALSE(next.done());
}

}  // namespace
