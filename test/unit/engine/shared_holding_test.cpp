// SPDX-License-Identifier: BSL-1.0
// Those who hold a read-write lock: renewed, lost, nested, crashed, asked about, put out.
#include "unit/engine/shared.hpp"

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;
using conch::lock_options;
using conch::impl::view_ptr;

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

TEST_F(engine_shared, one_that_does_not_wait_asks_it_once) {
    operation& op = try_write();
    h.connect();
    h.sent();
    const std::string names = array(integer(5000), bulk("x:1"), bulk("1"));
    h.reply(names);
    EXPECT_EQ(h.sent(), lines{"shared_write a conch_rw_writer:{a} {a}:x:1:rwlock_timeout:1 "
                              "c:2:write 30000 0 x:1 1"});
    EXPECT_FALSE(op.done());
    h.reply(names);
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_shared, a_timeout_key_that_lives_too_long_is_told_to_live_less) {
    reader();
    h.advance(10s);
    h.sent();
    h.reply(array(integer(3'600'000)));
    EXPECT_EQ(h.sent(), lines{"shared_renew a " + timeout_of(1) + " c:1 -30000"});
    h.reply(array(integer(1)));
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

TEST_F(engine_shared, a_ttl_that_is_too_long_to_be_told_is_the_longest) {
    conch::lock_status s;
    h.use(conch::protocol::shared_read_protocol, "a");
    operation& op = h.status("a", &s);
    h.connect();
    h.sent();
    h.reply(
        array(integer(9'223'372'036'854'775'807), bulk(""), bulk("x:1"), bulk("1"), bulk("read")));
    EXPECT_TRUE(op.ended({}));
    EXPECT_GT(s.ttl, std::chrono::hours{24 * 365 * 292});
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
    EXPECT_TRUE(op.did());
}

/// As a renewal finds no writer, a downgrade looks for a reader.
class engine_shared_extension : public engine_shared {
protected:
    engine_shared_extension() {
        h.sent();
        h.reply(array(integer(0)));
        EXPECT_EQ(h.sent(), lines{downgrade_of(1)});
        EXPECT_FALSE(extension.done());
    }

    const view_ptr held = writer_or_reader();
    operation& extension = h.extend(held, 60s);
};

TEST_F(engine_shared_extension, is_told_why_the_look_for_a_reader_was_refused) {
    h.reply(error("WRONGTYPE Operation against a key holding the wrong kind of value"));
    EXPECT_TRUE(extension.ended(errc::wrong_type));
    EXPECT_EQ(lost(held), errc{});
}

TEST_F(engine_shared_extension, is_told_what_the_look_for_a_reader_waits_for) {
    h.reply(error("TRYAGAIN Multiple keys request during rehashing of slot"));
    h.advance(h.settings.operation_timeout);
    EXPECT_TRUE(extension.ended(errc::server_unavailable));
    EXPECT_EQ(lost(held), errc{});
}

}  // namespace
