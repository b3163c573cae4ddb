// SPDX-License-Identifier: BSL-1.0
// A lock with fencing tokens passes between waiters of one client in one script: the acquire of the
// next takes it from the last, whose release it is.
#include "unit/engine/harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

conch::config four_passes() {
    conch::config c = quiet();
    c.max_passes = 4;
    c.max_pass_time = 500ms;
    return c;
}

std::string fenced_acquire(int n) {
    return "acquire a redisson_lock_token:{a} c:" + std::to_string(n) + " 30000 604800000";
}
std::string taken_over(int n, int from) { return fenced_acquire(n) + " c:" + std::to_string(from); }

// Somebody holds "a", and nothing is left to read of that.
class engine_hand_over : public testing::Test {
protected:
    engine_hand_over() {
        h.use(conch::protocol::mutex_protocol, "a", {.fenced = true});
        holder = h.grant("a");
    }

    // The holder unlocks where another waits: one script is on its way for both.
    operation& hand_over() {
        operation& unlocked = h.unlock(holder);
        EXPECT_EQ(h.sent(), lines{taken_over(2, 1)});
        EXPECT_FALSE(unlocked.done());
        return unlocked;
    }

    engine_harness h{four_passes()};
    conch::impl::view_ptr holder{};
};

TEST_F(engine_hand_over, one_script_releases_the_one_and_grants_the_other) {
    operation& next = h.lock("a");
    h.advance(3ms);
    operation& unlocked = hand_over();
    const auto sent = h.now();
    h.advance(1ms);
    h.reply(granted("1001"));
    EXPECT_TRUE(unlocked.ended({}));
    ASSERT_TRUE(next.granted());
    EXPECT_EQ(next.view->fence, 1'001u);
    EXPECT_EQ(valid_until(next.view), conch::core::lease_end(sent, 30s));
    EXPECT_EQ(h.counters().hand_offs, 1u);
    EXPECT_EQ(h.counters().releases, 1u);
    EXPECT_EQ(h.counters().acquisitions, 2u);
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_hand_over, of_a_hold_released_in_the_background_too) {
    operation& next = h.lock("a");
    h.release(holder);
    EXPECT_EQ(h.sent(), lines{taken_over(2, 1)});
    h.reply(granted("1001"));
    EXPECT_TRUE(next.granted());
}

TEST_F(engine_hand_over, of_a_token_mutex_too) {
    h.use(conch::protocol::value_lock_protocol, "b", {.fenced = true});
    const auto held = h.grant("b");
    h.lock("b");
    h.release(held);
    EXPECT_EQ(h.sent(),
              lines{"value_acquire b conch_token_mutex_fence:{b} c:3 30000 604800000 c:2"});
}

TEST_F(engine_hand_over, after_max_passes_others_hear_of_a_release) {
    for (int i = 0; i < 6; ++i) {
        h.lock("a");
    }
    for (int n = 2; n <= 4; ++n) {
        h.release(holder);
        EXPECT_EQ(h.sent(), lines{taken_over(n, n - 1)});
        h.reply(granted("9"));
        holder = h.operation_at(static_cast<std::size_t>(n) - 1).view;
        ASSERT_TRUE(holder);
    }
    h.release(holder);
    EXPECT_EQ(h.sent(), (lines{release_of("a", 4), fenced_acquire(5)}));
    h.reply(integer(0), granted("9"));  // nobody else waits: a row begins anew
    holder = h.operation_at(4).view;
    ASSERT_TRUE(holder);
    h.release(holder);
    EXPECT_EQ(h.sent(), lines{taken_over(6, 5)});
}

TEST(engine_hand_over_of_contender, it_need_not_try_itself) {
    engine_harness h{four_passes()};
    h.use(conch::protocol::mutex_protocol, "a", {.fenced = true});
    operation& first = h.lock("a");
    operation& second = h.lock("a");
    h.connect();
    h.reply(busy(5'000));
    h.reply(subscribed("a"), granted("9"));
    h.sent();
    operation& unlocked = h.unlock(first.view);
    EXPECT_EQ(h.sent(), lines{taken_over(3, 2)});
    h.reply(granted("9"));
    EXPECT_TRUE(unlocked.ended({}));
    EXPECT_TRUE(second.granted());
    EXPECT_EQ(h.sent(), lines{unsubscribe_of("a")}) << "nobody waits any more";
}

TEST_F(engine_hand_over, a_lock_that_another_has_is_lost_and_waited_for) {
    operation& next = h.lock("a");
    operation& unlocked = hand_over();
    h.reply(busy(5'000));
    EXPECT_TRUE(unlocked.ended(errc::lock_lost));
    EXPECT_FALSE(next.done());
    EXPECT_EQ(h.sent(), (lines{subscribe_of("a"), fenced_acquire(3)}));
    h.reply(subscribed("a"), granted("9"));
    EXPECT_TRUE(next.granted());
}

TEST_F(engine_hand_over, a_lock_that_nobody_has_is_lost_and_taken) {
    operation& next = h.lock("a");
    operation& unlocked = hand_over();
    h.reply(integer(-2));
    EXPECT_TRUE(unlocked.ended(errc::lock_lost));
    EXPECT_EQ(h.sent(), lines{fenced_acquire(3)});
    h.reply(granted("9"));
    EXPECT_TRUE(next.granted());
}

TEST_F(engine_hand_over, what_is_refused_is_released_by_itself) {
    operation& next = h.lock("a");
    operation& unlocked = hand_over();
    h.reply(error("OOM command not allowed when used memory > 'maxmemory'."));
    EXPECT_TRUE(next.ended(errc::out_of_memory));
    EXPECT_FALSE(unlocked.done());
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    h.reply(integer(0));
    EXPECT_TRUE(unlocked.ended({}));
}

TEST_F(engine_hand_over, what_is_unintelligible_is_released_by_itself) {
    operation& next = h.lock("a");
    operation& unlocked = hand_over();
    h.reply(std::string{"_\r\n"});
    EXPECT_FALSE(unlocked.done());
    EXPECT_TRUE(next.ended(errc::protocol_error));
    const lines sent = h.sent();
    ASSERT_FALSE(sent.empty());
    EXPECT_EQ(sent.front(), release_of("a", 1));
}

TEST_F(engine_hand_over, a_waiter_that_leaves_before_it_is_sent_leaves_a_release) {
    operation& next = h.lock("a");
    h.turn([&] {
        h.unlock(holder);
        h.cancel(next);
    });
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    h.reply(integer(0));
    EXPECT_TRUE(h.operation_at(2).ended({}));
}

TEST_F(engine_hand_over, a_waiter_that_leaves_after_it_was_sent_is_released) {
    operation& next = h.lock("a");
    operation& unlocked = hand_over();
    h.cancel(next);
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_FALSE(unlocked.done());
    h.reply(granted("9"));
    EXPECT_TRUE(unlocked.ended({}));
    EXPECT_EQ(h.sent(), lines{release_of("a", 2)});
}

TEST_F(engine_hand_over, the_next_waiter_inherits_it) {
    operation& gone = h.lock("a");
    operation& next = h.lock("a");
    operation& unlocked = hand_over();
    h.cancel(gone);
    h.reply(granted("9"));
    EXPECT_TRUE(unlocked.ended({}));
    EXPECT_TRUE(next.granted());
}

/// The connection broke with the script unanswered.
class engine_hand_over_of_doubt : public engine_hand_over {
protected:
    void SetUp() override {
        h.lock("a");
        hand_over();
        h.break_connection();
    }
    operation& next() { return h.operation_at(1); }
    operation& unlocked() { return h.operation_at(2); }
};

TEST_F(engine_hand_over_of_doubt, it_is_sent_again) {
    h.connect(2, "2222");
    EXPECT_EQ(h.sent(), lines{taken_over(2, 1)});
    h.reply(granted("1001"));
    EXPECT_TRUE(unlocked().ended({}));
    EXPECT_TRUE(next().granted());
}

TEST_F(engine_hand_over_of_doubt, the_first_copy_may_have_released_what_is_gone) {
    h.connect(2, "2222");
    h.sent();
    h.reply(integer(-2));
    EXPECT_TRUE(unlocked().ended({}));
    EXPECT_FALSE(next().done());
}

TEST_F(engine_hand_over_of_doubt, a_waiter_that_leaves_meanwhile_leaves_two_releases) {
    h.cancel(next());
    h.connect(2, "2222");
    lines sent = h.sent();
    std::sort(sent.begin(), sent.end());
    EXPECT_EQ(sent, (lines{release_of("a", 1), release_of("a", 2)}));
    h.reply(integer(-1), integer(-1));
    EXPECT_TRUE(unlocked().ended({})) << "the first copy may have done it";
}

TEST(engine_hand_over_unanswered, the_unlock_ends_with_the_lease_and_goes_on_by_itself) {
    engine_harness h{four_passes()};
    h.use(conch::protocol::mutex_protocol, "a", {.fenced = true});
    const auto holder = h.grant("a", {.lease = 1s});
    operation& next = h.lock("a");
    h.advance(3ms);
    operation& unlocked = h.unlock(holder);
    EXPECT_EQ(h.sent(), lines{taken_over(2, 1)});
    h.advance(conch::core::lease_end(h.now(), 1s) - h.now() - 3ms);
    EXPECT_TRUE(unlocked.ended(errc::lease_expired));
    EXPECT_EQ(unlocked.at, valid_until(holder));
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    h.reply(granted("1001"));
    EXPECT_TRUE(next.granted());
    h.reply(integer(-1));
    EXPECT_EQ(h.counters().releases, 0u);
}

/// The hold that was to be handed over ended with its lease, unanswered; another is held meanwhile.
class engine_hand_over_too_late : public testing::Test {
protected:
    engine_hand_over_too_late() {
        h.use(conch::protocol::mutex_protocol, "a", {.fenced = true});
        const auto holder = h.grant("a", {.lease = 1s});
        h.grant("b");
        h.lock("a");
        h.unlock(holder);
        EXPECT_EQ(h.sent(), lines{"acquire a redisson_lock_token:{a} c:3 30000 604800000 c:1"});
    }
    void connect_again() {
        h.connect(2, "2222");
        EXPECT_EQ(h.sent(), (lines{release_of("a", 1), renew_of("b", 2), fenced_acquire(3)}))
            << "all that is held is checked before another lock is tried";
    }

    engine_harness h{four_passes()};
};

TEST_F(engine_hand_over_too_late, what_waits_for_a_connection_is_an_acquire_like_others) {
    h.break_connection();
    h.advance(1s);
    connect_again();
}

TEST_F(engine_hand_over_too_late, what_was_sent_is_sent_again_as_an_acquire_like_others) {
    h.advance(1s);
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    h.break_connection();
    connect_again();
}

TEST_F(engine_hand_over, a_waiter_that_left_a_broken_connection_leaves_two_releases) {
    operation& next = h.lock("a");
    operation& unlocked = hand_over();
    h.cancel(next);
    h.break_connection();
    h.connect(2, "2222");
    lines sent = h.sent();
    std::sort(sent.begin(), sent.end());
    EXPECT_EQ(sent, (lines{release_of("a", 1), release_of("a", 2)}));
    h.reply(integer(-1), integer(-1));
    EXPECT_TRUE(unlocked.ended({})) << "the first copy may have done it";
}

TEST_F(engine_hand_over, who_wants_no_token_acquires_by_itself) {
    h.use(conch::protocol::mutex_protocol, "a", {});
    h.lock("a");
    h.release(holder);
    EXPECT_EQ(h.sent(), (lines{release_of("a", 1), acquire_of("a", 2)}));
}

TEST_F(engine_hand_over, an_expired_hold_is_released_by_itself) {
    conch::impl::view_ptr& late = holder;
    h.lock("a");
    h.skip(conch::core::lease_end(h.now(), 30s) - h.now());
    h.unlock(late);
    const lines sent = h.sent();
    ASSERT_FALSE(sent.empty());
    EXPECT_EQ(sent.front(), release_of("a", 1));
}

TEST_F(engine_hand_over, a_release_without_a_connection_is_one_by_itself) {
    h.lock("a");
    h.break_connection();
    h.unlock(holder);
    h.connect(2, "2222");
    const lines sent = h.sent();
    ASSERT_FALSE(sent.empty());
    EXPECT_EQ(sent.front(), release_of("a", 1));
}

TEST_F(engine_hand_over, closing_ends_both) {
    operation& next = h.lock("a");
    operation& unlocked = hand_over();
    h.close();
    EXPECT_TRUE(next.ended(errc::client_closed));
    EXPECT_TRUE(unlocked.ended(errc::client_closed));
}

}  // namespace
