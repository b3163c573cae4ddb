// SPDX-License-Identifier: BSL-1.0
#include "unit/engine/harness.hpp"

#include <gtest/gtest.h>

// Acquisitions of one owner nest: rule 1.
namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

struct engine_nesting : testing::Test {
    conch::owner me;
    conch::lock_options mine{.owner = &me};
    engine_harness h{};
    conch::impl::view_ptr outer = h.grant("a", mine);

    conch::impl::view_ptr nest() {
        operation& op = h.lock("a", mine);
        h.sent();
        h.reply(integer(1));
        EXPECT_TRUE(op.granted());
        return op.view;
    }
};

TEST_F(engine_nesting, a_deeper_level_writes_the_depth_as_it_shall_be) {
    operation& second = h.lock("a", mine);
    operation& third = h.lock("a", mine);
    EXPECT_EQ(h.sent(), (lines{nest_of("a", 1, 2), nest_of("a", 1, 3)}));
    h.reply(integer(1), integer(1));
    EXPECT_TRUE(second.granted());
    EXPECT_TRUE(third.granted());
    EXPECT_EQ(second.view->fence, outer->fence);
}

TEST_F(engine_nesting, a_change_that_a_later_one_overtook_writes_the_depth_of_now) {
    operation& second = h.lock("a", mine);
    EXPECT_EQ(h.sent(), lines{nest_of("a", 1, 2)});
    h.reply(error("LOADING Redis is loading the dataset in memory"));
    operation& third = h.lock("a", mine);
    EXPECT_EQ(h.sent(), lines{nest_of("a", 1, 3)});
    h.reply(integer(1));
    EXPECT_TRUE(third.granted());
    lines late;
    while (late.empty() && !second.done()) {
        h.advance(10ms);
        late = h.sent();
    }
    EXPECT_EQ(late, lines{nest_of("a", 1, 3)}) << "it is written last";
    h.reply(integer(1));
    EXPECT_TRUE(second.granted());
}

TEST_F(engine_nesting, an_answer_that_is_none_loses_no_hold) {
    for (const std::string& none :
         {bulk("1"), integer(5), std::string{"_\r\n"}, array(integer(1))}) {
        operation& op = h.lock("a", mine);
        EXPECT_EQ(h.sent(), lines{nest_of("a", 1, 2)});
        h.reply(none);
        EXPECT_TRUE(op.ended(errc::protocol_error)) << none;
        EXPECT_EQ(lost(outer), errc{}) << none;
        EXPECT_EQ(h.sent(), lines{nest_of("a", 1, 1)}) << "it may have been entered";
        h.reply(integer(1));
    }
}

TEST_F(engine_nesting, a_try_nests_as_well) {
    operation& op = h.try_lock("a", mine);
    EXPECT_EQ(h.sent(), lines{nest_of("a", 1, 2)});
    h.reply(integer(1));
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_nesting, another_owner_waits) {
    const conch::owner other;
    operation& op = h.lock("a", {.owner = &other});
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_FALSE(op.done());
}

TEST_F(engine_nesting, nobody_in_particular_waits) {
    EXPECT_FALSE(h.lock("a").done());
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_nesting, a_deeper_level_does_not_queue_behind_other_waiters) {
    h.lock("a");
    operation& op = h.lock("a", mine);
    EXPECT_EQ(h.sent(), lines{nest_of("a", 1, 2)});
    h.reply(integer(1));
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_nesting, all_levels_share_one_deadline) {
    h.advance(5s);
    const auto inner = nest();
    EXPECT_EQ(valid_until(inner), valid_until(outer));
    EXPECT_EQ(valid_until(outer), conch::core::lease_end(h.now(), 30s));
}

TEST_F(engine_nesting, that_deadline_counts_from_the_write_of_a_deeper_level_not_from_its_answer) {
    h.advance(5s);
    const auto sent = h.now();
    operation& op = h.lock("a", mine);
    h.advance(1s);
    h.reply(integer(1));
    ASSERT_TRUE(op.granted());
    EXPECT_EQ(valid_until(outer), sent + 30s - 752ms) << "a fortieth of the lease, and 2 ms";
    EXPECT_EQ(valid_until(op.view), valid_until(outer));
}

TEST_F(engine_nesting, a_deeper_level_gives_up_on_a_server_that_goes_on_loading) {
    operation& op = h.lock("a", mine);
    for (int i = 0; i < 200 && !op.done(); ++i) {
        for (std::size_t n = h.sent().size(); n > 0; --n) {
            h.reply(error("LOADING Redis is loading the dataset in memory"));
        }
        h.advance(100ms);
    }
    EXPECT_TRUE(op.ended(errc::server_unavailable)) << "after " << h.elapsed() / 1s << " s";
    EXPECT_EQ(lost(outer), errc{});
}

TEST_F(engine_nesting, a_deeper_level_on_a_lost_hold_tells_all_levels_and_makes_no_key) {
    operation& watch = h.wait_lost(outer);
    operation& op = h.lock("a", mine);
    h.sent();
    h.reply(integer(0));
    EXPECT_TRUE(op.ended(errc::lock_lost));
    EXPECT_TRUE(watch.ended(errc::lock_lost));
    EXPECT_EQ(lost(outer), errc::lock_lost);
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_EQ(h.counters().slots_now, 0u);
}

TEST_F(engine_nesting, leaving_a_level_writes_the_depth_that_remains) {
    const auto inner = nest();
    operation& op = h.unlock(inner);
    EXPECT_EQ(h.sent(), lines{nest_of("a", 1, 1)});
    EXPECT_FALSE(op.done());
    h.reply(integer(1));
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(lost(outer), errc{});
}

TEST_F(engine_nesting, levels_may_be_left_in_any_order) {
    const auto inner = nest();
    h.unlock(outer);
    EXPECT_EQ(h.sent(), lines{nest_of("a", 1, 1)});
    h.reply(integer(1));
    operation& last = h.unlock(inner);
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    h.reply(integer(0));
    EXPECT_TRUE(last.ended({}));
    EXPECT_EQ(h.counters().slots_now, 0u);
}

TEST_F(engine_nesting, the_last_level_deletes_the_field_even_while_a_level_is_being_left) {
    const auto inner = nest();
    h.block_writes();
    operation& first = h.unlock(inner);
    operation& last = h.unlock(outer);
    h.unblock_writes();
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    EXPECT_TRUE(first.ended({}));
    h.reply(integer(0));
    EXPECT_TRUE(last.ended({}));
}

TEST_F(engine_nesting, a_waiter_of_the_same_owner_that_queued_before_the_grant_nests) {
    const conch::owner you;
    const conch::lock_options yours{.owner = &you};
    operation& first = h.lock("b", yours);
    operation& second = h.lock("b", yours);
    EXPECT_EQ(h.sent(), lines{acquire_of("b", 2)});
    h.reply(granted());
    EXPECT_TRUE(first.granted());
    EXPECT_EQ(h.sent(), lines{nest_of("b", 2, 2)});
    h.reply(integer(1));
    EXPECT_TRUE(second.granted());
}

TEST_F(engine_nesting, the_next_acquisition_of_the_owner_has_a_fresh_field) {
    h.unlock(outer);
    h.lock("a", mine);
    EXPECT_EQ(h.sent(), (lines{release_of("a", 1), acquire_of("a", 2)}));
}

TEST_F(engine_nesting, a_cancelled_deeper_level_is_taken_back) {
    operation& op = h.lock("a", mine);
    h.sent();
    h.cancel(op);
    EXPECT_TRUE(op.done());
    h.reply(integer(1));
    EXPECT_EQ(h.sent(), lines{nest_of("a", 1, 1)});
    EXPECT_EQ(h.counters().holds_now, 1u);
}

TEST_F(engine_nesting, a_lock_whose_only_other_level_was_cancelled_is_released_with_the_last) {
    operation& op = h.lock("a", mine);
    h.unlock(outer);
    h.cancel(op);
    h.sent();
    h.reply(integer(1), integer(1));
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    h.reply(integer(0));
    EXPECT_EQ(h.counters().slots_now, 0u);
}

TEST_F(engine_nesting,
       the_last_wanted_level_deletes_the_field_though_a_cancelled_one_is_on_its_way) {
    operation& cancelled = h.lock("a", mine);
    h.sent();
    h.cancel(cancelled);
    operation& unlock = h.unlock(outer);
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)}) << "success must mean that it is free";
    h.reply(integer(1), integer(0));
    EXPECT_TRUE(unlock.ended({}));
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_EQ(h.counters().slots_now, 0u);
}

TEST_F(engine_nesting, a_detached_lock_keeps_its_key_though_a_cancelled_level_is_on_its_way) {
    operation& cancelled = h.lock("a", mine);
    h.sent();
    h.cancel(cancelled);
    h.detach(outer);
    h.reply(integer(1));
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_EQ(h.counters().slots_now, 0u);
}

TEST_F(engine_nesting, a_level_that_is_being_entered_keeps_the_lock_when_the_others_are_left) {
    operation& second = h.lock("a", mine);
    h.unlock(outer);
    EXPECT_EQ(h.sent(), (lines{nest_of("a", 1, 2), nest_of("a", 1, 1)}));
    h.reply(integer(1), integer(1));
    EXPECT_TRUE(second.granted());
    EXPECT_EQ(h.counters().holds_now, 1u);
}

TEST_F(engine_nesting, a_refused_deeper_level_leaves_the_outer_hold_alone) {
    operation& op = h.lock("a", mine);
    h.sent();
    h.reply(error("OOM command not allowed when used memory > 'maxmemory'."));
    EXPECT_TRUE(op.ended(errc::out_of_memory));
    EXPECT_EQ(lost(outer), errc{});
    EXPECT_EQ(h.counters().holds_now, 1u);
}

TEST_F(engine_nesting, a_deeper_level_is_replayed_after_the_link_broke) {
    operation& op = h.lock("a", mine);
    h.break_connection();
    h.sent();
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", nest_of("a", 1, 2), renew_of("a", 1)}));
    h.reply(integer(1), integer(1));
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_nesting, a_level_on_its_way_ends_with_the_hold_at_its_deadline) {
    const conch::lock_options brief{.lease = 1s, .renew = false, .owner = &me};
    h.grant("b", brief);
    h.block_writes();
    operation& op = h.lock("b", brief);
    h.skip(1s);
    h.turn();
    EXPECT_TRUE(op.ended(errc::lease_expired));
}

TEST_F(engine_nesting, leaving_a_level_of_a_lost_hold_says_so) {
    const auto inner = nest();
    operation& op = h.unlock(inner);
    h.sent();
    h.reply(integer(0));
    EXPECT_TRUE(op.ended(errc::lock_lost));
    EXPECT_EQ(lost(outer), errc::lock_lost);
}

TEST_F(engine_nesting, the_last_level_may_be_detached_while_another_is_being_left) {
    const auto inner = nest();
    operation& op = h.unlock(inner);
    h.sent();
    h.detach(outer);
    h.reply(integer(1));
    EXPECT_EQ(op.completions, 1);
    EXPECT_EQ(h.counters().slots_now, 0u);
}

TEST_F(engine_nesting, a_deeper_level_of_an_extended_hold_sends_what_is_left) {
    const conch::lock_options brief{.lease = 1s, .renew = false, .owner = &me};
    const auto hold = h.grant("b", brief);
    h.extend(hold, 40s);
    h.sent();
    h.reply(array(integer(1)));
    h.lock("b", brief);
    EXPECT_EQ(h.sent(), lines{nest_of("b", 2, 2, 40'000)}) << "a key may have lost its TTL";
}

TEST_F(engine_nesting, a_deeper_level_does_not_outlive_max_hold) {
    h.grant("b", {.max_hold = 10s, .owner = &me});
    for (int i = 0; i < 9; ++i) {
        h.advance(1s);
        if (!h.sent().empty()) {
            h.reply(array(integer(1)));
        }
    }
    h.lock("b", {.max_hold = 10s, .owner = &me});
    const auto commands = h.sent_commands();
    ASSERT_EQ(commands.size(), 1u);
    EXPECT_EQ(commands[0].name, "nest");
    EXPECT_LE(std::stol(commands[0].args.at(2)), 1100) << "rule 13: max_hold clamps the lease";
}

}  // namespace
