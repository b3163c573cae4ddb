// SPDX-License-Identifier: BSL-1.0
// A writer of a read-write lock that becomes a reader, with one script.
#include "unit/engine/shared.hpp"

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;
using conch::lock_options;
using conch::impl::view_ptr;

class engine_downgrade : public engine_shared {
protected:
    /// A reader that was a writer, with nothing on its way.
    view_ptr downgraded(const lock_options& o = {}) {
        view_ptr v = writer(o);
        operation& d = h.downgrade(v);
        h.sent();
        h.reply(integer(1));
        EXPECT_TRUE(d.ended({}));
        return v;
    }
};

TEST_F(engine_downgrade, asks_for_both_in_one_script) {
    const view_ptr v = writer();
    operation& d = h.downgrade(v);
    EXPECT_EQ(h.sent(), lines{downgrade_of(1)});
    EXPECT_FALSE(d.done());
    h.reply(integer(1));
    EXPECT_TRUE(d.ended({}));
    EXPECT_EQ(lost(v), errc{});
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_downgrade, begins_the_lease_anew) {
    const view_ptr v = writer();
    const auto before = valid_until(v);
    h.advance(5s);
    h.downgrade(v);
    h.sent();
    h.reply(integer(1));
    EXPECT_EQ(valid_until(v), before + 5s);
}

TEST_F(engine_downgrade, keeps_a_lease_that_is_not_renewed) {
    const view_ptr v = writer({.lease = 30s, .renew = false});
    const auto before = valid_until(v);
    h.advance(5s);
    h.sent();
    h.downgrade(v);
    EXPECT_EQ(h.sent(), lines{downgrade_of(1, "24872")}) << "that is what is left";
    h.reply(integer(1));
    EXPECT_EQ(valid_until(v), before);
}

TEST_F(engine_downgrade, is_renewed_and_released_as_a_reader) {
    const view_ptr v = downgraded();
    h.advance(10s);
    EXPECT_EQ(h.sent(), lines{renew_reader_of(1)});
    h.reply(array(integer(1)));
    operation& unlocked = h.unlock(v);
    EXPECT_EQ(h.sent(), lines{end_of_either(1)}) << "a late copy of the acquire takes the other";
    h.reply(integer(0));
    EXPECT_TRUE(unlocked.ended({}));
}

TEST_F(engine_downgrade, lets_the_readers_of_this_client_in_with_no_word_to_the_server) {
    const view_ptr v = writer();
    operation& first = read();
    operation& second = read();
    h.downgrade(v);
    EXPECT_EQ(h.sent(), lines{downgrade_of(1)});
    EXPECT_FALSE(first.done());
    h.reply(integer(1));
    EXPECT_TRUE(first.granted());
    EXPECT_TRUE(second.granted());
    EXPECT_TRUE(try_read().granted());
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_EQ(valid_until(first.view), valid_until(v));
    h.release(v);
    h.release(first.view);
    EXPECT_EQ(h.sent(), lines{}) << "others still read";
}

TEST_F(engine_downgrade, wakes_readers_that_listen_already) {
    const view_ptr v = writer();
    operation& same = read();
    operation& other = read({.lease = 10s});
    h.advance(20ms);
    h.reply(push("subscribe", rw_channel, integer(1)));
    h.reply(array(integer(1)));
    h.sent();
    h.downgrade(v);
    EXPECT_EQ(h.sent(), lines{downgrade_of(1)});
    h.reply(integer(1));
    EXPECT_TRUE(same.granted());
    EXPECT_EQ(h.sent(), lines{read_of(2, "10000")}) << "its terms are others: it asks";
    h.reply(bulk(""));
    EXPECT_TRUE(other.granted());
}

TEST_F(engine_downgrade, leaves_readers_behind_a_writer_that_came_first) {
    const view_ptr v = writer();
    operation& w = write();
    operation& late = read();
    h.downgrade(v);
    h.reply(integer(1));
    EXPECT_FALSE(w.done());
    EXPECT_FALSE(late.done());
    EXPECT_TRUE(try_read().ended({})) << "busy";
}

TEST_F(engine_downgrade, of_anything_but_a_writer_is_refused_with_no_word_to_the_server) {
    const view_ptr r = reader();
    EXPECT_TRUE(h.downgrade(r).ended(errc::not_a_writer));
    h.use(conch::protocol::mutex_protocol, "m");
    const view_ptr m = h.grant("m");
    EXPECT_TRUE(h.downgrade(m).ended(errc::not_a_writer));
    EXPECT_TRUE(h.downgrade(nullptr).ended(errc::not_owner));
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_EQ(lost(r), errc{});
}

TEST_F(engine_downgrade, of_a_hold_that_ended_says_why) {
    const view_ptr v = writer();
    h.release(v);
    EXPECT_TRUE(h.downgrade(v).ended(errc::already_released));
    h.reply(integer(0));
    const operation& gone = write();
    h.reply(bulk(""));
    h.advance(10s);
    h.reply(array(integer(0)));
    h.sent();
    EXPECT_TRUE(h.downgrade(gone.view).ended(errc::lock_lost));
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_downgrade, of_a_nested_hold_is_refused_until_the_other_is_released) {
    conch::owner me;
    const view_ptr outer = writer({.owner = &me});
    operation& inner = write({.owner = &me});
    EXPECT_TRUE(h.downgrade(outer).ended(errc::nested_hold));
    h.sent();
    h.reply(integer(1));
    EXPECT_TRUE(h.downgrade(inner.view).ended(errc::nested_hold));
    EXPECT_EQ(h.sent(), lines{});
    h.release(inner.view);
    operation& d = h.downgrade(outer);
    EXPECT_EQ(h.sent(), (lines{"nest a c:1:write 1 30000", downgrade_of(1)}));
    h.reply(integer(1), integer(1));
    EXPECT_TRUE(d.ended({}));
}

TEST_F(engine_downgrade, its_owner_reads_on_and_can_not_write) {
    conch::owner me;
    const view_ptr v = writer({.owner = &me});
    operation& d = h.downgrade(v);
    h.sent();
    operation& reads = read({.owner = &me});
    EXPECT_TRUE(reads.granted()) << "in either form";
    operation& writes = write({.owner = &me});
    EXPECT_EQ(h.sent(), lines{});
    h.reply(integer(1));
    EXPECT_TRUE(d.ended({}));
    EXPECT_FALSE(writes.done());
    h.release(v);
    EXPECT_EQ(h.sent(), lines{}) << "the owner still reads";
}

TEST_F(engine_downgrade, of_one_that_was_downgraded_is_done) {
    const view_ptr v = downgraded();
    EXPECT_TRUE(h.downgrade(v).ended({}));
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_downgrade, of_one_that_is_gone_tells_the_loss) {
    const view_ptr v = writer();
    operation& d = h.downgrade(v);
    operation& again = h.downgrade(v);
    h.sent();
    h.reply(integer(0), integer(0));
    EXPECT_TRUE(d.ended(errc::lock_lost));
    EXPECT_TRUE(again.ended(errc::lock_lost));
    EXPECT_EQ(lost(v), errc::lock_lost);
    EXPECT_EQ(h.sent(), lines{}) << "there is nothing to release";
}

TEST_F(engine_downgrade, is_repeated_when_its_answer_was_lost) {
    const view_ptr v = writer();
    operation& d = h.downgrade(v);
    h.sent();
    h.break_connection();
    h.connect();
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", downgrade_of(1), "renew a c:1:write 30000"}));
    h.reply(integer(1), integer(1), array(integer(0)));
    EXPECT_TRUE(d.ended({}));
    EXPECT_EQ(lost(v), errc{}) << "that the writer's field is gone says nothing";
}

TEST_F(engine_downgrade, what_a_renewal_of_the_writer_finds_meanwhile_says_nothing) {
    const view_ptr v = writer();
    h.advance(10s);
    EXPECT_EQ(h.sent(), lines{"renew a c:1:write 30000"});
    operation& d = h.downgrade(v);
    h.reply(array(integer(0)));
    EXPECT_EQ(lost(v), errc{});
    h.reply(integer(1));
    EXPECT_TRUE(d.ended({}));
    h.sent();
    h.advance(10s);
    EXPECT_EQ(h.sent(), lines{renew_reader_of(1)});
    h.reply(array(integer(1)));
}

TEST_F(engine_downgrade, an_extension_that_is_under_way_is_made) {
    const view_ptr v = writer();
    operation& e = h.extend(v, 60s);
    operation& d = h.downgrade(v);
    h.sent();
    h.turn([&] { h.reply(array(integer(1)), integer(1)); });
    EXPECT_TRUE(d.ended({}));
    EXPECT_TRUE(e.ended({}));
}

TEST_F(engine_downgrade, one_that_is_released_meanwhile_is_released_in_either_form) {
    const view_ptr v = writer();
    operation& d = h.downgrade(v);
    h.sent();
    operation& unlocked = h.unlock(v);
    EXPECT_TRUE(d.ended(errc::already_released));
    EXPECT_EQ(h.sent(), lines{end_of_either(1, false)});
    h.reply(integer(1), integer(0));
    EXPECT_TRUE(unlocked.ended({}));
}

TEST_F(engine_downgrade, one_that_is_lost_meanwhile_is_told_and_released) {
    const view_ptr v = writer({.lease = 1s, .renew = false});
    operation& d = h.downgrade(v);
    h.sent();
    h.advance(1s);
    EXPECT_TRUE(d.ended(errc::lease_expired));
    EXPECT_EQ(h.sent().back(), end_of_either(1, false));
}

TEST_F(engine_downgrade, a_cancelled_one_that_was_not_sent_is_not_done) {
    const view_ptr v = writer();
    h.break_connection();
    operation& d = h.downgrade(v);
    h.cancel(d);
    EXPECT_TRUE(d.done());
    h.connect();
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", "renew a c:1:write 30000"}));
    h.reply(integer(1), array(integer(1)));
    h.release(v);
    EXPECT_EQ(h.sent(), lines{end_of(1, ":write")});
}

TEST_F(engine_downgrade, a_cancelled_one_that_was_sent_goes_on) {
    const view_ptr v = writer();
    operation& d = h.downgrade(v);
    h.sent();
    h.cancel(d);
    EXPECT_TRUE(d.done());
    operation& again = h.downgrade(v);
    EXPECT_EQ(h.sent(), lines{}) << "it waits for the same answer";
    h.reply(integer(1));
    EXPECT_TRUE(again.ended({}));
    h.release(v);
    EXPECT_EQ(h.sent(), lines{end_of_either(1)});
}

TEST_F(engine_downgrade, ends_after_the_patience_of_a_client_and_is_done_later) {
    const view_ptr v = writer();
    operation& d = h.downgrade(v);
    h.sent();
    h.advance(h.settings.operation_timeout);
    EXPECT_TRUE(d.ended(errc::not_connected));
    h.connect();
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", downgrade_of(1), "renew a c:1:write 30000"}));
    h.reply(integer(1), integer(1), array(integer(0)));
    h.release(v);
    EXPECT_EQ(h.sent(), lines{end_of_either(1)});
}

TEST_F(engine_downgrade, a_refusal_leaves_a_writer) {
    const view_ptr v = writer();
    operation& d = h.downgrade(v);
    h.sent();
    h.reply(error("NOPERM no"));
    EXPECT_TRUE(d.ended(errc::permission_denied));
    EXPECT_EQ(lost(v), errc{});
    h.advance(1s);
    EXPECT_EQ(h.sent(), lines{"renew a c:1:write 30000"});
    h.reply(array(integer(1)));
    EXPECT_TRUE(try_read().ended({})) << "busy";
}

TEST_F(engine_downgrade, that_may_have_run_before_it_was_refused_is_found_out) {
    const view_ptr v = writer();
    operation& d = h.downgrade(v);
    h.sent();
    h.break_connection();
    h.connect();
    h.sent();
    h.reply(integer(1), error("NOPERM no"), array(integer(0)));
    EXPECT_TRUE(d.ended(errc::not_connected)) << "the lost copy may have run";
    EXPECT_EQ(lost(v), errc{});
    EXPECT_EQ(h.sent(), lines{downgrade_of(1)});
    h.reply(integer(1));
    h.release(v);
    EXPECT_EQ(h.sent(), lines{end_of_either(1)});
}

TEST_F(engine_downgrade, leaves_one_that_may_be_a_reader_to_no_other_writer) {
    const view_ptr v = writer_or_reader();
    operation& next = write();
    h.release(v);
    EXPECT_FALSE(next.done()) << "a lost copy may make it a reader's yet";
    EXPECT_EQ(h.sent().front(), end_of_either(1, false));
}

TEST_F(engine_downgrade, of_which_no_copy_ran_leaves_a_writer_that_may_be_passed_on) {
    const view_ptr v = writer();
    operation& next = write();
    h.downgrade(v);
    h.sent();
    h.reply(error("NOPERM no"));
    h.release(v);
    EXPECT_TRUE(next.granted());
}

TEST_F(engine_downgrade, that_is_refused_lets_its_owner_write_who_asked_meanwhile) {
    conch::owner me;
    const view_ptr v = writer({.owner = &me});
    h.downgrade(v);
    h.sent();
    operation& inner = write({.owner = &me});
    EXPECT_EQ(h.sent(), lines{});
    h.reply(error("NOPERM no"));
    ASSERT_EQ(h.sent().size(), 1u) << "the server counts one level more";
    h.reply(integer(1));
    EXPECT_TRUE(inner.granted());
}

TEST_F(engine_downgrade, that_is_not_answered_in_time_may_have_been_done) {
    const view_ptr v = writer();
    operation& d = h.downgrade(v);
    h.sent();
    h.advance(h.settings.operation_timeout);
    EXPECT_TRUE(d.ended(errc::not_connected));
    EXPECT_EQ(lost(v), errc{});
}

TEST_F(engine_downgrade, is_done_again_at_a_server_that_lost_it) {
    const view_ptr v = downgraded();
    h.advance(10s);
    h.sent();
    h.reply(array(integer(0)));
    EXPECT_EQ(lost(v), errc{}) << "the writer may be there";
    EXPECT_EQ(h.sent(), lines{downgrade_of(1)});
    h.reply(integer(1));
    EXPECT_EQ(lost(v), errc{});
    h.advance(10s);
    EXPECT_EQ(h.sent(), lines{renew_reader_of(1)});
    h.reply(array(integer(0)));
    h.reply(integer(0));
    EXPECT_EQ(lost(v), errc::lock_lost);
}

TEST_F(engine_downgrade, an_answer_that_is_none_loses_no_hold) {
    const view_ptr v = writer();
    for (const std::string& none :
         {bulk("1"), integer(5), std::string{"_\r\n"}, array(integer(1))}) {
        operation& d = h.downgrade(v);
        h.sent();
        h.reply(none);
        EXPECT_TRUE(d.ended(errc::protocol_error)) << none;
        EXPECT_EQ(lost(v), errc{}) << none;
    }
    h.release(v);
    EXPECT_EQ(h.sent().back(), end_of_either(1, false)) << "it may have been done";
}

TEST_F(engine_downgrade, a_client_that_shuts_down_makes_none) {
    const view_ptr v = writer();
    h.shutdown(1s);
    EXPECT_TRUE(h.downgrade(v).ended(errc::client_closed));
}

}  // namespace
