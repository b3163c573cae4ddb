// SPDX-License-Identifier: BSL-1.0
// Renewals at several masters of a cluster are on their way side by side, and call for connections.
#include "unit/engine/cluster_engine.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

/// "a" is held at `m1`, another lock at `m2`.
struct engine_cluster_renewal : plain_cluster_engine {
    engine_cluster_renewal() {
        connect("m2");
        EXPECT_EQ(sent("m2"), lines{acquire_of(name, 2, 3000)});
        reply("m2", granted());
        EXPECT_TRUE(there.granted());
    }

    const std::string name = name_at_m2();
    const operation& here = hold("a", {.lease = 3s});
    const operation& there = lock(name, {.lease = 3s});
    const std::string renew_here = renew_of("a", 1, 3000);
    const std::string renew_there = renew_of(name, 2, 3000);
};

TEST_F(engine_cluster_renewal, both_leave_before_one_is_answered) {
    advance(1s);
    EXPECT_EQ(sent("m1"), lines{renew_here});
    EXPECT_EQ(sent("m2"), lines{renew_there});
    EXPECT_EQ(engine.counters().renewals, 0u);
    reply("m2", array(integer(1)));
    reply("m1", array(integer(1)));
    EXPECT_EQ(engine.counters().renewals, 2u);
}

TEST_F(engine_cluster_renewal, a_master_that_is_silent_delays_those_of_no_other) {
    advance(1s);
    EXPECT_EQ(sent("m1"), lines{renew_here});
    while (now() < valid_until(here.view)) {
        EXPECT_EQ(lost(here.view), errc{});
        EXPECT_EQ(sent("m2"), lines{renew_there});
        reply("m2", array(integer(1)));
        EXPECT_GE(valid_until(there.view) - now(), 2900ms);
        advance(1s);
    }
    EXPECT_EQ(lost(here.view), errc::lease_expired);
    EXPECT_EQ(lost(there.view), errc{});
}

TEST_F(engine_cluster_renewal, one_that_is_sent_on_delays_those_of_no_other) {
    advance(1s);
    EXPECT_EQ(sent("m1"), lines{renew_here});
    EXPECT_EQ(sent("m2"), lines{renew_there});
    reply("m1", sends_on("MOVED", "a", "m2"));
    EXPECT_EQ(sent("m2"), lines{renew_here}) << "behind the other, which is not answered";
    reply("m2", array(integer(1)) + array(integer(1)));
    EXPECT_EQ(engine.counters().renewals, 2u);
    EXPECT_EQ(lost(here.view), errc{});
    EXPECT_EQ(lost(there.view), errc{});
}

TEST_F(plain_cluster_engine, a_renewal_calls_for_a_connection_to_the_new_master_of_its_part) {
    const operation& op = hold("a");
    learn_again("m2", "m1");
    ASSERT_TRUE(leads_to("m2") && wants("m2"));
    connect("m2");
    EXPECT_EQ(sent("m2"), lines{renew_of("a", 1, 30000)});
    reply("m2", array(integer(1)));
    EXPECT_GE(valid_until(op.view) - now(), 29s);
}

/// A reader of the read-write lock "a", one of whose keys is at `m2` already.
struct engine_divided_reader : plain_cluster_engine {
    engine_divided_reader() {
        connect_to_m2();
        advance(1s);
        EXPECT_EQ(sent("m1"), lines{"shared_renew a " + deadline + " c:1 3000"});
    }

    operation& hold_to_read() {
        kind = &conch::protocol::shared_read_protocol;
        operation& reader = hold("a", {.lease = 3s});
        kind = &conch::protocol::mutex_protocol;
        return reader;
    }

    const std::string deadline = "{a}:c:1:rwlock_timeout:1";
    const operation& op = hold_to_read();
    const std::string renew_deadline = "value_renew " + deadline + " 1 3000";
};

TEST_F(engine_divided_reader, is_renewed_at_each_key_and_counts_from_the_first) {
    reply("m1", error("TRYAGAIN Multiple keys request during rehashing of slot"));
    EXPECT_EQ(sent("m1"), lines{renew_of("a", 1, 3000)});
    const auto asked_at = now();
    advance(200ms);
    reply("m1", array(integer(1)));
    EXPECT_EQ(sent("m1"), lines{renew_deadline});
    reply("m1", sends_on("ASK", "a", "m2"));
    EXPECT_EQ(sent("m2"), (lines{"ASKING", renew_deadline}));
    EXPECT_EQ(engine.counters().renewals, 0u);
    reply("m2", ok() + array(integer(1)));
    EXPECT_EQ(engine.counters().renewals, 1u);
    EXPECT_EQ(valid_until(op.view), conch::core::lease_end(asked_at, 3s));
}

TEST_F(engine_divided_reader, is_told_that_its_deadline_has_passed) {
    reply("m1", sends_on("ASK", "a", "m2"));
    EXPECT_EQ(sent("m1"), lines{renew_of("a", 1, 3000)});
    reply("m1", array(integer(1)));
    reply("m1", array(integer(0)));
    EXPECT_EQ(lost(op.view), errc::lock_lost);
}

TEST_F(engine_divided_reader, is_released_at_the_lock_alone_and_renewed_at_no_further_key) {
    const std::string end = " redisson_rwlock:{a} publish c:1";
    reply("m1", error("TRYAGAIN Multiple keys request during rehashing of slot"));
    sent("m1");
    release(op);
    EXPECT_EQ(sent("m1"), lines{"shared_release a " + deadline + end});
    reply("m1", array(integer(1)) + error("TRYAGAIN Multiple keys request during rehashing"));
    EXPECT_EQ(sent("m1"), lines{"shared_release a" + end});
    reply("m1", integer(0));
    EXPECT_EQ(sent("m1"), lines{});
}

// The lock's own TTL is that of other readers, too.
TEST_F(engine_divided_reader, that_is_given_too_long_a_time_lowers_that_of_its_own_key_alone) {
    reply("m1", array(integer(9000)));
    EXPECT_EQ(sent("m1"), lines{"shared_renew a " + deadline + " c:1 -3000"});
    reply("m1", error("TRYAGAIN Multiple keys request during rehashing of slot"));
    EXPECT_EQ(sent("m1"), lines{renew_of("a", 1, 0)});
    reply("m1", array(integer(1)));
    EXPECT_EQ(sent("m1"), lines{"value_renew " + deadline + " 1 -3000"});
    reply("m1", array(integer(1)));
    EXPECT_EQ(lost(op.view), errc{});
}

}  // namespace
