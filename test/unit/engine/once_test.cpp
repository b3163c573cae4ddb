// SPDX-License-Identifier: BSL-1.0
// The note beside a lock, of the latest planned time that is done; and which time that is.
#include "unit/engine/harness.hpp"

#include <conch/once.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::config;
using conch::errc;
using conch::impl::once_answer;
using conch::impl::once_note;
using conch::impl::view_ptr;
using lines = std::vector<std::string>;

constexpr once_note ask{.period_ms = 60'000};
constexpr once_note done{.done_ms = 120'000, .period_ms = 60'000};
const std::string question = "once a conch_done:{a} c:1 - 240000 60000";
const std::string told = "once a conch_done:{a} c:1 120000 240000 60000";

class engine_once : public ::testing::Test {
protected:
    operation& note(const once_note& what) { return h.note(v, "a", what, &answer); }

    engine_harness h{};
    view_ptr v = h.grant("a");
    once_answer answer{};
};

TEST_F(engine_once, asks_for_the_time_and_the_note_and_tells_it) {
    operation& asked = note(ask);
    EXPECT_EQ(h.sent(), lines{question});
    h.reply(array(integer(1), integer(130'000), integer(60'000)));
    EXPECT_TRUE(asked.ended({}));
    EXPECT_EQ(answer.now_ms, 130'000);
    EXPECT_EQ(answer.done_ms, 60'000);
    operation& noted = note(done);
    EXPECT_EQ(h.sent(), lines{told});
    h.reply(array(integer(1), integer(131'000), integer(120'000)));
    EXPECT_TRUE(noted.ended({}));
}

TEST_F(engine_once, asks_again_on_the_next_connection) {
    operation& noted = note(done);
    h.sent();
    h.break_connection();
    h.connect(2);
    const lines again = h.sent();
    EXPECT_NE(std::find(again.begin(), again.end(), told), again.end());
    EXPECT_FALSE(noted.done());
    h.shutdown();
    EXPECT_TRUE(noted.ended(errc::client_closed));
}

TEST_F(engine_once, finds_that_the_lock_is_lost) {
    operation& noted = note(done);
    h.reply(array(integer(0), integer(130'000), integer(0)));
    EXPECT_TRUE(noted.ended(errc::lock_lost));
    EXPECT_TRUE(note(done).ended(errc::lock_lost));
    h.sent();
    EXPECT_EQ(h.engine.unsettled(), 0u);
}

TEST_F(engine_once, ends_with_its_hold) {
    operation& first = note(done);
    h.unlock(v);
    EXPECT_TRUE(first.ended(errc::already_released));
    EXPECT_TRUE(note(done).ended(errc::already_released));
    h.reply(array(integer(1), integer(130'000), integer(120'000)), integer(0));
    EXPECT_EQ(h.engine.belongings().notes, 0u);
    const view_ptr other = h.grant("b", {.lease = 1s, .renew = false});
    operation& second = h.note(other, "b", done, &answer);
    h.break_connection();
    h.advance(1s);
    EXPECT_TRUE(second.ended(errc::lease_expired));
}

TEST_F(engine_once, is_given_up_and_may_yet_be_done) {
    h.block_writes();
    operation& waiting = note(done);
    h.cancel(waiting);
    EXPECT_TRUE(waiting.done());
    h.unblock_writes();
    h.turn();
    EXPECT_EQ(h.sent(), lines{}) << "it was not written yet";
    operation& written = note(ask);
    h.sent();
    h.cancel(written);
    EXPECT_TRUE(written.done());
    h.reply(array(integer(1), integer(130'000), integer(60'000)));
    EXPECT_EQ(answer.now_ms, 0) << "nobody wants it any more";
}

TEST_F(engine_once, that_is_refused_or_not_understood_is_an_error) {
    operation& denied = note(ask);
    h.reply(error("NOPERM no"));
    EXPECT_TRUE(denied.ended(errc::permission_denied));
    for (const std::string& nonsense :
         {integer(1), array(), array(integer(1), bulk("x"), integer(0)),
          array(integer(1), integer(1), integer(-1))}) {
        operation& asked = note(ask);
        h.reply(nonsense);
        EXPECT_TRUE(asked.ended(errc::protocol_error));
    }
    EXPECT_TRUE(h.note(nullptr, "a", ask, &answer).ended(errc::not_owner));
    EXPECT_TRUE(h.note(v, "b", ask, &answer).ended(errc::not_owner)) << "another lock";
    h.use(conch::protocol::shared_read_protocol, "a");
    EXPECT_TRUE(note(ask).ended(errc::not_owner)) << "a lock of another kind";
    EXPECT_FALSE(h.unlock(v).done());
}

TEST_F(engine_once, is_given_up_when_the_server_refuses_it_for_a_lease_and_renews_that) {
    for (const auto& [words, why] : {std::pair{"TRYAGAIN Multiple keys", errc::server_unavailable},
                                     std::pair{"OOM command not allowed", errc::out_of_memory}}) {
        operation& noted = note(done);
        int times = 0;
        const auto begun = h.elapsed();
        while (!noted.done() && times < 10'000) {
            for (const std::string& line : h.sent()) {
                times += line == told ? 1 : 0;
                h.reply(line == told ? error(words) : array(integer(1)));
            }
            h.advance(10ms);
        }
        EXPECT_TRUE(noted.ended(why)) << words;
        EXPECT_GT(times, 2) << words;
        EXPECT_GE(h.elapsed() - begun, h.settings.default_lease - 10ms) << words;
        EXPECT_LE(h.elapsed() - begun, h.settings.default_lease + 10ms) << words;
        EXPECT_EQ(h.engine.belongings().notes, 0u) << words;
    }
    EXPECT_FALSE(h.unlock(v).done()) << "it was held all the time";
}

TEST_F(engine_once, is_noted_before_the_release_by_a_server_that_was_away_for_long) {
    operation& noted = note(done);
    h.break_connection();
    h.advance(h.settings.operation_timeout + 1s);
    EXPECT_FALSE(noted.done());
    h.sent();
    h.connect(2, "2222");
    const lines again = h.sent();
    EXPECT_NE(std::find(again.begin(), again.end(), told), again.end());
    for (const std::string& line : again) {
        h.reply(line == told ? array(integer(1), integer(131'000), integer(120'000))
                             : array(integer(1)));
    }
    EXPECT_TRUE(noted.ended({}));
    EXPECT_FALSE(h.unlock(v).done()) << "it is held";
}

TEST_F(engine_once, passes_once_there_is_memory_again) {
    operation& noted = note(done);
    h.sent();
    h.reply(error("OOM command not allowed when used memory > 'maxmemory'"));
    EXPECT_FALSE(noted.done());
    h.advance(1s);
    EXPECT_EQ(h.sent(), lines{told});
    h.reply(array(integer(1), integer(131'000), integer(120'000)));
    EXPECT_TRUE(noted.ended({}));
}

TEST_F(engine_once, a_question_without_an_answer_is_not_waited_for_beyond_the_operation_timeout) {
    operation& silent = note(ask);
    h.break_connection();
    h.advance(h.settings.operation_timeout);
    EXPECT_TRUE(silent.ended(errc::not_connected));
    EXPECT_EQ(h.engine.belongings().notes, 0u);
}

TEST_F(engine_once, of_a_time_out_of_range_is_refused_before_anything_is_sent) {
    for (const std::int64_t ms : {std::int64_t{0}, std::int64_t{-1}, (std::int64_t{1} << 53) - 1,
                                  std::numeric_limits<std::int64_t>::max()}) {
        EXPECT_TRUE(note({.done_ms = ms}).ended(errc::invalid_planned_time)) << ms;
    }
    EXPECT_EQ(h.sent(), lines{});
    operation& ahead = note(done);
    h.reply(error("TOOFAR the run was planned more than a period from now"));
    EXPECT_TRUE(ahead.ended(errc::invalid_planned_time));
    EXPECT_FALSE(h.unlock(v).done());
}

TEST(engine_once_when_full, one_note_of_what_was_done_under_each_hold_is_admitted) {
    config c = quiet();
    c.max_pending = 1;
    engine_harness h{c};
    once_answer answer{};
    const view_ptr a = h.grant("a");
    const view_ptr b = h.grant("b");
    operation& waiting = h.wait_lost(a);
    EXPECT_TRUE(h.note(a, "a", ask, &answer).ended(errc::overloaded)) << "it is full";
    operation& first = h.note(a, "a", done, &answer);
    EXPECT_FALSE(first.done());
    EXPECT_TRUE(h.note(a, "a", done, &answer).ended(errc::overloaded)) << "one is on its way";
    operation& other = h.note(b, "b", done, &answer);
    EXPECT_FALSE(other.done());
    h.sent();
    const std::string noted = array(integer(1), integer(131'000), integer(120'000));
    h.reply(noted, noted);
    EXPECT_TRUE(first.ended({}));
    EXPECT_TRUE(other.ended({}));
    EXPECT_FALSE(h.note(a, "a", done, &answer).done());
    EXPECT_FALSE(waiting.done());
}

TEST_F(engine_once, is_noted_in_a_drain_but_not_after_a_shutdown) {
    h.shutdown(10s);
    operation& noted = note(done);
    h.sent();
    h.reply(array(integer(1), integer(130'000), integer(120'000)));
    EXPECT_TRUE(noted.ended({}));
    h.shutdown();
    EXPECT_TRUE(note(done).done());
}

conch::once_due due(std::int64_t now, std::int64_t period, std::int64_t at, std::int64_t done_ms,
                    conch::duration waited = {}) {
    conch::impl::note_operation op{conch::impl::request::note, nullptr};
    const conch::time_point came{1h};
    op.note = {.period_ms = period, .at_ms = at, .came = came};
    op.answer = {.now_ms = now, .done_ms = done_ms, .held = true, .sent = came + waited};
    return std::get<1>(conch::impl::due_result::take(op));
}

std::int64_t planned(std::int64_t now, std::int64_t period, std::int64_t at) {
    return due(now, period, at, 0).planned.time_since_epoch().count();
}

TEST(once_schedule, plans_the_latest_time_that_is_not_in_the_future) {
    EXPECT_EQ(planned(120'000, 60'000, 0), 120'000);
    EXPECT_EQ(planned(179'999, 60'000, 0), 120'000);
    EXPECT_EQ(planned(180'000, 60'000, 0), 180'000);
    EXPECT_EQ(planned(129'999, 60'000, 10'000), 70'000);
    EXPECT_EQ(planned(130'000, 60'000, 10'000), 130'000);
    EXPECT_EQ(planned(0, 60'000, 10'000), -50'000) << "a server whose clock was never set";
    EXPECT_FALSE(due(0, 60'000, 10'000, 0).done);
}

TEST(once_schedule, plans_for_when_its_caller_came_not_for_when_it_got_the_lock) {
    EXPECT_FALSE(due(185'000, 60'000, 0, 120'000, 5s).done);
    const conch::once_due late = due(185'000, 60'000, 0, 120'000, 5s + 1ms);
    EXPECT_EQ(late.planned.time_since_epoch(), 120s);
    EXPECT_TRUE(late.done);
    EXPECT_FALSE(due(185'000, 60'000, 0, 60'000, 6s).done) << "the other did not come to its end";
    const conch::once_due passed = due(185'000, 60'000, 0, 180'000, 6s);
    EXPECT_EQ(passed.planned.time_since_epoch(), 120s);
    EXPECT_TRUE(passed.done) << "a later one is";
    EXPECT_EQ(due(185'000, 60'000, 0, 0, -1h).planned.time_since_epoch(), 180s);
}

TEST(once_schedule, is_done_if_that_time_is_or_a_later_one) {
    EXPECT_FALSE(due(130'000, 60'000, 0, 0).done);
    EXPECT_FALSE(due(130'000, 60'000, 0, 119'999).done);
    EXPECT_TRUE(due(130'000, 60'000, 0, 120'000).done);
    EXPECT_TRUE(due(130'000, 60'000, 0, 999'000).done);
}

}  // namespace
