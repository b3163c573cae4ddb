// SPDX-License-Identifier: BSL-1.0
#include "unit/engine_harness.hpp"

#include <gtest/gtest.h>

// Who releases and wants the lock again in the same turn of its loop: others who wait have their
// turn nevertheless.
namespace {

using namespace conch::test;
using namespace std::chrono_literals;

conch::config passing(unsigned most) {
    conch::config c = quiet();
    c.max_passes = most;
    return c;
}

// Its user holds the lock, others are known to wait, and one more pass is allowed.
class engine_owed_turn : public testing::Test {
protected:
    engine_owed_turn() {
        holder = h.grant("a");
        h.turn([&] {
            h.release(holder);
            h.lock("a");
        });
        h.sent();
        h.reply(integer(3), granted());  // others heard of it, too late
        holder = h.operation_at(1).view;
    }

    engine_harness h{passing(2)};
    conch::impl::view_ptr holder{};
};

TEST_F(engine_owed_turn, it_is_owed_still_when_the_waiters_left_during_it) {
    operation* waiter = nullptr;
    h.turn([&] {
        h.release(holder);
        waiter = &h.lock("a");
    });
    ASSERT_EQ(h.sent(), (lines{release_of("a", 2), acquire_of("a", 3)}));
    h.reply(integer(3), granted());
    h.turn([&] {
        h.release(waiter->view);
        waiter = &h.lock("a");
    });
    EXPECT_EQ(h.sent(), (lines{release_of("a", 3), subscribe_of("a")}));
    h.cancel(*waiter);
    h.sent();
    operation& next = h.lock("a");
    for (const std::string& line : h.sent()) {
        EXPECT_FALSE(line.starts_with("acquire")) << line;
    }
    EXPECT_FALSE(next.done());
    h.reply(integer(3), subscribed("a"), unsubscribed("a"));
    h.advance(1ms);
    EXPECT_EQ(h.sent(), (lines{subscribe_of("a"), acquire_of("a", 4)}));
    h.reply(subscribed("a"), granted());
    EXPECT_TRUE(next.granted());
}

TEST_F(engine_owed_turn, a_try_without_wait_asks_at_once_though_it_is_owed) {
    operation* waiter = nullptr;
    h.turn([&] {
        h.release(holder);
        waiter = &h.lock("a");
    });
    h.sent();
    h.reply(integer(3), granted());
    h.turn([&] {
        h.release(waiter->view);
        waiter = &h.lock("a");
    });
    h.cancel(*waiter);
    h.sent();
    h.try_lock("a");
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 4)});
}

TEST_F(engine_owed_turn, a_try_without_wait_asks_at_once) {
    operation* tried = nullptr;
    h.turn([&] {
        h.release(holder);
        tried = &h.lock("a");
    });
    h.sent();
    h.reply(integer(3), granted());
    h.turn([&] {
        h.release(tried->view);
        tried = &h.try_lock("a");
    });
    EXPECT_EQ(h.sent(), (lines{release_of("a", 3), acquire_of("a", 4)}));
    h.reply(integer(3), granted());
    EXPECT_TRUE(tried->granted());
}

TEST_F(engine_owed_turn, it_ends_when_the_release_was_heard_by_nobody) {
    operation* waiter = nullptr;
    h.turn([&] {
        h.release(holder);
        waiter = &h.lock("a");
    });
    h.sent();
    h.reply(integer(3), granted());
    h.turn([&] {
        h.release(waiter->view);
        h.lock("a");
    });
    EXPECT_EQ(h.sent(), (lines{release_of("a", 3), subscribe_of("a")}));
    h.reply(integer(0));
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 4)});
}

TEST(engine_owed_turn_of_one, who_locks_again_at_once_gives_others_their_turn_too) {
    engine_harness h{passing(4)};
    auto holder = h.grant("a");
    const auto again = [&]() -> operation& {
        operation* next = nullptr;
        h.turn([&] {
            h.release(holder);
            next = &h.lock("a");
        });
        return *next;
    };
    for (int n = 1; n <= 4; ++n) {
        operation& next = again();
        ASSERT_EQ(h.sent(), (lines{release_of("a", n), acquire_of("a", n + 1)}));
        h.reply(integer(3), granted());  // others heard of it, too late
        ASSERT_TRUE(next.granted());
        holder = next.view;
    }
    again();
    EXPECT_EQ(h.sent(), (lines{release_of("a", 5), subscribe_of("a")})) << "their turn";
    h.advance(1ms);
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 6)});
}

}  // namespace
