// SPDX-License-Identifier: BSL-1.0
// A message that gives a fair lock may be as old as it likes: it is believed of the place that the
// waiter's last try got, and of no other.
#include "unit/engine/cluster_engine.hpp"
#include "unit/engine/fair.hpp"

#include <algorithm>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;

TEST_F(engine_fair, a_gift_by_an_older_try_is_asked_for) {
    operation& op = first_waiter();
    h.advance(1200ms);
    EXPECT_EQ(h.sent(), lines{ask_of(1, 3)});
    h.reply(busy(9000));
    h.reply(told(1, "0:30000:2"));
    EXPECT_FALSE(op.done());
    EXPECT_EQ(h.sent(), lines{ask_of(1, 4)});
    h.reply(busy(9000));
    h.reply(told(1, "0:30000:4"));
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_fair, a_gift_by_no_try_is_asked_for) {
    operation& op = first_waiter();
    h.reply(told(1, "0:30000"));
    EXPECT_FALSE(op.done());
    EXPECT_EQ(h.sent(), lines{ask_of(1, 3)});
    h.reply(granted());
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_fair, a_gift_by_a_try_that_is_to_come_is_asked_for) {
    operation& op = first_waiter();
    h.reply(told(1, "0:30000:3"));
    EXPECT_FALSE(op.done());
    EXPECT_EQ(h.sent(), lines{ask_of(1, 3)});
    h.reply(granted());
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_fair, each_copy_of_a_try_has_a_number_and_the_answered_one_counts) {
    operation& op = first_waiter();
    h.advance(1200ms);
    EXPECT_EQ(h.sent(), lines{ask_of(1, 3)});
    h.break_connection();
    h.advance(200ms);
    h.connect(2, "2222");
    EXPECT_EQ(h.sent(), (lines{listen_of(1), ask_of(1, 4)}));
    h.reply(listening(1), busy(9000));
    h.advance(300ms);
    h.reply(told(1, "0:30000:3"));
    EXPECT_FALSE(op.done()) << "it may have been given, and lost, before the copy that counts";
    EXPECT_EQ(h.sent(), lines{ask_of(1, 5)});
    h.reply(busy(9000));
    const auto last = h.now();
    h.advance(100ms);
    h.reply(told(1, "0:30000:5"));
    ASSERT_TRUE(op.granted());
    EXPECT_EQ(valid_until(op.view), conch::core::lease_end(last, 30s));
}

TEST_F(engine_fair, a_copy_that_the_server_did_not_run_has_a_number_too) {
    operation& op = first_waiter();
    h.advance(1200ms);
    EXPECT_EQ(h.sent(), lines{ask_of(1, 3)});
    h.reply(error("LOADING Redis is loading the dataset in memory"));
    h.advance(300ms);
    EXPECT_EQ(h.sent(), lines{ask_of(1, 4)});
    h.reply(busy(9000));
    h.reply(told(1, "0:30000:4"));
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_fair, what_was_given_and_lost_is_not_believed_of_the_place_that_came_after_it) {
    operation& op = first_waiter({.lease = 300ms, .renew = false});
    h.advance(1200ms);
    EXPECT_EQ(h.sent(), lines{ask_of(1, 3, "3000", "300")});
    h.skip(400ms);
    h.reply(granted());
    EXPECT_FALSE(op.done()) << "it was given by the second try, and is over";
    h.advance(10ms);
    EXPECT_EQ(h.sent(), lines{ask_of(1, 4, "3000", "300")});
    h.reply(busy(9000));
    h.reply(told(1, "0:300:2"));
    EXPECT_FALSE(op.done());
    EXPECT_EQ(h.sent(), lines{ask_of(1, 5, "3000", "300")});
    h.reply(busy(9000));
}

/// A fair lock in a cluster without messages of its parts. All of its servers tell what one of them
/// was told to publish, some time.
struct engine_fair_cluster : plain_cluster_engine {
    engine_fair_cluster() { kind = &conch::protocol::fair_protocol; }
    /// In line at "m1" by the second try.
    operation& waiter() {
        operation& op = lock("a");
        learn();
        connect("m1");
        EXPECT_EQ(sent("m1"), lines{ask_of(1, 1)});
        reply("m1", busy(9000));
        EXPECT_EQ(sent("m1"), (lines{listen_of(1), ask_of(1, 2)}));
        reply("m1", listening(1));
        reply("m1", busy(9000));
        EXPECT_EQ(sent("m1"), lines{});
        return op;
    }
};

TEST_F(engine_fair_cluster, what_the_place_of_the_last_try_is_given_needs_no_script) {
    operation& op = waiter();
    reply("m1", told(1, "0:30000:2"));
    EXPECT_TRUE(op.granted());
    EXPECT_EQ(sent("m1"), lines{unlisten_of(1)});
    reply("m1", not_listening(1));
}

TEST_F(engine_fair_cluster, a_message_that_was_on_its_way_for_long_is_asked_for) {
    operation& op = waiter();
    advance(1200ms);
    EXPECT_EQ(sent("m1"), lines{ask_of(1, 3)});
    reply("m1", busy(9000));
    reply("m1", told(1, "0:30000:2"));
    EXPECT_FALSE(op.done());
    EXPECT_EQ(sent("m1"), lines{ask_of(1, 4)});
    reply("m1", granted());
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_fair_cluster, a_master_that_was_cut_off_gives_nothing_after_another_has_answered) {
    operation& op = waiter();
    break_connection("m1");
    learn_again("r1", "m2");
    connect("r1", "2222");
    EXPECT_EQ(sent("r1"), (lines{listen_of(1)}));
    reply("r1", listening(1));
    EXPECT_EQ(sent("r1"), lines{ask_of(1, 3)});
    reply("r1", busy(9000));
    reply("r1", told(1, "0:30000:2"));
    EXPECT_FALSE(op.done());
    EXPECT_EQ(sent("r1"), lines{ask_of(1, 4)});
    reply("r1", busy(9000));
    reply("r1", told(1, "0:30000:4"));
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_fair_cluster, a_successor_that_knows_an_older_place_is_asked) {
    operation& op = waiter();
    break_connection("m1");
    learn_again("r1", "m2");
    connect("r1", "2222");
    sent("r1");
    reply("r1", listening(1));
    EXPECT_EQ(sent("r1"), lines{ask_of(1, 3)});
    reply("r1", busy(9000));
    reply("r1", told(1, "0:30000:1"));
    EXPECT_FALSE(op.done());
    EXPECT_EQ(sent("r1"), lines{ask_of(1, 4)}) << "the try finds it";
    reply("r1", granted());
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_fair_cluster, who_ends_in_the_turn_in_which_its_hash_slot_moves_listens_nowhere) {
    operation& op = waiter();
    lock("{a}x");
    sent("m1");
    turn([&] {
        engine.cancel(*op.running, conch::errc::timed_out);
        reply("m1", sends_on("MOVED", "a", "m2"));
    });
    EXPECT_TRUE(op.ended(conch::errc::timed_out));
    EXPECT_EQ(sent("m1"), (lines{fair_end_of(1), unlisten_of(1)}));
    connect("m2");
    EXPECT_EQ(std::ranges::count(sent("m2"), listen_of(1)), 0);
}

}  // namespace
