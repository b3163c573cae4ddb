// SPDX-License-Identifier: BSL-1.0
// Permits with leases that many of one client ask for at once: each behind the one in front of it.
#include "unit/engine/permits_fixture.hpp"

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

class engine_permits_together : public engine_permits {
protected:
    /// Three that ask for these numbers, and what they ask is written.
    void three_ask(std::uint32_t first, std::uint32_t second, std::uint32_t third) {
        h.turn([&] {
            one = &take(first);
            two = &take(second);
            three = &take(third);
        });
        h.connect();
        h.sent();
    }

    operation* one = nullptr;
    operation* two = nullptr;
    operation* three = nullptr;
};

TEST_F(engine_permits_together, leave_in_one_write) {
    held(1);
    const std::size_t before = h.writes();
    h.turn([&] {
        take(1);
        take(2);
        take(1);
    });
    EXPECT_EQ(h.sent(), (lines{take_of(2, 1), take_behind(2, 3, 2), take_behind(3, 4, 1)}));
    EXPECT_EQ(h.writes(), before + 1);
    h.reply(granted, granted, granted);
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_permits_together, each_asks_behind_the_one_in_front) {
    h.turn([&] {
        take(1);
        take(2);
    });
    h.connect();
    EXPECT_EQ(h.sent(), (lines{take_of(1, 1), take_behind(1, 2, 2)}));
    take(3);
    EXPECT_EQ(h.sent(), lines{take_behind(2, 3, 3)}) << "in a later turn, too";
    h.reply(granted);
    h.reply(granted);
    h.reply(granted);
    take(1);
    EXPECT_EQ(h.sent(), lines{take_of(4, 1)}) << "nobody is in front any more";
    h.reply(granted);
}

TEST_F(engine_permits_together, who_is_refused_refuses_all_behind_it) {
    three_ask(1, 3, 1);
    h.reply(granted, busy, another_first);
    EXPECT_TRUE(one->granted());
    EXPECT_FALSE(two->done() || three->done());
    EXPECT_EQ(h.sent(), (lines{"SUBSCRIBE " + channel, take_of(4, 3)}));
    h.reply(subscribed, busy);
    h.reply(message);
    EXPECT_EQ(h.sent(), lines{take_of(5, 3)}) << "only the first one asks";
    h.reply(granted);
    EXPECT_TRUE(two->granted());
    EXPECT_EQ(h.sent(), lines{take_of(6, 1)});
    h.reply(granted);
    EXPECT_TRUE(three->granted());
}

TEST_F(engine_permits_together, keep_their_order_where_the_server_lacks_the_script) {
    three_ask(1, 2, 3);
    const std::string unknown = error("NOSCRIPT No matching script. Please use EVAL.");
    h.reply(unknown + unknown + unknown);
    EXPECT_EQ(h.sent(), (lines{"EVAL " + take_of(1, 1), "EVAL " + take_behind(1, 2, 2),
                               "EVAL " + take_behind(2, 3, 3)}));
    h.reply(granted, granted, granted);
}

TEST_F(engine_permits_together, nobody_tries_behind_one_whose_try_is_put_off) {
    three_ask(1, 1, 1);
    h.reply(error("LOADING Redis is loading the dataset in memory"), another_first, another_first);
    EXPECT_EQ(h.sent(), lines{});
    take(1);
    EXPECT_EQ(h.sent(), lines{}) << "the server would refuse them all again";
    h.advance(1s);
    EXPECT_EQ(h.sent(), lines{take_of(1, 1)});
    h.reply(granted);
    EXPECT_TRUE(one->granted());
    EXPECT_EQ(h.sent().size(), 3u) << "all others, at once";
    h.reply(granted, granted, granted);
}

TEST_F(engine_permits_together, tries_for_ever_fewer_are_one_script_each) {
    held(1);
    for (std::uint32_t permits = 4; permits > 0; --permits) {
        h.turn([&] { try_take(permits); });
    }
    std::size_t scripts = h.sent().size();
    h.reply(busy, another_first, another_first, another_first);
    for (lines next = h.sent(); !next.empty(); next = h.sent()) {
        scripts += next.size();
        h.reply(busy);
    }
    EXPECT_EQ(scripts, 4u + 3u);
}

TEST_F(engine_permits_together, what_is_granted_behind_a_refusal_comes_back) {
    three_ask(3, 1, 1);
    h.reply(busy);
    EXPECT_EQ(h.sent(), (lines{"SUBSCRIBE " + channel, take_of(4, 3)}));
    h.reply(granted, another_first);
    EXPECT_FALSE(two->done()) << "it would overtake";
    EXPECT_EQ(h.sent(), lines{give_of(2, 1)});
    h.reply(subscribed, granted, integer(0));
    EXPECT_TRUE(one->granted());
    EXPECT_EQ(h.sent(), (lines{take_of(5, 1), take_behind(5, 6, 1)}));
    h.reply(granted, granted);
    EXPECT_TRUE(two->granted() && three->granted());
}

TEST_F(engine_permits_together, after_a_refusal_more_ask_with_each_round) {
    held(1);
    waiting(1, 2);
    h.turn([&] {
        for (int i = 0; i < 6; ++i) {
            take(1);
        }
    });
    h.reply(message);
    EXPECT_EQ(h.sent(), lines{take_of(4, 1)});
    h.reply(granted);
    EXPECT_EQ(h.sent(), (lines{take_of(5, 1), take_behind(5, 6, 1)}));
    h.reply(granted);
    EXPECT_EQ(h.sent(), lines{}) << "the round is not over";
    h.reply(granted);
    EXPECT_EQ(h.sent().size(), 4U);
    h.reply(granted, busy, another_first, another_first);
    EXPECT_EQ(h.sent(), lines{}) << "one was refused: a message is awaited";
    h.reply(message);
    EXPECT_EQ(h.sent(), lines{take_of(11, 1)});
    h.reply(granted);
    EXPECT_EQ(h.sent().size(), 2U);
    h.reply(granted, granted);
    EXPECT_EQ(h.sent(), lines{"UNSUBSCRIBE " + channel}) << "nobody waits any more";
}

TEST_F(engine_permits_together, who_gives_up_unwritten_leaves_no_gap) {
    h.turn([&] {
        one = &take(1);
        two = &take(2);
        three = &take(3);
        take(4);
    });
    h.cancel(*one);
    h.cancel(*three);
    h.connect();
    EXPECT_EQ(h.sent(), (lines{take_of(2, 2), take_behind(2, 4, 4)}));
    h.reply(granted, granted);
    EXPECT_TRUE(two->granted());
}

TEST_F(engine_permits_together, the_first_gives_up) {
    three_ask(1, 2, 3);
    h.cancel(*one);
    h.reply(granted, granted, granted);
    EXPECT_EQ(h.sent(), lines{give_of(1, 1)});
    EXPECT_TRUE(two->granted() && three->granted());
    h.reply(integer(0));
}

TEST_F(engine_permits_together, one_in_the_middle_gives_up) {
    three_ask(1, 2, 3);
    h.cancel(*two);
    h.reply(granted, granted, granted);
    EXPECT_EQ(h.sent(), lines{give_of(2, 2)});
    EXPECT_TRUE(one->granted() && three->granted());
    h.reply(integer(0));
}

TEST_F(engine_permits_together, the_last_gives_up) {
    three_ask(1, 2, 3);
    h.cancel(*three);
    operation& next = take(3);
    EXPECT_EQ(h.sent(), lines{take_behind(2, 4, 3)});
    h.reply(granted, granted, granted, granted);
    EXPECT_EQ(h.sent(), lines{give_of(3, 3)});
    EXPECT_TRUE(one->granted() && two->granted() && next.granted());
    h.reply(integer(0));
}

TEST_F(engine_permits_together, who_came_behind_one_that_gave_up_in_vain_asks_again) {
    three_ask(3, 1, 1);
    h.cancel(*one);
    h.reply(busy, another_first, another_first);
    EXPECT_FALSE(two->done());
    EXPECT_EQ(h.sent(), lines{take_of(4, 1)});
    h.reply(granted);
    EXPECT_TRUE(two->granted());
    EXPECT_EQ(h.sent(), lines{take_of(5, 1)});
    h.reply(granted);
    EXPECT_TRUE(three->granted());
}

TEST_F(engine_permits_together, what_was_not_answered_is_repeated_in_its_order) {
    three_ask(1, 2, 3);
    h.reply(granted);
    h.cancel(*two);
    h.break_connection();
    h.connect(2, "2222");
    const lines again = h.sent();
    ASSERT_GE(again.size(), 3U);
    EXPECT_EQ(again[again.size() - 3], give_of(2, 2)) << "nobody repeats what nobody wants";
    EXPECT_EQ(again.back(), take_of(3, 3)) << "nobody is in front of it any more";
    h.reply(integer(-1), array(integer(1)), granted);
    EXPECT_TRUE(three->granted());
}

TEST_F(engine_permits_together, an_answer_that_comes_before_that_of_the_one_in_front_is_not_used) {
    three_ask(1, 1, 1);
    h.reply(error("LOADING wait"));
    h.reply(granted, another_first);
    EXPECT_FALSE(two->done()) << "it would overtake";
    EXPECT_EQ(h.sent(), lines{give_of(2, 1)});
    h.reply(integer(0));
    h.advance(1s);
    EXPECT_EQ(h.sent(), lines{take_of(1, 1)});
    h.reply(granted);
    EXPECT_TRUE(one->granted());
    EXPECT_EQ(h.sent(), (lines{take_of(4, 1), take_behind(4, 5, 1)}));
    h.reply(granted, granted);
    EXPECT_TRUE(two->granted() && three->granted());
}

TEST_F(engine_permits_together, of_no_server_each_hears_when_its_time_is_over) {
    three_ask(1, 1, 1);
    h.advance(h.settings.operation_timeout + 1s);
    EXPECT_TRUE(one->ended(errc::not_connected));
    EXPECT_TRUE(two->ended(errc::not_connected));
    EXPECT_TRUE(three->ended(errc::not_connected));
}

TEST_F(engine_permits_together, the_first_is_not_behind_anybody) {
    take(1);
    h.connect();
    h.sent();
    h.reply(another_first);
    EXPECT_TRUE(h.operation_at(0).ended(errc::protocol_error));
    EXPECT_EQ(h.sent(), lines{give_of(1, 1)});
    h.reply(integer(-1));
}

}  // namespace
