// SPDX-License-Identifier: BSL-1.0
// A read-write lock: readers beside each other, writers alone, in the order in which they came.
#include "unit/engine/shared.hpp"

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;
using conch::lock_options;
using conch::impl::view_ptr;

TEST_F(engine_shared, a_reader_takes_its_field_and_its_timeout_key) {
    operation& op = read();
    h.connect();
    EXPECT_EQ(h.sent(), lines{read_of(1)});
    h.reply(bulk(""));
    ASSERT_TRUE(op.granted());
    h.release(op.view);
    EXPECT_EQ(h.sent(), lines{end_of(1)});
    h.reply(integer(0));
}

TEST_F(engine_shared, a_writer_has_a_field_of_its_own_kind) {
    operation& op = write();
    h.connect();
    EXPECT_EQ(h.sent(), lines{write_of(1)});
    h.reply(bulk(""));
    ASSERT_TRUE(op.granted());
    h.release(op.view);
    EXPECT_EQ(h.sent(), lines{end_of(1, ":write")});
    h.reply(integer(0));
}

TEST_F(engine_shared, a_writer_that_does_not_wait_makes_nobody_wait) {
    operation& op = try_write();
    h.connect();
    EXPECT_EQ(h.sent(), lines{write_of(1, "0")});
    h.reply(integer(5000));
    EXPECT_TRUE(op.ended({}));
    EXPECT_FALSE(op.view);
}

TEST_F(engine_shared, a_reader_joins_one_that_was_just_granted) {
    const view_ptr first = reader();
    operation& second = read();
    ASSERT_TRUE(second.granted());
    EXPECT_EQ(valid_until(second.view), valid_until(first));
    EXPECT_EQ(h.sent(), lines{});
    h.release(first);
    EXPECT_EQ(h.sent(), lines{}) << "the other still reads";
    operation& unlocked = h.unlock(second.view);
    EXPECT_EQ(h.sent(), lines{end_of(1)});
    h.reply(integer(0));
    EXPECT_TRUE(unlocked.ended({}));
}

TEST_F(engine_shared, the_first_of_two_readers_unlocks_at_once) {
    const view_ptr first = reader();
    operation& second = read();
    EXPECT_TRUE(h.unlock(first).ended({}));
    h.release(second.view);
    h.reply(integer(0));
}

TEST_F(engine_shared, readers_that_wait_for_one_answer_share_it) {
    operation& first = read();
    operation& second = read();
    h.connect();
    EXPECT_EQ(h.sent(), lines{read_of(1)});
    h.reply(bulk(""));
    EXPECT_TRUE(first.granted());
    EXPECT_TRUE(second.granted());
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_shared, a_reader_that_comes_later_asks_the_server) {
    reader();
    h.advance(h.settings.max_pass_time);
    operation& second = read();
    EXPECT_EQ(h.sent(), lines{read_of(2)});
    h.reply(bulk(""));
    EXPECT_TRUE(second.granted());
}

TEST_F(engine_shared, readers_of_different_terms_share_nothing) {
    reader();
    operation& second = read({.lease = 10s});
    EXPECT_EQ(h.sent(), lines{read_of(2, "10000")});
    h.reply(bulk(""));
    EXPECT_TRUE(second.granted());
    operation& third = read({.max_hold = 1h});
    EXPECT_EQ(h.sent(), lines{read_of(3)});
    h.reply(bulk(""));
    EXPECT_TRUE(third.granted());
}

// Else one of them could keep the lock for the other.
TEST_F(engine_shared, readers_that_are_to_report_progress_share_nothing) {
    reader({.progress_within = 1s});
    operation& second = read({.progress_within = 1s});
    EXPECT_EQ(h.sent(), lines{read_of(2)});
    h.reply(bulk(""));
    EXPECT_TRUE(second.granted());
    operation& third = read();
    EXPECT_EQ(h.sent(), lines{read_of(3)});
    h.reply(bulk(""));
    operation& fourth = read({.progress_within = 1s});
    EXPECT_EQ(h.sent(), lines{read_of(4)}) << "nor with one that is not to";
    h.reply(bulk(""));
    EXPECT_TRUE(third.granted() && fourth.granted());
}

TEST_F(engine_shared, only_so_many_join_one) {
    engine_harness few{[] {
        conch::config c = quiet();
        c.max_passes = 3;
        return c;
    }()};
    few.use(conch::protocol::shared_read_protocol, "a");
    few.lock("a");
    few.connect();
    few.reply(bulk(""));
    few.sent();
    EXPECT_TRUE(few.lock("a").granted());
    EXPECT_TRUE(few.lock("a").granted());
    few.lock("a");
    EXPECT_EQ(few.sent(), lines{read_of(2)});
    few.reply(bulk(""));
}

TEST_F(engine_shared, a_writer_waits_for_the_last_local_reader) {
    const view_ptr first = reader();
    h.advance(h.settings.max_pass_time);
    operation& second = read();
    h.reply(bulk(""));
    h.sent();
    operation& w = write();
    EXPECT_EQ(h.sent(), lines{}) << "the answer is known";
    h.release(first);
    EXPECT_EQ(h.sent(), lines{end_of(1)});
    h.release(second.view);
    EXPECT_EQ(h.sent(), (lines{end_of(2), write_of(3)})) << "in one write";
    h.reply(integer(0), integer(0), bulk(""));
    EXPECT_TRUE(w.granted());
}

TEST_F(engine_shared, a_reader_waits_behind_a_writer_that_came_first) {
    const view_ptr first = reader();
    operation& w = write();
    operation& late = read();
    EXPECT_FALSE(late.done());
    EXPECT_TRUE(try_read().ended({})) << "busy";
    h.sent();
    h.release(first);
    h.reply(integer(0), bulk(""));
    ASSERT_TRUE(w.granted());
    EXPECT_FALSE(late.done());
    h.sent();
    h.release(w.view);
    EXPECT_EQ(h.sent().front(), end_of(2, ":write"));
    h.reply(integer(0), bulk(""));
    EXPECT_TRUE(late.granted());
}

TEST_F(engine_shared, a_reader_behind_a_writer_that_gives_up_reads_at_once) {
    const view_ptr first = reader();
    operation& w = write();
    operation& late = read();
    h.cancel(w);
    EXPECT_TRUE(late.granted());
    EXPECT_EQ(lost(first), errc{});
}

TEST_F(engine_shared, so_does_one_whose_writer_gives_up_while_it_listens) {
    reader();
    operation& w = write();
    h.advance(h.settings.max_pass_time);
    h.reply(push("subscribe", rw_channel, integer(1)));
    h.reply(array(integer(1)));  // the reader was checked
    h.sent();
    operation& late = read();
    h.cancel(w);
    EXPECT_EQ(h.sent().front(), read_of(2));
    h.reply(bulk(""));
    EXPECT_TRUE(late.granted());
}

TEST_F(engine_shared, a_try_to_write_beside_a_reader_is_busy_with_no_word_to_the_server) {
    reader();
    EXPECT_TRUE(try_write().ended({}));
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_shared, a_try_to_read_beside_a_reader_is_granted) {
    reader();
    EXPECT_TRUE(try_read().granted());
}

TEST_F(engine_shared, a_try_to_read_beside_a_writer_is_busy) {
    writer();
    EXPECT_TRUE(try_read().ended({}));
    EXPECT_EQ(h.sent(), lines{});
}

}  // namespace
