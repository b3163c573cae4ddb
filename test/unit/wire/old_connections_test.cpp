// SPDX-License-Identifier: BSL-1.0
#include "unit/wire/link_harness.hpp"

#include <gtest/gtest.h>

// What a connection that broke may still run, and how that is ended.
namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::time_point;

struct wire_old_connections : testing::Test {
    link_harness h{};
    note a{plain_note, "a"};

    ~wire_old_connections() override { h.link.close(); }
    void ready() {
        h.submit(a);
        h.connect();
        h.sent();
        h.reply(ok());
        a.ends.clear();
    }
    bool may_still_run(time_point since) const {
        return h.link.may_still_run(since, time_point::max());
    }
    bool any_may_still_run() const { return may_still_run(time_point{}); }
};

TEST_F(wire_old_connections, the_old_connection_of_the_same_process_is_ended_before_any_replay) {
    ready();
    h.submit(a);
    h.sent();
    h.connection.broken("reset");
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", "a"}));
    EXPECT_TRUE(any_may_still_run());
    h.reply(integer(1));
    EXPECT_FALSE(any_may_still_run());
    EXPECT_EQ(h.counters.old_fenced, 1u);
}

TEST_F(wire_old_connections, the_id_is_not_killed_in_another_process) {
    ready();
    h.submit(a);
    h.connection.broken("reset");
    h.connect(2, "2222");
    EXPECT_EQ(h.sent(), lines{"a"});
    EXPECT_FALSE(any_may_still_run()) << "that process is gone";
}

TEST_F(wire_old_connections, a_process_elsewhere_may_still_run_it_and_ends_it_when_met_again) {
    ready();
    h.submit(a);
    h.sent();
    h.link.move_to({"other", 1, {}});
    h.connect(7, "2222");
    EXPECT_EQ(h.sent(), lines{"a"});
    h.reply(ok());
    EXPECT_TRUE(any_may_still_run()) << "the first one may be the master again";
    h.advance(1s);
    EXPECT_FALSE(may_still_run(h.now)) << "it has nothing that was sent since";
    const time_point then = h.now;
    h.link.move_to(conch::wire::address::of(h.settings));
    h.connect(8);
    EXPECT_TRUE(h.link.may_still_run(then, then)) << "so may the second one";
    EXPECT_TRUE(h.link.may_still_run(then - 1s, then - 1s)) << "and the first one yet";
    EXPECT_EQ(h.sent(), lines{"CLIENT KILL ID 1"});
    h.reply(integer(1));
    EXPECT_EQ(h.counters.old_fenced, 1u);
    EXPECT_TRUE(may_still_run(then)) << "that was the first one's";
    EXPECT_FALSE(h.link.may_still_run(then - 1s, then - 1s));
}

TEST_F(wire_old_connections, a_process_that_took_the_place_of_another_ends_the_doubt_however_late) {
    ready();
    h.link.move_to({"other", 1, {}});
    h.wait_for_attempt();
    h.connection.broken("refused");
    EXPECT_TRUE(any_may_still_run());
    h.link.move_to(conch::wire::address::of(h.settings));
    h.connect(8, "3333");
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_FALSE(any_may_still_run());
}

TEST_F(wire_old_connections, of_very_many_the_oldest_are_never_known_to_be_ended) {
    ready();
    const time_point first = h.now;
    for (int n = 0; n < 65; ++n) {
        h.connection.broken("reset");
        h.connect(n + 2);
    }
    EXPECT_EQ(h.sent().size(), 64u);
    for (int n = 0; n < 64; ++n) {
        h.reply(integer(1));
    }
    EXPECT_TRUE(may_still_run(first));
    EXPECT_FALSE(may_still_run(first + 1ns));
}

TEST_F(wire_old_connections, where_the_server_refuses_to_kill_it_goes_on) {
    ready();
    h.submit(a);
    h.connection.broken("reset");
    h.connect(2);
    h.sent();
    h.reply(error("NOPERM this user has no permissions to run the 'client|kill' command") + ok());
    EXPECT_EQ(a.ends.size(), 1u);
    EXPECT_TRUE(h.link.ready());
    EXPECT_TRUE(any_may_still_run());
}

TEST_F(wire_old_connections, a_connection_that_was_never_ready_is_not_killed) {
    h.submit(a);
    h.connection.connected();
    h.sent();
    h.reply(hello(7));
    h.connection.broken("reset");
    h.connect(8);
    EXPECT_EQ(h.sent(), lines{"a"});
}

}  // namespace
