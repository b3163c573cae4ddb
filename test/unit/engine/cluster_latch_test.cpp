// SPDX-License-Identifier: BSL-1.0
// Which messages of a latch in a cluster let its waiters go: those of a shard come in order, those
// of the bus may be old.
#include "unit/engine/cluster_engine.hpp"

#include <gtest/gtest.h>

namespace {

using namespace conch::test;

/// Somebody waits for a latch at 2.
struct engine_cluster_latch : plain_cluster_engine {
    explicit engine_cluster_latch(conch::sharded_messages messages)
        : plain_cluster_engine{messages} {
        const conch::impl::count_spec_ptr l =
            new conch::impl::count_spec{conch::impl::count_spec::kind::latch, "l", true};
        turn([&] { engine.acquire_permits(l, 1, conch::forever, false, {&op, &op.running}); });
        learn();
        connect("m1");
        reply("m1", bulk("2"));
    }
    ~engine_cluster_latch() override {
        if (!op.done()) {
            cancel(op);
        }
    }

    const std::string channel = "redisson_countdownlatch__channel__{l}";
    operation op{};
};
struct engine_cluster_bus_latch : engine_cluster_latch {
    engine_cluster_bus_latch() : engine_cluster_latch{conch::sharded_messages::off} {}
};
struct engine_cluster_shard_latch : engine_cluster_latch {
    engine_cluster_shard_latch() : engine_cluster_latch{conch::sharded_messages::on} {}
};

TEST_F(engine_cluster_bus_latch, a_message_makes_it_ask) {
    reply("m1", push("subscribe", channel, integer(1)) + bulk("2"));
    sent("m1");
    reply("m1", push("message", channel, bulk("0")));
    EXPECT_FALSE(op.done());
    EXPECT_EQ(sent("m1"), lines{"GET l"});
}

TEST_F(engine_cluster_shard_latch, a_message_lets_it_go) {
    reply("m1", push("ssubscribe", channel, integer(1)) + bulk("2"));
    sent("m1");
    reply("m1", push("smessage", channel, bulk("0")));
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(sent("m1"), lines{"SUNSUBSCRIBE " + channel});
}

}  // namespace
