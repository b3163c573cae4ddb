// SPDX-License-Identifier: BSL-1.0
// Scripts with the keys of several locks, while their part of a cluster goes from one master to
// another: some are here still, some there.
#include "unit/engine/cluster_engine.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

/// The locks "a" and "{a}", which are of one part, asked for in one script.
struct engine_migration : cluster_engine {
    engine_migration() {
        engine.join_from(2);
        learn();
        connect("m1");
        EXPECT_EQ(sent("m1"), lines{both});
        connect_to_m2();
    }

    void hold_both() {
        reply("m1", array(granted(), granted()));
        EXPECT_EQ(sent("m1"), lines{wait_one});
        reply("m1", integer(1));
        EXPECT_TRUE(first.granted());
        EXPECT_TRUE(second.granted());
    }

    static std::string to_m2() {
        return error(join("ASK ", conch::wire::hash_slot_of("a"), " m2:7000"));
    }

    operation& first = lock("a");
    operation& second = lock("{a}");
    const std::string both = "acquire_many a {a} 2 c:1 30000 0 c:2 30000 0";
    const std::string release_of_second = "release {a} c:2 redisson_lock__channel:{a}";
    const std::string wait_one = "WAIT 1 100";
};

// Of the one that the old master has, the new one would give another, as to ASKING it is missing.
TEST_F(engine_migration, what_is_asked_for_elsewhere_as_one_script_goes_singly_first) {
    reply("m1", to_m2());
    EXPECT_EQ(sent("m1"), (lines{acquire_of("a", 1), acquire_of("{a}", 2)}));
    reply("m1", busy(500) + to_m2());
    EXPECT_EQ(sent("m2"), (lines{"ASKING", acquire_of("{a}", 2)}));
    reply("m2", ok() + granted());
    EXPECT_EQ(sent("m2"), lines{wait_one});
    reply("m2", integer(1));
    EXPECT_TRUE(second.granted());
    EXPECT_FALSE(first.done());
}

TEST_F(engine_migration, a_renewal_that_is_asked_for_elsewhere_goes_singly_first) {
    hold_both();
    advance(10s);
    EXPECT_EQ(sent("m1"), (lines{"renew a {a} c:1 30000 c:2 30000", wait_one}));
    reply("m1", to_m2() + integer(1));
    EXPECT_EQ(sent("m1"), (lines{renew_of("a", 1), renew_of("{a}", 2), wait_one}));
    reply("m1", array(integer(1)) + to_m2() + integer(1));
    EXPECT_EQ(sent("m2"), (lines{"ASKING", renew_of("{a}", 2)}));
    reply("m2", ok() + array(integer(1)));
    EXPECT_EQ(engine.counters().renewals, 2u);
    EXPECT_EQ(engine.counters().renewal_failures, 0u);
    EXPECT_EQ(lost(first.view), errc{});
    EXPECT_EQ(lost(second.view), errc{});
}

// The one that was missing ended meanwhile; the other is where it was.
TEST_F(engine_migration, nor_does_what_is_left_of_one_go_elsewhere_unasked) {
    hold_both();
    advance(10s);
    sent("m1");
    release(second);
    EXPECT_EQ(sent("m1"), lines{release_of_second});
    reply("m1", to_m2() + integer(1));
    EXPECT_EQ(sent("m1"), (lines{renew_of("a", 1), wait_one}));
}

// Both parts are the same master's: at another's it may be otherwise any time.
TEST_F(cluster_engine, locks_of_other_parts_leave_in_a_script_of_their_own) {
    engine.join_from(2);
    for (const char* const name : {"a", "{a}", "b", "{b}"}) {
        lock(name);
    }
    learn();
    connect("m1");
    EXPECT_EQ(sent("m1"), (lines{"acquire_many a {a} 2 c:1 30000 0 c:2 30000 0",
                                 "acquire_many b {b} 2 c:3 30000 0 c:4 30000 0"}));
}

TEST_F(engine_migration, so_do_releases) {
    hold_both();
    turn([&] {
        engine.release(*first.view);
        engine.release(*second.view);
    });
    EXPECT_EQ(
        sent("m1"),
        lines{"release_many a {a} 2 c:1 redisson_lock__channel:{a} "
              "c:2 redisson_lock__channel:{a}"});
    reply("m1", to_m2());
    EXPECT_EQ(sent("m1"), (lines{release_of("a", 1), release_of_second}));
    reply("m1", integer(0) + to_m2());
    EXPECT_EQ(sent("m2"), (lines{"ASKING", release_of_second}));
    reply("m2", ok() + integer(0));
    EXPECT_EQ(engine.unsettled(), 0u);
}

TEST(engine_status, of_a_lock_that_has_left_its_fence_key_is_told_without_the_fence) {
    engine_harness h;
    h.use(conch::protocol::mutex_protocol, "a", {.fenced = true});
    conch::lock_status s;
    operation& op = h.status("a", &s);
    h.connect();
    EXPECT_EQ(h.sent().size(), 1u);
    h.reply(error("TRYAGAIN Multiple keys request during rehashing of slot"));
    EXPECT_EQ(h.sent(), lines{"status a"});
    h.reply(array(integer(500), bulk(""), bulk("other:1"), bulk("1")));
    EXPECT_TRUE(op.ended({}));
    EXPECT_TRUE(s.locked);
    EXPECT_EQ(s.fence, 0u);
}

}  // namespace
