// SPDX-License-Identifier: BSL-1.0
#include "unit/link_harness.hpp"

#include <gtest/gtest.h>

// What a connection that broke may still run, and how that is ended.
namespace {

using namespace conch::test;

struct wire_link_fencing : testing::Test {
    link_harness h{};
    note a{plain_note, "a"};

    ~wire_link_fencing() override { h.link.close(); }
    void ready() {
        h.submit(a);
        h.connect();
        h.sent();
        h.reply(ok());
        a.ends.clear();
    }
};

TEST_F(wire_link_fencing, the_old_connection_of_the_same_process_is_ended_before_any_replay) {
    ready();
    h.submit(a);
    h.sent();
    h.link.broken("reset");
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", "a"}));
    EXPECT_TRUE(h.link.may_still_run(1));
    h.reply(integer(1));
    EXPECT_FALSE(h.link.may_still_run(1));
    EXPECT_EQ(h.counters.old_fenced, 1u);
}

TEST_F(wire_link_fencing, the_id_is_not_killed_in_another_process) {
    ready();
    h.submit(a);
    h.link.broken("reset");
    h.connect(2, "2222");
    EXPECT_EQ(h.sent(), lines{"a"});
    EXPECT_FALSE(h.link.may_still_run(1)) << "that process is gone";
}

TEST_F(wire_link_fencing, a_process_elsewhere_may_still_run_it_and_ends_it_when_met_again) {
    ready();
    h.submit(a);
    h.sent();
    h.link.move_to({"other", 1, {}});
    h.connect(7, "2222");
    EXPECT_EQ(h.sent(), lines{"a"});
    h.reply(ok());
    EXPECT_TRUE(h.link.may_still_run(1)) << "the first one may be the master again";
    h.link.move_to(conch::wire::address::of(h.settings));
    h.connect(8);
    EXPECT_EQ(h.sent(), lines{"CLIENT KILL ID 1"});
    h.reply(integer(1));
    EXPECT_FALSE(h.link.may_still_run(1));
    EXPECT_TRUE(h.link.may_still_run(2)) << "and so may the second one";
}

TEST_F(wire_link_fencing, a_process_that_took_the_place_of_another_ends_the_doubt_however_late) {
    ready();
    h.link.move_to({"other", 1, {}});
    h.connect(7, "2222");
    h.link.move_to(conch::wire::address::of(h.settings));
    h.connect(8, "3333");
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_FALSE(h.link.may_still_run(1));
}

TEST_F(wire_link_fencing, where_the_server_refuses_to_kill_it_goes_on) {
    ready();
    h.submit(a);
    h.link.broken("reset");
    h.connect(2);
    h.sent();
    h.reply(error("NOPERM this user has no permissions to run the 'client|kill' command") + ok());
    EXPECT_EQ(a.ends.size(), 1u);
    EXPECT_TRUE(h.link.ready());
    EXPECT_TRUE(h.link.may_still_run(1));
}

TEST_F(wire_link_fencing, a_connection_that_was_never_ready_is_not_killed) {
    h.submit(a);
    h.link.connected();
    h.sent();
    h.reply(hello(7));
    h.link.broken("reset");
    h.connect(8);
    EXPECT_EQ(h.sent(), lines{"a"});
}

}  // namespace
