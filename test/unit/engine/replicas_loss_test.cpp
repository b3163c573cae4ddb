// SPDX-License-Identifier: BSL-1.0
// Locks that wait for replicas, when a connection, a server or a waiter fails meanwhile.
#include "unit/engine/replicas_fixture.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

using engine_replicas_loss = replicas_fixture;

TEST_F(engine_replicas_loss, a_connection_lost_between_both_answers_repeats_both) {
    operation& op = h.lock("a");
    h.connect();
    h.reply(granted());
    h.sent();
    h.break_connection();
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", acquire_of("a", 1)}));
    const auto sent = h.now();
    h.reply(integer(1), granted());
    EXPECT_FALSE(op.done());
    EXPECT_EQ(h.sent(), lines{wait_one});
    h.reply(integer(1));
    ASSERT_TRUE(op.granted());
    EXPECT_EQ(valid_until(op.view), conch::core::lease_end(sent, 30s));
}

TEST_F(engine_replicas_loss, a_connection_lost_before_them_repeats_both) {
    h.lock("a");
    h.connect();
    h.sent();
    h.break_connection();
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", acquire_of("a", 1)}));
    h.reply(integer(1), granted());
    EXPECT_EQ(h.sent(), lines{wait_one});
}

TEST_F(engine_replicas_loss, a_repeated_acquire_that_is_refused_is_released_all_the_same) {
    operation& op = h.lock("a");
    h.connect();
    h.reply(granted());
    h.break_connection();
    h.connect(2);
    h.sent();
    h.reply(integer(1), error("OOM command not allowed when used memory > 'maxmemory'."));
    EXPECT_TRUE(op.ended(errc::out_of_memory));
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
}

TEST_F(engine_replicas_loss, a_waiter_that_gives_up_without_a_connection_is_released_on_the_next) {
    operation& op = h.lock("a");
    h.connect();
    h.reply(granted());
    h.break_connection();
    h.sent();
    h.cancel(op);
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", release_of("a", 1)}));
}

TEST_F(engine_replicas_loss, a_plain_lock_that_is_repeated_asks_by_the_script) {
    h.use(conch::protocol::value_lock_protocol, "a", one_replica);
    operation& op = h.lock("a");
    h.connect();
    EXPECT_EQ(h.sent(), (lines{"SET a c:1 NX PX 30000", wait_one}));
    h.reply(ok());
    h.break_connection();
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", "value_acquire a c:1 30000 0"}));
    h.reply(integer(1), granted());
    h.reply(integer(1));
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_replicas_loss, a_server_that_knows_no_wait_is_told_and_the_lock_given_back) {
    operation& op = h.lock("a");
    h.connect();
    h.sent();
    h.reply(granted(), error("ERR unknown command 'WAIT', with args beginning with: '1' '100' "));
    EXPECT_TRUE(op.ended(errc::server_error));
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    EXPECT_TRUE(h.engine.last_words().starts_with("ERR unknown command 'WAIT'"));
    EXPECT_EQ(h.counters().not_replicated, 0u);
}

TEST_F(engine_replicas_loss, a_user_who_may_not_wait_is_told_and_the_lock_given_back) {
    operation& op = h.lock("a");
    h.connect();
    h.reply(granted(), error("NOPERM this user has no permissions to run the 'wait' command"));
    EXPECT_TRUE(op.ended(errc::permission_denied));
}

TEST_F(engine_replicas_loss, a_wait_that_a_failover_ended_is_asked_again) {
    operation& op = h.lock("a");
    h.connect();
    h.sent();
    h.reply(granted(), error("UNBLOCKED force unblock from blocking operation, instance state "
                             "changed (master -> replica?)"));
    h.break_connection();
    EXPECT_FALSE(op.done());
    h.connect(2, "another");
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 1)});
    h.reply(granted());
    EXPECT_EQ(h.sent(), lines{wait_one});
    h.reply(integer(1));
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_replicas_loss, a_replica_in_the_place_of_the_master_is_told) {
    operation& op = h.lock("a");
    h.connect();
    h.reply(granted(), error("ERR WAIT cannot be used with replica instances."));
    EXPECT_TRUE(op.ended(errc::read_only));
}

TEST_F(engine_replicas_loss, an_acknowledgement_after_the_lease_grants_nothing) {
    operation& op = h.lock("a", {.lease = 400ms});
    h.connect();
    h.sent();
    h.reply(granted());
    h.advance(500ms);
    h.reply(integer(1));
    EXPECT_FALSE(op.done());
    EXPECT_EQ(h.sent(),
              (lines{release_of("a", 1), subscribe_of("a"), acquire_of("a", 2, 400), wait_one}));
}

TEST_F(engine_replicas_loss, a_server_that_does_not_answer_the_wait_is_given_up) {
    operation& op = h.lock("a");
    h.connect();
    h.reply(granted());
    const auto connection = h.engine.wanted_connection(lone_durable_link);
    h.advance(3s);
    EXPECT_NE(h.engine.wanted_connection(lone_durable_link), connection);
    h.advance(60s);
    EXPECT_TRUE(op.ended(errc::not_connected));
}

TEST_F(engine_replicas_loss, a_close_between_both_answers_ends_the_waiter) {
    operation& op = h.lock("a");
    h.connect();
    h.reply(granted());
    h.close();
    EXPECT_TRUE(op.ended(errc::client_closed));
}

TEST_F(engine_replicas_loss, a_shutdown_between_both_answers_releases) {
    operation& op = h.lock("a");
    h.connect();
    h.reply(granted());
    h.sent();
    h.shutdown();
    EXPECT_TRUE(op.ended(errc::client_closed));
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    h.reply(integer(1), integer(0));
    EXPECT_TRUE(h.engine.drained());
}

TEST_F(engine_replicas_loss, a_reason_that_lasts_ends_them_and_no_others) {
    operation& op = h.lock("a");
    operation& other = h.lock("other");
    h.connect_and_refuse("WRONGPASS invalid username-password pair or user is disabled.");
    EXPECT_TRUE(op.ended(errc::authentication_failed));
    EXPECT_FALSE(other.done());
}

}  // namespace
