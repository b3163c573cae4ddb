// SPDX-License-Identifier: BSL-1.0
// Holds whose master is gone, and another has taken its place: it may not have got the last that
// was done for them.
#include "unit/engine/cluster_engine.hpp"

#include <gtest/gtest.h>

#include <charconv>
#include <string>
#include <string_view>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::duration;
using conch::errc;
using conch::lock_options;

struct engine_failover : plain_cluster_engine {
    void fail_over() {
        break_connection("m1");
        learn_again("r1", "m2");
        connect("r1", "2222");
    }
    /// The lease that it was asked for in the one script that it was sent; -1: something else.
    std::chrono::milliseconds asked_for(std::string_view server = "r1") {
        const lines all = sent(server);
        const std::string_view what = "renew a c:1 ";
        std::int64_t ms = -1;
        EXPECT_EQ(all.size(), 1u);
        if (all.size() == 1 && all[0].starts_with(what)) {
            std::from_chars(all[0].data() + what.size(), all[0].data() + all[0].size(), ms);
        }
        return std::chrono::milliseconds{ms};
    }
    /// No less than what is left, nor much more.
    void expect_promised(const operation& op, std::string_view server = "r1") {
        const duration left = valid_until(op.view) - now();
        const duration lease = asked_for(server);
        EXPECT_GE(lease, left);
        EXPECT_LE(lease, left + left / 20);
        reply(server, array(integer(1)));
    }

    static constexpr lock_options fixed{.lease = 60s, .renew = false};
};

TEST_F(engine_failover, a_hold_that_the_successor_lacks_is_lost_by_that) {
    const operation& op = hold("a");
    const operation& loss = wait_lost(op);
    fail_over();
    EXPECT_EQ(sent("r1"), lines{renew_of("a", 1)});
    EXPECT_FALSE(loss.done());
    reply("r1", array(integer(0)));
    EXPECT_TRUE(loss.ended(errc::lost_in_failover));
    EXPECT_EQ(lost(op.view), errc::lost_in_failover);
    EXPECT_EQ(engine.counters().lost_taken, 1u);
    EXPECT_EQ(sent("r1"), lines{}) << "there is nothing to release";
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(engine_failover, one_that_is_not_renewed_is_looked_for_too) {
    const operation& op = hold("a", fixed);
    fail_over();
    EXPECT_GT(asked_for(), 0ms);
    reply("r1", array(integer(0)));
    EXPECT_EQ(lost(op.view), errc::lost_in_failover);
}

TEST_F(engine_failover, one_that_it_has_lives_there_as_long_as_its_holder_was_promised) {
    const operation& op = hold("a", fixed);
    advance(7s);
    const conch::time_point promised = valid_until(op.view);
    fail_over();
    expect_promised(op);
    EXPECT_GE(valid_until(op.view), promised);
    advance(20s);
    EXPECT_EQ(asked_for(), 0ms) << "it has it: a look will do";
    reply("r1", array(integer(1)));
    EXPECT_EQ(lost(op.view), errc{});
}

TEST_F(engine_failover, that_is_as_long_as_it_was_extended_to) {
    const operation& op = hold("a", {.lease = 10s, .renew = false});
    const operation& longer = extend(op, 60s);
    EXPECT_EQ(sent("m1"), lines{renew_of("a", 1, 60'000)});
    reply("m1", array(integer(1)));
    EXPECT_TRUE(longer.ended({}));
    advance(1s);
    fail_over();
    expect_promised(op);
}

// It was a replica meanwhile, and a master again, and nobody ended the connection.
TEST_F(engine_failover, what_its_server_fell_behind_with_is_made_up_for) {
    const operation& op = hold("a", {.lease = 9s, .renew = false});
    const operation& longer = extend(op, 60s);
    EXPECT_EQ(asked_for("m1"), 60s);
    reply("m1", array(integer(1)));
    EXPECT_TRUE(longer.ended({}));
    const conch::time_point promised = valid_until(op.view);
    advance(3s);
    EXPECT_EQ(asked_for("m1"), 0ms);
    reply("m1", array(integer(6'000)));
    expect_promised(op, "m1");
    EXPECT_GE(valid_until(op.view), promised);
    advance(3s);
    EXPECT_EQ(asked_for("m1"), 0ms);
    reply("m1", array(integer(54'000)));
    EXPECT_EQ(sent("m1"), lines{}) << "nothing is missing";
}

TEST_F(engine_failover, what_was_restored_in_vain_is_restored_again) {
    const operation& op = hold("a", fixed);
    fail_over();
    EXPECT_GT(asked_for(), 0ms);
    break_connection("r1");
    connect("r1", "2222");
    EXPECT_EQ(sent("r1").size(), 2u) << "and the old connection is ended";
    reply("r1", integer(1) + array(integer(0)));
    EXPECT_EQ(lost(op.view), errc::lost_in_failover) << "it was never seen there";
}

TEST_F(engine_failover, what_was_seen_there_and_is_missing_later_was_taken) {
    const operation& op = hold("a", fixed);
    fail_over();
    expect_promised(op);
    advance(20s);
    EXPECT_EQ(asked_for(), 0ms);
    reply("r1", array(integer(0)));
    EXPECT_EQ(lost(op.view), errc::lock_lost);
}

TEST_F(engine_failover, what_is_missing_where_it_was_before_was_taken) {
    const operation& op = hold("a", fixed);
    break_connection("m1");
    connect("m1");
    EXPECT_EQ(sent("m1"), (lines{"CLIENT KILL ID 7", "renew a c:1 0"}));
    reply("m1", integer(1));
    reply("m1", array(integer(0)));
    EXPECT_EQ(lost(op.view), errc::lock_lost);
}

TEST_F(engine_failover, the_next_one_is_another) {
    const operation& op = hold("a", fixed);
    fail_over();
    expect_promised(op);
    break_connection("r1");
    learn_again("r2", "m2");
    connect("r2", "4444");
    EXPECT_EQ(sent("r2").size(), 1u);
    reply("r2", array(integer(0)));
    EXPECT_EQ(lost(op.view), errc::lost_in_failover);
}

TEST_F(engine_failover, one_that_was_taken_since_was_not_lost_by_that) {
    const operation& op = hold("a");
    fail_over();
    sent("r1");
    reply("r1", array(integer(1)));
    const operation& next = lock("b");
    reply("r1", granted());
    EXPECT_TRUE(next.granted());
    release(op);
    sent("r1");
    reply("r1", integer(0));
    advance(10s);
    EXPECT_EQ(sent("r1"), lines{renew_of("b", 2)});
    reply("r1", array(integer(0)));
    EXPECT_EQ(lost(next.view), errc::lock_lost);
}

// On the connection of its own.
TEST_F(cluster_engine, a_hold_that_replicas_had_is_lost_by_a_failover_to_one_that_had_not) {
    const operation& op = hold("a");
    break_connection("m1");
    learn_again("r1", "m2");
    connect("r1", "2222");
    EXPECT_EQ(sent("r1"), (lines{renew_of("a", 1), "WAIT 1 100"}));
    reply("r1", array(integer(0)) + integer(1));
    EXPECT_EQ(lost(op.view), errc::lost_in_failover);
    EXPECT_TRUE(nothing_is_left());
}

}  // namespace
