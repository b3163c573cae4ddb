// SPDX-License-Identifier: BSL-1.0
#include "unit/engine/harness.hpp"

#include <gtest/gtest.h>

// Who releases and wants the lock again in the same turn of its loop: others who wait have their
// turn nevertheless.
namespace {

using namespace conch::test;
using namespace std::chrono_literals;

// Locks again in the very turn in which it releases; others wait, and hear of each release too
// late.
class lock_again {
public:
    explicit lock_again(unsigned max_passes) : h{config(max_passes)} { holder = h.grant("a"); }

    operation& again(bool waits = true) {
        operation* next = nullptr;
        h.turn([&] {
            h.release(holder);
            next = waits ? &h.lock("a") : &h.try_lock("a");
        });
        return *next;
    }
    // The lock passes once more: what is held then is acquisition `n`.
    void pass(int n) {
        operation& next = again();
        EXPECT_EQ(h.sent(), (lines{release_of("a", n - 1), acquire_of("a", n)}));
        h.reply(integer(3), granted());
        ASSERT_TRUE(next.granted());
        holder = next.view;
    }

    engine_harness h;
    conch::impl::view_ptr holder{};

private:
    static conch::config config(unsigned max_passes) {
        conch::config c = quiet();
        c.max_passes = max_passes;
        return c;
    }
};

class engine_owed_turn : public testing::Test, protected lock_again {
protected:
    // The first release tells that others wait, the second one passes the lock on: the third is
    // followed by their turn.
    engine_owed_turn() : lock_again{2} {
        pass(2);
        pass(3);
    }
};

TEST_F(engine_owed_turn, it_is_owed_still_when_the_waiters_left_during_it) {
    operation& waiter = again();
    EXPECT_EQ(h.sent(), (lines{release_of("a", 3), subscribe_of("a")}));
    h.cancel(waiter);
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
    h.cancel(again());
    h.sent();
    h.try_lock("a");
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 4)});
}

TEST_F(engine_owed_turn, a_try_without_wait_asks_at_once) {
    operation& tried = again(false);
    EXPECT_EQ(h.sent(), (lines{release_of("a", 3), acquire_of("a", 4)}));
    h.reply(integer(3), granted());
    EXPECT_TRUE(tried.granted());
}

TEST_F(engine_owed_turn, who_waits_no_longer_asks_before_it_is_over) {
    operation* brief = nullptr;
    h.turn([&] {
        h.release(holder);
        brief = &h.lock("a", {.wait = 500us});
    });
    EXPECT_EQ(h.sent(), (lines{release_of("a", 3), subscribe_of("a")}));
    h.advance(500us);
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 4)});
    h.reply(integer(3), subscribed("a"), granted());
    EXPECT_TRUE(brief->granted());
}

TEST_F(engine_owed_turn, it_ends_when_the_release_was_heard_by_nobody) {
    again();
    EXPECT_EQ(h.sent(), (lines{release_of("a", 3), subscribe_of("a")}));
    h.reply(integer(0));
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 4)});
}

TEST(engine_owed_turn_of_one, who_locks_again_at_once_gives_others_their_turn_too) {
    lock_again one{4};
    for (int n = 2; n <= 5; ++n) {
        one.pass(n);
    }
    one.again();
    EXPECT_EQ(one.h.sent(), (lines{release_of("a", 5), subscribe_of("a")})) << "their turn";
    one.h.advance(1ms);
    EXPECT_EQ(one.h.sent(), lines{acquire_of("a", 6)});
}

// Locks again when the release was answered: that is as soon as a caller can who awaits it.
class engine_owed_turn_of_who_awaits : public testing::Test, protected lock_again {
protected:
    engine_owed_turn_of_who_awaits() : lock_again{4} {}

    // What is held then is acquisition `n`.
    void pass_awaited(int n) {
        release(n - 1);
        operation& next = h.lock("a");
        EXPECT_EQ(h.sent(), lines{acquire_of("a", n)});
        h.reply(granted());
        ASSERT_TRUE(next.granted());
        holder = next.view;
    }
    void release(int n, int told = 3) {
        h.release(holder);
        EXPECT_EQ(h.sent(), lines{release_of("a", n)});
        h.reply(integer(told));
    }
};

TEST_F(engine_owed_turn_of_who_awaits, it_is_counted_over_the_answers) {
    for (int n = 2; n <= 4; ++n) {
        pass_awaited(n);
    }
    release(4);
    h.lock("a");
    EXPECT_EQ(h.sent(), lines{subscribe_of("a")}) << "their turn";
    h.advance(1ms);
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 5)});
}

TEST_F(engine_owed_turn_of_who_awaits, others_had_their_turn_where_time_passed_between) {
    for (int n = 2; n <= 9; ++n) {
        release(n - 1);
        h.advance(1ms);
        holder = h.grant("a");
    }
}

TEST_F(engine_owed_turn_of_who_awaits, it_is_owed_to_nobody_where_nobody_hears) {
    for (int n = 2; n <= 9; ++n) {
        release(n - 1, 0);
        holder = h.grant("a");
    }
}

// Each answer takes longer than the lease: what it grants goes back.
class engine_owed_turn_of_late_grants : public testing::Test {
protected:
    engine_owed_turn_of_late_grants() {
        h.lock("a", {.lease = round_trip, .renew = false});
        h.connect();
        EXPECT_EQ(h.sent(), lines{acquire_of("a", 1, 20)});
        h.advance(round_trip);
        h.reply(granted());
        EXPECT_EQ(h.sent(), (lines{release_of("a", 1), subscribe_of("a"), acquire_of("a", 2, 20)}));
    }
    void grant_late(int n) {
        h.advance(round_trip);
        h.reply(granted());
        EXPECT_EQ(h.sent(), lines{release_of("a", n)});
    }

    static constexpr conch::duration round_trip = 20ms;
    engine_harness h{};
};

TEST_F(engine_owed_turn_of_late_grants, it_is_owed_before_each_new_try) {
    h.reply(integer(2), subscribed("a"));
    grant_late(2);
    for (int n = 3; n <= 5; ++n) {
        h.reply(released("a"), integer(3));
        h.advance(3 * round_trip - 1ms);
        EXPECT_EQ(h.sent(), lines{}) << "another client's try takes one round trip";
        h.advance(round_trip + 1ms);
        EXPECT_EQ(h.sent(), lines{acquire_of("a", n, 20)}) << "four at most";
        grant_late(n);
    }
    EXPECT_EQ(h.counters().wakes_by_message, 0U) << "it hears its own releases";
}

TEST_F(engine_owed_turn_of_late_grants, it_is_owed_to_nobody_where_nobody_hears) {
    h.reply(integer(0), subscribed("a"));
    grant_late(2);
    h.advance(1ms);
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 3, 20)});
}

}  // namespace
