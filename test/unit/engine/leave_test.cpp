// SPDX-License-Identifier: BSL-1.0
// A hold that is given up while the lock stays for a while.
#include "unit/engine/cluster_engine.hpp"
#include "unit/engine/shared.hpp"

#include <conch/owner.hpp>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;
using conch::impl::view_ptr;

TEST(engine_leave, makes_a_lease_shorter_with_a_script_that_can_not_make_it_longer) {
    engine_harness h;
    const view_ptr v = h.grant("a");
    operation& left = h.leave(v, 5s);
    EXPECT_EQ(h.sent(), lines{lower_of("a", 1, 5000)});
    EXPECT_FALSE(left.done());
    h.reply(array(integer(1)));
    EXPECT_TRUE(left.ended({}));
    EXPECT_EQ(lost(v), errc{});
    EXPECT_EQ(h.counters().holds_now, 0u);
}

TEST(engine_leave, makes_a_lease_longer_and_no_longer_than_that) {
    engine_harness h;
    const view_ptr v = h.grant("a");
    operation& left = h.leave(v, 300s);
    EXPECT_EQ(h.sent(), lines{"renew a a c:1 300000 c:1 -300000"});
    h.reply(array(integer(1), integer(1)));
    EXPECT_TRUE(left.ended({}));
}

TEST(engine_leave, is_the_end_of_renewal_and_of_every_release) {
    engine_harness h;
    const view_ptr v = h.grant("a");
    operation& watched = h.wait_lost(v);
    h.leave(v, 300s);
    EXPECT_TRUE(watched.ended({}));
    h.sent();
    h.reply(array(integer(1), integer(1)));
    h.advance(60s);
    h.release(v);
    EXPECT_TRUE(h.unlock(v).ended(errc::already_released));
    h.shutdown();
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_TRUE(h.engine.drained());
}

TEST(engine_leave, asks_for_less_when_it_is_repeated) {
    engine_harness h;
    const view_ptr v = h.grant("a");
    operation& left = h.leave(v, 20s);
    EXPECT_EQ(h.sent(), lines{lower_of("a", 1, 20'000)});
    h.break_connection();
    h.advance(1s);
    h.connect(2);
    const auto repeated = h.sent_commands();
    ASSERT_EQ(repeated.size(), 2u) << "CLIENT KILL comes first";
    const auto asked = std::stoll(repeated[1].args.at(1));
    EXPECT_LE(asked, -1);
    EXPECT_GE(asked, -19'000) << "so long it is to last still";
    h.reply(integer(1), array(integer(1)));
    EXPECT_TRUE(left.ended({}));
}

TEST(engine_leave, that_comes_after_its_time_leaves_nothing) {
    engine_harness h;
    const view_ptr v = h.grant("a");
    h.leave(v, 100ms);
    h.sent();
    h.break_connection();
    h.advance(1s);
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", lower_of("a", 1, 1)}));
    h.reply(integer(1), array(integer(0)));
}

TEST(engine_leave, that_may_have_run_is_told_if_the_lock_is_gone_before_its_time) {
    engine_harness h;
    const view_ptr v = h.grant("a");
    operation& left = h.leave(v, 300s);
    h.sent();
    h.break_connection();
    h.connect(2);
    h.sent();
    h.reply(integer(1), array(integer(0), integer(0)));
    EXPECT_TRUE(left.ended(errc::lock_lost)) << "somebody took it away";
}

TEST(engine_leave, of_a_lock_that_is_gone_is_told) {
    engine_harness h;
    const view_ptr v = h.grant("a");
    operation& left = h.leave(v, 5s);
    h.reply(array(integer(0)));
    EXPECT_TRUE(left.ended(errc::lock_lost));
}

TEST(engine_leave, that_the_server_refuses_is_told_and_tried_again) {
    engine_harness h;
    const view_ptr v = h.grant("a");
    operation& left = h.leave(v, 300s);
    h.sent();
    h.reply(array(bulk("NOPERM no"), bulk("NOPERM no")));
    EXPECT_TRUE(left.ended(errc::permission_denied));
    h.advance(50ms);
    EXPECT_EQ(h.sent(), lines{"renew a a c:1 299950 c:1 -299950"});
    h.reply(array(integer(1), integer(1)));
    h.advance(60s);
    EXPECT_EQ(h.sent(), lines{});
}

TEST(engine_leave, without_an_answer_is_not_waited_for_beyond_the_operation_timeout) {
    engine_harness h;
    const view_ptr v = h.grant("a");
    operation& left = h.leave(v, 300s);
    h.sent();
    h.break_connection();
    h.advance(h.settings.operation_timeout);
    EXPECT_TRUE(left.ended(errc::not_connected));
    h.connect(2);
    EXPECT_EQ(h.sent_commands().size(), 2u) << "it goes on";
    h.reply(integer(1), array(integer(1), integer(1)));
    EXPECT_EQ(h.engine.unsettled(), 0u);
}

TEST(engine_leave, for_no_time_or_for_ever_is_refused_and_the_hold_is_as_it_was) {
    engine_harness h;
    const view_ptr v = h.grant("a");
    EXPECT_TRUE(h.leave(v, 9ms).ended(errc::invalid_lease));
    EXPECT_TRUE(h.leave(v, 24h * 366).ended(errc::invalid_lease));
    EXPECT_TRUE(h.leave(nullptr, 1s).ended(errc::not_owner));
    EXPECT_EQ(h.sent(), lines{});
    h.advance(10s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1)});
    h.reply(array(integer(1)));
}

TEST(engine_leave, of_one_level_leaves_the_others_held) {
    engine_harness h;
    const conch::owner me;
    const view_ptr outer = h.grant("a", {.owner = &me});
    operation& nested = h.lock("a", {.owner = &me});
    h.sent();
    h.reply(integer(1));
    operation& left = h.leave(nested.view, 5s);
    EXPECT_EQ(h.sent(), lines{nest_of("a", 1, 1)});
    h.reply(integer(1));
    EXPECT_TRUE(left.ended({}));
    h.leave(outer, 5s);
    EXPECT_EQ(h.sent(), lines{lower_of("a", 1, 5000)});
    h.reply(array(integer(1)));
}

TEST(engine_leave, passes_the_lock_to_no_waiter_of_this_client) {
    engine_harness h;
    const view_ptr v = h.grant("a");
    operation& waiting = h.lock("a");
    h.advance(20ms);
    h.sent();
    h.leave(v, 5s);
    h.sent();
    h.advance(1s);
    EXPECT_FALSE(waiting.done());
    h.cancel(waiting);
}

TEST(engine_leave, is_done_in_the_order_of_calls_before_a_renewal_that_waits) {
    engine_harness h;
    const view_ptr v = h.grant("a");
    h.block_writes();
    h.advance(10s);
    h.leave(v, 60s);
    h.unblock_writes();
    const lines all = h.sent();
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all.back(), "renew a a c:1 60000 c:1 -60000");
}

using engine_leave_cluster = plain_cluster_engine;

TEST_F(engine_leave_cluster, that_a_replica_refuses_goes_to_the_master_in_its_place) {
    operation& left = leave(hold("a"), 5s);
    EXPECT_EQ(sent("m1"), lines{lower_of("a", 1, 5000)});
    reply("m1", array(bulk("READONLY You can't write against a read only replica.")));
    EXPECT_FALSE(left.done());
    learn_again("r1", "m2");
    connect("r1", "2222");
    EXPECT_EQ(sent("r1"), lines{"renew a a c:1 5000 c:1 -5000"}) << "what it has isn't known";
    reply("r1", array(integer(1), integer(1)));
    EXPECT_TRUE(left.ended({}));
    EXPECT_TRUE(nothing_is_left());
}

class engine_leave_shared : public engine_shared {};

TEST_F(engine_leave_shared, keeps_a_reader_at_both_of_its_keys) {
    const view_ptr v = reader();
    operation& left = h.leave(v, 5s);
    EXPECT_EQ(h.sent(), lines{"shared_renew a " + timeout_of(1) + " c:1 -5000"});
    h.reply(array(integer(1)));
    EXPECT_TRUE(left.ended({}));
}

TEST_F(engine_leave_shared, of_what_may_be_a_reader_or_a_writer_releases) {
    const view_ptr v = writer();
    h.downgrade(v);
    h.sent();
    operation& left = h.leave(v, 5s);
    EXPECT_TRUE(left.ended(errc::outcome_unknown));
    EXPECT_TRUE(h.sent().at(0).starts_with("shared_release a "));
}

}  // namespace
