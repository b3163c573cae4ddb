// SPDX-License-Identifier: BSL-1.0
// A read-write lock: readers beside each other, writers alone, in the order in which they came.
#include "unit/engine/harness.hpp"
#include "unit/wire/text.hpp"

#include <gtest/gtest.h>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;
using conch::lock_options;
using conch::impl::view_ptr;

const std::string rw_channel = "redisson_rwlock:{a}";

std::string timeout_of(int n) { return "{a}:c:" + std::to_string(n) + ":rwlock_timeout:1"; }

std::string read_of(int n, const std::string& lease = "30000") {
    return "shared_read a " + timeout_of(n) + " conch_rw_writer:{a} c:" + std::to_string(n) + " " +
           lease;
}

std::string write_of(int n, const std::string& waits = "3000") {
    return "shared_write a conch_rw_writer:{a} c:" + std::to_string(n) + ":write 30000 " + waits;
}

std::string end_of(int n, const std::string& suffix = "") {
    return "shared_release a " + rw_channel + " publish c:" + std::to_string(n) + suffix;
}

class engine_shared : public testing::Test {
protected:
    operation& read(const lock_options& o = {}) {
        h.use(conch::protocol::shared_read_protocol, "a");
        return h.lock("a", o);
    }
    operation& try_read() {
        h.use(conch::protocol::shared_read_protocol, "a");
        return h.try_lock("a");
    }
    operation& write(const lock_options& o = {}) {
        h.use(conch::protocol::shared_write_protocol, "a");
        return h.lock("a", o);
    }
    operation& try_write() {
        h.use(conch::protocol::shared_write_protocol, "a");
        return h.try_lock("a");
    }
    /// Held for reading, with nothing on its way.
    view_ptr reader(const lock_options& o = {}) {
        operation& op = read(o);
        h.connect();
        h.sent();
        h.reply(bulk(""));
        EXPECT_TRUE(op.granted());
        return op.view;
    }
    view_ptr writer() {
        operation& op = write();
        h.connect();
        h.sent();
        h.reply(bulk(""));
        EXPECT_TRUE(op.granted());
        return op.view;
    }

    engine_harness h{};
};

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

TEST_F(engine_shared, only_so_many_join_one) {
    engine_harness few{[] {
        conch::config c = quiet();
        c.max_passes = 2;
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

TEST_F(engine_shared, readers_are_renewed_with_their_timeout_keys) {
    reader();
    h.advance(h.settings.max_pass_time);
    read();
    h.reply(bulk(""));
    h.sent();
    h.advance(10s);
    EXPECT_EQ(h.sent(), lines{"shared_renew a " + timeout_of(1) + " a " + timeout_of(2) +
                              " c:1 30000 c:2 30000"});
    h.reply(array(integer(1), integer(1)));
}

TEST_F(engine_shared, a_writer_is_renewed_as_a_mutex) {
    writer();
    h.advance(10s);
    EXPECT_EQ(h.sent(), lines{"renew a c:1:write 30000"});
    h.reply(array(integer(1)));
}

TEST_F(engine_shared, a_reader_that_was_taken_away_is_told_and_the_others_are_not) {
    const view_ptr first = reader();
    h.advance(h.settings.max_pass_time);
    operation& second = read();
    h.reply(bulk(""));
    h.advance(10s);
    h.reply(array(integer(0), integer(1)));
    EXPECT_EQ(lost(first), errc::lock_lost);
    EXPECT_EQ(lost(second.view), errc{});
}

TEST_F(engine_shared, a_message_has_all_readers_checked) {
    reader();
    h.advance(h.settings.max_pass_time);
    read();
    h.reply(bulk(""));
    write();
    h.advance(20ms);
    h.sent();
    h.reply(push("subscribe", rw_channel, integer(1)), push("message", rw_channel, bulk("0")));
    const lines sent = h.sent();
    ASSERT_FALSE(sent.empty());
    EXPECT_TRUE(sent.front().starts_with("shared_renew a ")) << sent.front();
}

TEST_F(engine_shared, an_owner_that_reads_may_read_again_past_a_writer) {
    conch::owner me;
    const view_ptr first = reader({.owner = &me});
    write();
    operation& again = read({.owner = &me});
    ASSERT_TRUE(again.granted());
    h.sent();
    h.release(first);
    EXPECT_EQ(h.sent(), lines{}) << "it still reads";
}

TEST_F(engine_shared, an_owner_that_reads_waits_to_write) {
    conch::owner me;
    reader({.owner = &me});
    operation& w = write({.owner = &me});
    h.advance(100ms);
    EXPECT_FALSE(w.done());
}

TEST_F(engine_shared, a_try_to_read_shares_the_answer_to_another) {
    operation& first = read();
    operation& second = try_read();
    h.connect();
    h.reply(bulk(""));
    EXPECT_TRUE(first.granted());
    EXPECT_TRUE(second.granted());
}

TEST_F(engine_shared, a_try_to_read_does_not_wait_with_a_reader_that_does) {
    operation& first = read();
    operation& second = try_read();
    h.connect();
    h.reply(integer(5000));
    EXPECT_FALSE(first.done());
    EXPECT_TRUE(second.ended({})) << "busy";
    EXPECT_TRUE(try_read().ended({})) << "and so is the next";
}

TEST_F(engine_shared, a_writer_that_waits_asks_whether_the_readers_live) {
    write();
    h.connect();
    h.sent();
    h.reply(array(integer(5000), bulk("x:1"), bulk("2"), bulk("y:7"), bulk("1"), bulk("z:1"),
                  bulk("99"), bulk("bad")));
    const lines sent = h.sent();
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_EQ(sent[1],
              "shared_write a conch_rw_writer:{a} {a}:x:1:rwlock_timeout:1 "
              "{a}:x:1:rwlock_timeout:2 {a}:y:7:rwlock_timeout:1 c:2:write 30000 3000 x:1 2 y:7 1");
}

TEST_F(engine_shared, the_answer_to_a_reader_is_not_taken_for_a_writer) {
    reader();
    h.advance(10s);  // being renewed: nobody joins it
    operation& second = read();
    operation& w = write();
    h.reply(array(integer(1)));
    h.reply(bulk(""));
    EXPECT_TRUE(second.granted());
    EXPECT_FALSE(w.done());
}

TEST_F(engine_shared, an_abandoned_reader_is_released) {
    operation& op = read();
    h.connect();
    h.sent();
    h.cancel(op);
    h.reply(bulk(""));
    EXPECT_EQ(h.sent(), lines{end_of(1)});
    h.reply(integer(0));
}

TEST_F(engine_shared, a_status_tells_all_readers) {
    conch::lock_status s;
    h.use(conch::protocol::shared_read_protocol, "a");
    operation& op = h.status("a", &s);
    h.connect();
    EXPECT_EQ(h.sent(), lines{"shared_status a"});
    h.reply(array(integer(5000), bulk(""), bulk("x:1 y:2"), bulk("2"), bulk("read")));
    EXPECT_TRUE(op.ended({}));
    EXPECT_TRUE(s.shared);
    EXPECT_EQ(s.holder, "x:1 y:2");
    EXPECT_EQ(s.depth, 2U);
}

TEST_F(engine_shared, a_forced_release_is_that_of_all_readers) {
    h.use(conch::protocol::shared_read_protocol, "a");
    operation& op = h.force_unlock("a");
    h.connect();
    h.sent();
    h.reply(array(integer(5000), bulk(""), bulk("x:1 y:2"), bulk("2"), bulk("read")));
    EXPECT_EQ(h.sent(), lines{"shared_release a " + rw_channel + " publish x:1 y:2"});
    h.reply(integer(3));
    EXPECT_TRUE(op.ended({}));
    EXPECT_TRUE(op.flag);
}

}  // namespace
