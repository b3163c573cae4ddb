// SPDX-License-Identifier: BSL-1.0
// A release that is on its way while its part of a cluster gets another master, or a master its
// successor: it is sent until that one has confirmed it. What was cancelled is only released.
#include "unit/engine/cluster_engine.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

struct engine_cluster_release : plain_cluster_engine {
    /// Of "a", which `m1` has: not answered.
    operation& unlock_a() {
        operation& end = unlock(hold("a"));
        EXPECT_EQ(sent("m1"), lines{release_of("a", 1)});
        return end;
    }
    /// The acquire of "a", which `m1` was sent and has not answered, is cancelled.
    void cancel_a() {
        operation& op = lock("a");
        learn();
        connect("m1");
        EXPECT_EQ(sent("m1"), lines{acquire_of("a", 1)});
        cancel(op);
    }
    /// It was granted, and its release left.
    void compensate_a() {
        cancel_a();
        reply("m1", granted());
        EXPECT_EQ(sent("m1"), lines{release_of("a", 1)});
    }
    void promote_r1() {
        break_connection("m1");
        learn_again("r1", "m2");
        connect("r1", "2222");
    }
    /// The release was sent there, and is until it is confirmed.
    void expect_until_confirmed(std::string_view host, std::string_view run) {
        const std::string release = release_of("a", 1);
        EXPECT_EQ(sent(host), lines{release});
        reply(host, error("CLUSTERDOWN The cluster is down"));
        EXPECT_EQ(sent(host), lines{}) << "after a pause";
        advance(100ms);
        EXPECT_EQ(sent(host), lines{release});
        break_connection(host);
        EXPECT_FALSE(nothing_is_left());
        connect(host, run);
        EXPECT_EQ(sent(host), (lines{"CLIENT KILL ID 7", release}));
        EXPECT_FALSE(nothing_is_left());
        reply(host, integer(1) + integer(0));
        EXPECT_TRUE(nothing_is_left());
    }
    /// Whatever the server says, it is repeated as long as an old connection may take the lock.
    void expect_repeated(std::string_view host) {
        for (int n = 0; n < 5; ++n) {
            EXPECT_EQ(sent(host), lines{release_of("a", 1)}) << n;
            reply(host, integer(-1));
            EXPECT_EQ(sent(host), lines{});
            EXPECT_FALSE(nothing_is_left());
            advance(1s);
            tell_the_same();
        }
    }
};

TEST_F(engine_cluster_release, that_is_sent_on_goes_to_the_new_master_until_it_is_confirmed) {
    const operation& end = unlock_a();
    learn_again("m2", "m1");
    reply("m1", sends_on("MOVED", "a", "m2"));
    EXPECT_FALSE(end.done());
    connect("m2");
    expect_until_confirmed("m2", "1111");
    EXPECT_TRUE(end.ended({}));
}

TEST_F(engine_cluster_release, that_is_lost_after_its_part_moved_does_too) {
    const operation& end = unlock_a();
    learn_again("m2", "m1");
    EXPECT_FALSE(leads_to("m2") && wants("m2")) << "it may be answered yet";
    break_connection("m1");
    connect("m2");
    expect_until_confirmed("m2", "1111");
    EXPECT_TRUE(end.ended({}));
}

TEST_F(engine_cluster_release, that_is_lost_before_its_part_moved_does_too) {
    const operation& end = unlock_a();
    break_connection("m1");
    learn_again("m2", "m1");
    connect("m2");
    expect_until_confirmed("m2", "1111");
    EXPECT_TRUE(end.ended({}));
}

TEST_F(engine_cluster_release, that_is_lost_with_its_master_goes_to_the_successor) {
    const operation& end = unlock_a();
    promote_r1();
    expect_until_confirmed("r1", "2222");
    EXPECT_TRUE(end.ended({}));
}

TEST_F(engine_cluster_release, that_waited_for_its_master_goes_to_the_successor) {
    const operation& op = hold("a");
    break_connection("m1");
    const operation& end = unlock(op);
    learn_again("r1", "m2");
    connect("r1", "2222");
    expect_until_confirmed("r1", "2222");
    EXPECT_TRUE(end.ended({}));
}

TEST_F(engine_cluster_release, that_was_put_off_goes_to_the_new_master_at_once) {
    const operation& end = unlock_a();
    connect_to_m2();
    lock("{a}");
    EXPECT_EQ(sent("m1"), lines{acquire_of("{a}", 3)});
    reply("m1", error("CLUSTERDOWN The cluster is down") + sends_on("MOVED", "a", "m2"));
    EXPECT_EQ(sent("m1"), lines{});
    EXPECT_EQ(sent("m2"), lines{acquire_of("{a}", 3)});
    const auto before = now();
    learn_again("m2", "m1");
    EXPECT_EQ(now(), before);
    EXPECT_EQ(sent("m2"), lines{release_of("a", 1)});
    reply("m2", busy(5000) + integer(0));
    EXPECT_TRUE(end.ended({}));
}

TEST_F(engine_cluster_release, that_was_sent_on_for_once_and_lost_asks_the_master_of_its_part) {
    const operation& end = unlock_a();
    connect_to_m2();
    reply("m1", sends_on("ASK", "a", "m2"));
    EXPECT_EQ(sent("m2"), (lines{"ASKING", release_of("a", 1)}));
    break_connection("m2");
    EXPECT_EQ(sent("m1"), lines{release_of("a", 1)});
    EXPECT_FALSE(end.done());
    reply("m1", integer(0));
    EXPECT_TRUE(end.ended({}));
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(engine_cluster_release, of_what_was_cancelled_goes_to_the_new_master_until_it_is_confirmed) {
    compensate_a();
    learn_again("m2", "m1");
    break_connection("m1");
    connect("m2");
    expect_until_confirmed("m2", "1111");
}

TEST_F(engine_cluster_release, of_what_was_cancelled_is_sent_on_as_others_are) {
    compensate_a();
    learn_again("m2", "m1");
    reply("m1", sends_on("MOVED", "a", "m2"));
    connect("m2");
    expect_until_confirmed("m2", "1111");
}

TEST_F(engine_cluster_release, of_what_was_cancelled_goes_to_the_successor) {
    compensate_a();
    promote_r1();
    expect_until_confirmed("r1", "2222");
}

TEST_F(engine_cluster_release, what_was_cancelled_and_granted_after_its_part_moved_is_released) {
    cancel_a();
    learn_again("m2", "m1");
    reply("m1", granted());
    EXPECT_EQ(sent("m1"), lines{});
    connect("m2");
    expect_until_confirmed("m2", "1111");
}

TEST_F(engine_cluster_release, what_was_cancelled_is_not_sent_on_to_the_new_master) {
    cancel_a();
    learn_again("m2", "m1");
    reply("m1", sends_on("MOVED", "a", "m2"));
    EXPECT_TRUE(nothing_is_left()) << "it did not run";
    advance(2s);
    EXPECT_FALSE(leads_to("m2") && wants("m2"));
}

// The old master may yet run it, and tell the new one.
TEST_F(engine_cluster_release, what_was_cancelled_and_lost_is_released_until_it_can_not_run) {
    cancel_a();
    learn_again("m2", "m1");
    break_connection("m1");
    connect("m2");
    expect_repeated("m2");
    turn([&] { lock(name_at_m2()); });  // that part is at `m1` now
    connect("m1");
    EXPECT_EQ(sent("m1"), (lines{"CLIENT KILL ID 7", acquire_of(name_at_m2(), 2)}));
    reply("m1", integer(1) + granted());
    EXPECT_EQ(sent("m2"), lines{release_of("a", 1)});
    reply("m2", integer(-1));
    EXPECT_EQ(engine.unsettled(), 1u) << "the other lock";
}

TEST_F(engine_cluster_release, what_was_cancelled_and_lost_is_released_by_the_successor) {
    cancel_a();
    promote_r1();
    expect_repeated("r1");
    for (int n = 0; n < 30; ++n) {  // the lease that it might have taken
        for (std::size_t calls = sent("r1").size(); calls > 0; --calls) {
            reply("r1", integer(-1));
        }
        advance(1s);
        tell_the_same();
    }
    EXPECT_TRUE(nothing_is_left());
}

}  // namespace
