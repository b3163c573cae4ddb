// SPDX-License-Identifier: BSL-1.0
#include "unit/engine/harness.hpp"

#include <gtest/gtest.h>

// `config::operation_timeout`: how long an operation puts up with a server that can't be reached or
// doesn't answer; and the errors that end it sooner.
namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

/// The server says of each command that it loads, until `op` is done, or so long after the test
/// began.
void load_until(engine_harness& h, conch::duration end, const operation& op) {
    while (!op.done() && h.elapsed() < end) {
        for (std::size_t n = h.sent_commands().size(); n > 0; --n) {
            h.reply(error("LOADING Redis is loading the dataset in memory"));
        }
        h.advance(100ms);
    }
}

TEST(engine_patience, nothing_is_connected_before_the_first_request) {
    engine_harness h;
    EXPECT_EQ(h.engine.wanted_connection(), 0u);
    h.lock("a");
    EXPECT_NE(h.engine.wanted_connection(), 0u);
}

TEST(engine_patience, an_acquire_gives_up_on_a_server_that_can_not_be_reached) {
    engine_harness h;
    operation& op = h.lock("a");
    h.break_connection();
    h.advance(4999ms);
    EXPECT_FALSE(op.done());
    h.advance(1ms);
    EXPECT_TRUE(op.ended(errc::not_connected));
}

TEST(engine_patience, a_second_waiter_gives_up_as_well) {
    engine_harness h;
    operation& first = h.lock("a");
    operation& second = h.lock("a");
    h.advance(6s);
    EXPECT_TRUE(first.ended(errc::not_connected));
    EXPECT_TRUE(second.ended(errc::not_connected));
}

TEST(engine_patience, a_later_waiter_has_its_own_patience) {
    engine_harness h;
    h.lock("a");
    h.advance(2s);
    operation& second = h.lock("a");
    h.advance(4s);
    EXPECT_FALSE(second.done());
    h.advance(1s);
    EXPECT_TRUE(second.ended(errc::not_connected));
}

TEST(engine_patience, a_wait_that_ends_sooner_tells_of_the_server_too) {
    engine_harness h;
    h.lock("a");
    const operation& second = h.lock("a", {.wait = 1s});
    const operation& tries = h.try_lock("a", {.wait = 1s});
    h.advance(1s);
    EXPECT_TRUE(second.ended(errc::not_connected));
    EXPECT_TRUE(tries.ended(errc::not_connected));
}

TEST(engine_patience, a_wait_that_ends_behind_a_local_hold_is_over_and_no_more) {
    engine_harness h;
    h.grant("a");
    h.break_connection();
    const operation& second = h.lock("a", {.wait = 1s});
    h.advance(1s);
    EXPECT_TRUE(second.ended(errc::timed_out));
}

TEST(engine_patience, a_wait_in_which_the_server_was_there_is_over_and_no_more) {
    engine_harness h;
    h.lock("a");
    const operation& second = h.lock("a", {.wait = 1s});
    h.connect();
    h.advance(500ms);
    h.break_connection();
    h.advance(500ms);
    EXPECT_TRUE(second.ended(errc::timed_out));
}

TEST(engine_patience, a_link_that_breaks_while_others_hold_the_lock_starts_it_anew) {
    engine_harness h;
    operation& op = h.lock("a");
    h.connect();
    h.reply(busy(-1));
    for (int i = 0; i < 40; ++i) {
        h.reply(i == 0 ? subscribed("a") + busy(-1) : busy(-1));
        h.advance(1s);
    }
    ASSERT_FALSE(op.done());
    h.break_connection();
    h.advance(4s);
    EXPECT_FALSE(op.done());
    h.advance(3s);
    EXPECT_TRUE(op.ended(errc::not_connected));
}

TEST(engine_patience, an_acquire_gives_up_on_a_server_that_greets_and_never_answers) {
    engine_harness h;
    operation& op = h.lock("a");
    for (int i = 0; i < 10 && !op.done(); ++i) {
        h.connect(i + 1);
        h.advance(3s);  // response_timeout: the connection is given up
    }
    EXPECT_TRUE(op.ended(errc::not_connected)) << "after " << h.elapsed() / 1s << " s";
}

TEST(engine_patience, an_acquire_gives_up_on_a_server_that_goes_on_loading) {
    engine_harness h;
    operation& op = h.lock("a");
    h.connect();
    load_until(h, 20s, op);
    EXPECT_TRUE(op.ended(errc::server_unavailable)) << "after " << h.elapsed() / 1s << " s";
}

TEST(engine_patience, a_try_gives_up_on_a_server_that_goes_on_loading) {
    engine_harness h;
    operation& op = h.try_lock("a");
    h.connect();
    load_until(h, 20s, op);
    EXPECT_TRUE(op.ended(errc::server_unavailable)) << "after " << h.elapsed() / 1s << " s";
}

TEST(engine_patience, the_next_waiter_has_a_try_of_its_own_with_its_own_patience) {
    engine_harness h;
    h.grant("other");
    const operation& first = h.lock("a", {.lease = 5s});
    const operation& second = h.lock("a", {.lease = 7s});  // can't take over the first one's try
    load_until(h, 5s, second);
    EXPECT_TRUE(first.ended(errc::server_unavailable));
    EXPECT_FALSE(second.done()) << second.ec.message();
    load_until(h, 20s, second);
    EXPECT_TRUE(second.ended(errc::server_unavailable));
}

TEST(engine_patience, a_wrong_password_fails_all_who_wait_at_once) {
    engine_harness h{{.password = "wrong"}};
    operation& first = h.lock("a");
    operation& second = h.lock("b");
    h.connect_and_refuse("WRONGPASS invalid username-password pair or user is disabled.");
    EXPECT_TRUE(first.ended(errc::authentication_failed));
    EXPECT_TRUE(second.ended(errc::authentication_failed));
    EXPECT_EQ(h.engine.last_words(),
              "WRONGPASS invalid username-password pair or user is disabled.");
}

TEST(engine_patience, a_lasting_refusal_is_the_error_of_those_who_come_later) {
    engine_harness h{{.password = "wrong"}};
    h.lock("a");
    h.connect_and_refuse("WRONGPASS invalid username-password pair or user is disabled.");
    operation& op = h.lock("a");
    h.advance(6s);
    EXPECT_TRUE(op.ended(errc::authentication_failed));
}

TEST(engine_patience, a_server_error_ends_one_acquire_and_the_next_one_tries_for_itself) {
    engine_harness h;
    h.grant("other");
    operation& first = h.lock("a");
    operation& second = h.lock("a");
    h.sent();
    h.reply(error("OOM command not allowed when used memory > 'maxmemory'."));
    EXPECT_TRUE(first.ended(errc::out_of_memory));
    EXPECT_FALSE(second.done());
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 3)});
    h.reply(granted());
    EXPECT_TRUE(second.granted());
}

TEST(engine_patience, a_status_query_gives_up_too) {
    engine_harness h;
    conch::lock_status s;
    operation& op = h.status("a", &s);
    h.advance(5s);
    EXPECT_TRUE(op.ended(errc::not_connected));
    h.connect();
    EXPECT_EQ(h.sent(), lines{}) << "nobody wants it any more";
}

}  // namespace
