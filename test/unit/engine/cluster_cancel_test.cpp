// SPDX-License-Identifier: BSL-1.0
// Rule 5 in a cluster: an acquire that was sent on from one master to another ends owned or
// released, at whatever stage its caller gives up.
#include "unit/engine/cluster_engine.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

/// The hold "other" is at `m1`; the acquire of "a" is the next one.
struct engine_cluster_cancel : plain_cluster_engine {
    engine_cluster_cancel() { hold("other", {.lease = 10min, .renew = false}); }

    operation& take() {
        operation& op = lock("a");
        EXPECT_EQ(sent("m1"), lines{acquire()});
        return op;
    }
    /// The first copy was lost with its connection, which was ended since; the second one left.
    operation& take_twice() {
        operation& op = take();
        break_connection("m1");
        connect("m1");
        const lines again{"CLIENT KILL ID 7", "renew other c:1 0", acquire()};
        EXPECT_EQ(sent("m1"), again);
        reply("m1", integer(1) + array(integer(1)));
        return op;
    }
    /// It was sent on to `m2` for this once, and written there.
    operation& take_at_m2() {
        connect_to_m2();
        number = 3;
        operation& op = take();
        reply("m1", to_m2("ASK"));
        EXPECT_EQ(sent("m2"), (lines{"ASKING", acquire()}));
        return op;
    }
    /// Nothing but the hold is left, and nothing more of "a" is sent anywhere.
    void expect_end() {
        EXPECT_EQ(engine.unsettled(), 1u) << "the hold";
        EXPECT_EQ(engine.belongings().slots, 1u);
        for (int n = 0; n < 100; ++n) {
            advance(20ms);
            tell_the_same();
            EXPECT_EQ(sent("m1"), lines{});
            if (leads_to("m2")) {
                EXPECT_EQ(sent("m2"), lines{});
            }
        }
    }
    static std::string tryagain() { return error("TRYAGAIN Multiple keys request"); }
    static std::string to_m2(const char* what) { return sends_on(what, "a", "m2"); }

    std::string acquire() const { return acquire_of("a", number); }
    std::string compensation() const { return release_of("a", number); }

    int number = 2;
};

/// The acquire was written to `m2`, behind ASKING, and its caller gave up.
struct engine_cluster_cancel_asking : engine_cluster_cancel {
    engine_cluster_cancel_asking() {
        operation& op = take_at_m2();
        cancel(op);
        EXPECT_EQ(sent("m1"), lines{}) << "its fate is not known yet";
        EXPECT_EQ(sent("m2"), lines{});
    }
    /// The release goes to the master of the part, and on to who has the key.
    void expect_release_there() {
        EXPECT_EQ(sent("m1"), lines{compensation()});
        reply("m1", to_m2("ASK"));
        EXPECT_EQ(sent("m2"), (lines{"ASKING", compensation()}));
        EXPECT_EQ(engine.unsettled(), 2u) << "nothing is confirmed";
        reply("m2", ok() + integer(0));
        expect_end();
    }
};

TEST_F(engine_cluster_cancel_asking, what_was_granted_there_is_released_there) {
    reply("m2", ok() + granted());
    EXPECT_EQ(sent("m2"), lines{});
    expect_release_there();
}

TEST_F(engine_cluster_cancel_asking, what_was_busy_there_needs_no_release) {
    reply("m2", ok() + busy(5000));
    expect_end();
}

TEST_F(engine_cluster_cancel_asking, what_is_sent_back_from_there_is_not_sent_again) {
    reply("m2", ok() + sends_on("MOVED", "a", "m1"));
    expect_end();
}

TEST_F(engine_cluster_cancel_asking, nor_is_what_is_to_be_tried_again_there) {
    reply("m2", ok() + tryagain());
    expect_end();
}

TEST_F(engine_cluster_cancel_asking, nor_is_what_that_master_lacks_the_script_of) {
    reply("m2", ok() + error("NOSCRIPT No matching script"));
    expect_end();
}

TEST_F(engine_cluster_cancel_asking, what_was_lost_there_is_released_until_it_can_not_run) {
    break_connection("m2");
    EXPECT_EQ(sent("m1"), lines{compensation()});
    reply("m1", to_m2("ASK"));
    EXPECT_EQ(sent("m1"), lines{}) << "put off: there is no connection";
    connect("m2");
    EXPECT_EQ(sent("m2"), lines{"CLIENT KILL ID 7"});
    advance(100ms);
    EXPECT_EQ(sent("m1"), lines{compensation()});
    reply("m1", to_m2("ASK"));
    EXPECT_EQ(sent("m2"), (lines{"ASKING", compensation()}));
    reply("m2", integer(1) + ok() + integer(0));
    expect_end();
}

// Whatever is told meanwhile.
TEST_F(engine_cluster_cancel_asking, what_may_run_there_yet_is_released_again_and_again) {
    break_connection("m2");
    for (int n = 0; n < 5; ++n) {
        EXPECT_EQ(sent("m1"), lines{compensation()}) << n;
        reply("m1", integer(-1));
        EXPECT_EQ(sent("m1"), lines{});
        EXPECT_EQ(engine.unsettled(), 2u);
        advance(1s);
        tell_the_same();
    }
    reply("m1", integer(-1));
    connect("m2");
    EXPECT_EQ(sent("m2"), lines{"CLIENT KILL ID 7"});
    reply("m2", integer(1));
    advance(1s);
    EXPECT_EQ(sent("m1"), lines{compensation()}) << "the last time";
    reply("m1", integer(-1));
    expect_end();
}

TEST_F(engine_cluster_cancel, an_acquire_put_off_by_tryagain_is_not_sent_again) {
    operation& op = take();
    reply("m1", tryagain());
    cancel(op);
    expect_end();
}

TEST_F(engine_cluster_cancel, an_older_copy_of_one_is_released) {
    operation& op = take_twice();
    reply("m1", tryagain());
    EXPECT_EQ(sent("m1"), lines{});
    cancel(op);
    EXPECT_EQ(sent("m1"), lines{compensation()});
    reply("m1", integer(-1));
    expect_end();
}

TEST_F(engine_cluster_cancel, an_acquire_put_off_as_nobody_is_connected_there_is_not_sent_again) {
    operation& op = take();
    reply("m1", to_m2("ASK"));
    EXPECT_EQ(sent("m1"), lines{});
    cancel(op);
    connect("m2");
    expect_end();
}

TEST_F(engine_cluster_cancel, an_older_copy_of_that_is_released_where_the_key_is) {
    operation& op = take_twice();
    reply("m1", to_m2("ASK"));
    cancel(op);
    connect("m2");
    EXPECT_EQ(sent("m1"), lines{compensation()});
    reply("m1", to_m2("ASK"));
    EXPECT_EQ(sent("m2"), (lines{"ASKING", compensation()}));
    reply("m2", ok() + integer(0));
    expect_end();
}

TEST_F(engine_cluster_cancel, an_acquire_that_waits_for_its_new_masters_connection_is_not_sent) {
    operation& op = take();
    reply("m1", to_m2("MOVED"));
    cancel(op);
    connect("m2");
    expect_end();
}

TEST_F(engine_cluster_cancel, an_older_copy_of_that_is_released_at_the_new_master) {
    operation& op = take_twice();
    reply("m1", to_m2("MOVED"));
    cancel(op);
    connect("m2");
    EXPECT_EQ(sent("m2"), lines{compensation()});
    reply("m2", integer(0));
    EXPECT_EQ(sent("m1"), lines{});
    expect_end();
}

// The doubt of the last loss is over, as that process ended; that of the first one is not.
TEST_F(engine_cluster_cancel, a_copy_at_another_master_may_run_whatever_became_of_the_last_one) {
    operation& op = take_at_m2();
    break_connection("m2");
    EXPECT_EQ(sent("m1"), lines{acquire()}) << "to whom the part belongs";
    connect("m2");
    EXPECT_EQ(sent("m2"), lines{"CLIENT KILL ID 7"});
    reply("m2", error("NOPERM no"));
    break_connection("m1");
    connect("m1", "2222");
    const lines again{"renew other c:1 599968", acquire()};
    EXPECT_EQ(sent("m1"), again);
    reply("m1", array(integer(1)) + granted());
    ASSERT_TRUE(op.granted());
    operation& end = unlock(op);
    for (int n = 0; n < 3; ++n) {
        EXPECT_EQ(sent("m1"), lines{compensation()}) << n;
        reply("m1", integer(n == 0 ? 0 : -1));
        EXPECT_TRUE(end.ended({})) << "the caller needn't wait for it";
        EXPECT_EQ(engine.unsettled(), 2u);
        advance(1s);
        tell_the_same();
    }
    EXPECT_EQ(sent("m1"), lines{compensation()});
    break_connection("m2");
    connect("m2", "3333");
    reply("m1", integer(-1));
    expect_end();
}

TEST_F(engine_cluster_cancel, who_was_lost_later_has_no_copy_of_it) {
    connect_to_m2();
    number = 3;
    operation& op = take_twice();
    reply("m1", granted());
    ASSERT_TRUE(op.granted());
    advance(100ms);
    break_connection("m2");
    unlock(op);
    EXPECT_EQ(sent("m1"), lines{compensation()});
    reply("m1", integer(0));
    expect_end();
}

}  // namespace
