// SPDX-License-Identifier: BSL-1.0
// A lease that is renewed only while its holder reports progress.
#include "hold/composite_view.hpp"
#include "unit/engine/shared.hpp"

#include <conch/owner.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;
using conch::lock_options;
using conch::impl::view_ptr;

class engine_progress : public testing::Test {
protected:
    void report(const view_ptr& v) { conch::impl::note_progress(*v, h.now()); }
    /// Answers the renewals; what the first hold of the last one asked for, in milliseconds.
    long renewals(conch::duration during) {
        long last = -1;
        for (const auto end = h.now() + during; h.now() < end; h.advance(50ms)) {
            for (const command& c : h.sent_commands()) {
                if (c.name == "renew") {
                    last = std::stol(c.args.at(1));
                    asked_for_a += std::count(c.keys.begin(), c.keys.end(), "a");
                    std::string answer = join("*", c.keys.size(), "\r\n");
                    for (std::size_t i = 0; i < c.keys.size(); ++i) {
                        answer += integer(1);
                    }
                    h.reply(answer);
                }
            }
        }
        return last;
    }
    /// The same, but each is refused.
    void refusals(conch::duration during, std::string_view words) {
        for (const auto end = h.now() + during; h.now() < end; h.advance(50ms)) {
            for (const command& c : h.sent_commands()) {
                if (c.name == "renew") {
                    h.reply(error(words));
                }
            }
        }
    }
    /// Its renewal was withheld when it was due, at 10 s, and the last report came after that.
    view_ptr reported_late() {
        view_ptr v = h.grant("a", {.progress_within = 5s});
        renewals(10500ms);
        report(v);
        return v;
    }

    std::ptrdiff_t asked_for_a = 0;
    engine_harness h{[] {
        conch::config c = quiet();
        c.max_pass_time = 1min;
        return c;
    }()};
};

class engine_shared_progress : public engine_shared {};

TEST_F(engine_progress, a_holder_that_reports_keeps_its_lock) {
    const view_ptr v = h.grant("a", {.lease = 3s, .progress_within = 2s});
    for (int i = 0; i < 20; ++i) {
        renewals(1900ms);
        report(v);
    }
    EXPECT_EQ(lost(v), errc{});
    EXPECT_GT(h.counters().renewals, 30u);
    EXPECT_EQ(h.counters().latest_renewal, 0ms);
}

TEST_F(engine_progress, a_silent_holder_loses_it_with_an_error_of_its_own_and_in_time) {
    const auto began = h.now();
    const view_ptr v = h.grant("a", {.lease = 3s, .progress_within = 5s});
    operation& watch = h.wait_lost(v);
    while (!watch.done()) {
        ASSERT_LT(h.now(), began + 20s);
        for (const std::string& line : h.sent()) {
            EXPECT_TRUE(line.starts_with("renew")) << line;
            h.reply(array(integer(1)));
        }
        h.advance(10ms);
    }
    EXPECT_TRUE(watch.ended(errc::no_progress));
    EXPECT_EQ(lost(v), errc::no_progress);
    EXPECT_LE(watch.at, began + 5s + 3s);
    EXPECT_GE(watch.at, began + 5s + 2s - conch::core::drift_margin(3s));
    EXPECT_EQ(watch.at, valid_until(v));
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)}) << "where the server's lease is the longer one";
    EXPECT_EQ(h.counters().lost_no_progress, 1u);
    EXPECT_EQ(h.counters().lost_expired, 0u);
    EXPECT_TRUE(h.unlock(v).ended(errc::no_progress));
}

TEST_F(engine_progress, a_silent_holder_hears_of_it_ahead_of_time) {
    const view_ptr v = h.grant("a", {.lease = 3s, .progress_within = 500ms});
    operation& watch = h.wait_lost(v, 1s);
    renewals(2500ms);
    EXPECT_TRUE(watch.ended(errc::no_progress));
    EXPECT_EQ(lost(v), errc{});
}

TEST_F(engine_progress,
       the_server_is_asked_each_third_of_the_lease_whether_a_silent_hold_is_there) {
    const view_ptr v = h.grant("a", {.progress_within = 5s});
    const auto until = valid_until(v);
    h.advance(10s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 0)});
    h.reply(array(integer(1)));
    h.advance(9500ms);
    EXPECT_EQ(h.sent(), lines{});
    h.advance(1s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 0)});
    EXPECT_EQ(valid_until(v), until);
    h.reply(array(integer(0)));
    EXPECT_EQ(lost(v), errc::lock_lost);
}

TEST_F(engine_progress, a_stuck_hold_with_a_long_lease_makes_no_others_renew) {
    h.grant("b");
    renewals(30min - 5s);
    const conch::stats alone = h.counters();
    h.grant("a", {.lease = 1h, .progress_within = 1s});
    renewals(30min);
    const conch::stats beside = h.counters();
    EXPECT_LE(beside.renewals, 2 * alone.renewals + 1);
    EXPECT_LE(beside.renewal_batches, 2 * alone.renewal_batches + 2) << "with one question";
    EXPECT_GE(alone.renewals, 170u);
}

TEST_F(engine_progress, a_stuck_hold_is_not_asked_for_with_each_renewal_of_another) {
    const view_ptr v = h.grant("a", {.progress_within = 1s});
    const view_ptr other = h.grant("b", {.lease = 3s});
    renewals(25s);
    EXPECT_EQ(asked_for_a, 2);
    EXPECT_EQ(lost(other), errc{});
    report(v);
    renewals(1s);
    EXPECT_EQ(asked_for_a, 3);
    EXPECT_GE(valid_until(v), h.now() + 28s);
}

TEST_F(engine_progress, a_question_that_is_refused_is_asked_again_after_a_pause) {
    h.grant("a", {.progress_within = 1s});
    h.advance(10s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 0)});
    h.reply(error("NOPERM no"));
    h.advance(1s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 0)});
    h.reply(array(integer(1)));
    h.advance(9s);
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_progress, renewal_goes_on_soon_after_the_next_report) {
    const view_ptr v = h.grant("a", {.progress_within = 5s});
    EXPECT_EQ(renewals(20100ms), 0);
    report(v);
    EXPECT_EQ(renewals(1s), 30'000);
    EXPECT_GE(valid_until(v), h.now() + 28s);
    EXPECT_EQ(h.counters().latest_renewal, 0ms) << "it was not the client that was late";
    EXPECT_EQ(renewals(9s), -1) << "the next one is due after a third of the lease";
    EXPECT_EQ(renewals(1s), 0) << "and is withheld again";
}

TEST_F(engine_progress, it_is_seen_however_seldom_a_long_lease_is_looked_at) {
    const view_ptr v = h.grant("a", {.lease = 1h, .progress_within = 1s});
    EXPECT_EQ(renewals(30min), 0);
    report(v);
    EXPECT_EQ(renewals(1s), 3'600'000);
}

TEST_F(engine_progress, a_server_that_is_away_is_another_reason) {
    const view_ptr v = h.grant("a", {.lease = 3s, .progress_within = 2s});
    h.break_connection();
    h.advance(1s);
    report(v);
    h.advance(1900ms);
    EXPECT_EQ(lost(v), errc{});
    h.advance(100ms);
    EXPECT_EQ(lost(v), errc::lease_expired);
}

TEST_F(engine_progress, a_holder_that_was_silent_when_a_renewal_was_due_is_the_reason_though) {
    const view_ptr v = h.grant("a", {.lease = 3s, .progress_within = 900ms});
    h.break_connection();
    h.advance(3s);
    EXPECT_EQ(lost(v), errc::no_progress);
}

TEST_F(engine_progress, after_a_late_report_a_lost_connection_is_the_reason) {
    const view_ptr v = reported_late();
    h.break_connection();
    h.advance(20s);
    EXPECT_EQ(lost(v), errc::lease_expired);
}

// The connection was away for as long as the report counted.
TEST_F(engine_progress, a_late_report_that_could_change_nothing_is_no_excuse_for_later_silence) {
    const view_ptr v = h.grant("a", {.progress_within = 1s});
    h.advance(10s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 0)});
    h.break_connection();
    h.advance(400ms);
    report(v);
    h.advance(1600ms);
    h.connect();
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", renew_of("a", 1, 0)}));
    h.reply(integer(1), array(integer(1)));
    EXPECT_EQ(renewals(20s), 0);
    EXPECT_EQ(lost(v), errc::no_progress);
}

TEST_F(engine_progress, after_a_late_report_a_refusal_is_the_reason) {
    const view_ptr v = reported_late();
    refusals(20s, "NOPERM no");
    EXPECT_EQ(lost(v), errc::renewal_refused);
}

TEST_F(engine_progress, after_a_late_report_a_stall_is_the_reason) {
    const view_ptr v = reported_late();
    h.skip(1min);
    h.turn();
    EXPECT_EQ(lost(v), errc::lease_expired);
}

TEST_F(engine_progress, of_a_holder_that_falls_silent_after_a_refusal_that_is_the_reason) {
    const view_ptr v = h.grant("a", {.progress_within = 5s});
    renewals(8s);
    report(v);
    refusals(23s, "NOPERM no");
    EXPECT_EQ(lost(v), errc::renewal_refused);
}

TEST_F(engine_progress, of_a_holder_that_reports_a_stall_is_the_reason) {
    const view_ptr v = h.grant("a", {.progress_within = 5s});
    renewals(9s);
    report(v);
    h.skip(1min);
    h.turn();
    EXPECT_EQ(lost(v), errc::lease_expired);
}

TEST_F(engine_progress, an_earlier_report_that_comes_later_changes_nothing) {
    const view_ptr v = h.grant("a", {.progress_within = 5s});
    h.advance(2s);
    report(v);
    conch::impl::note_progress(*v, h.now() - 1s);
    EXPECT_EQ(conch::impl::report_of(*v)->get(), h.now());
}

TEST_F(engine_progress, a_silent_holder_may_extend_its_lease_all_the_same) {
    const view_ptr v = h.grant("a", {.lease = 3s, .progress_within = 1s});
    renewals(2s);
    operation& op = h.extend(v, 9s);
    renewals(8s);
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(lost(v), errc{});
    renewals(1s);
    EXPECT_EQ(lost(v), errc::no_progress);
}

TEST_F(engine_progress, holds_that_are_renewed_together_are_judged_apart) {
    const view_ptr silent = h.grant("a", {.progress_within = 8s});
    const view_ptr busy = h.grant("b", {.progress_within = 8s});
    h.advance(5s);
    report(busy);
    h.advance(5s);
    EXPECT_EQ(h.sent(), lines{"renew a b c:1 0 c:2 30000"});
}

TEST_F(engine_progress, what_nested_holds_report_counts_for_all_even_when_they_are_gone) {
    const conch::owner me;
    const view_ptr outer = h.grant("a", {.lease = 3s, .progress_within = 2s, .owner = &me});
    operation& inner = h.lock("a", {.owner = &me});
    h.sent();
    h.reply(integer(1));
    ASSERT_TRUE(inner.granted());
    for (int i = 0; i < 5; ++i) {
        renewals(950ms);
        report(inner.view);
    }
    h.release(inner.view);
    h.sent();
    h.reply(integer(1));
    EXPECT_EQ(renewals(1500ms), 3000);
    EXPECT_EQ(lost(outer), errc{});
    renewals(4s);
    EXPECT_EQ(lost(outer), errc::no_progress);
}

TEST_F(engine_progress, who_enters_or_leaves_a_level_prolongs_nothing_for_a_silent_holder) {
    const conch::owner me;
    const lock_options mine{.progress_within = 4s, .owner = &me};
    const view_ptr outer = h.grant("a", mine);
    auto until = valid_until(outer);
    h.advance(5s);
    operation& inner = h.lock("a", mine);
    EXPECT_EQ(h.sent(), lines{nest_of("a", 1, 2, 24'872)}) << "that is what is left";
    h.reply(integer(1));
    ASSERT_TRUE(inner.granted());
    EXPECT_EQ(valid_until(outer), until);
    h.advance(4500ms);
    h.release(inner.view);
    EXPECT_EQ(h.sent().size(), 1u);
    h.reply(integer(1));
    EXPECT_EQ(valid_until(outer), until);
}

TEST_F(engine_progress, who_enters_a_level_reports_nothing_by_that) {
    const conch::owner me;
    const lock_options mine{.progress_within = 4s, .owner = &me};
    h.grant("a", mine);
    h.advance(9900ms);
    operation& inner = h.lock("a", mine);
    h.sent();
    h.reply(integer(1));
    ASSERT_TRUE(inner.granted());
    EXPECT_EQ(renewals(1s), 0);
}

TEST_F(engine_shared_progress, nor_does_a_reader) {
    const conch::owner me;
    const lock_options mine{.progress_within = 4s, .owner = &me};
    reader(mine);
    h.advance(9900ms);
    ASSERT_TRUE(read(mine).granted());
    h.advance(100ms);
    EXPECT_EQ(h.sent(), lines{renew_reader_of(1, 0)});
}

TEST_F(engine_shared_progress, a_downgrade_that_was_refused_is_looked_into_soon) {
    const view_ptr v = writer({.progress_within = 4s});
    h.advance(10s);
    EXPECT_EQ(h.sent().size(), 1u) << "asked for";
    h.reply(array(integer(1)));
    h.advance(100ms);
    operation& down = h.downgrade(v);
    h.sent();
    h.reply(error("NOPERM no"));
    EXPECT_TRUE(down.done());
    h.advance(1s);
    EXPECT_EQ(h.sent().size(), 1u) << "not only after a third of the lease";
}

TEST_F(engine_shared_progress, a_downgrade_prolongs_nothing_for_a_silent_holder) {
    const view_ptr v = writer({.progress_within = 4s});
    const auto before = valid_until(v);
    h.advance(5s);
    h.downgrade(v);
    EXPECT_EQ(h.sent(), lines{downgrade_of(1, "24872")}) << "that is what is left";
    h.reply(integer(1));
    EXPECT_EQ(valid_until(v), before);
}

TEST_F(engine_progress, who_has_the_lock_from_another_waiter_begins_anew) {
    const lock_options o{.lease = 3s, .progress_within = 500ms};
    const view_ptr first = h.grant("a", o);
    h.advance(900ms);
    operation& next = h.lock("a", o);
    h.release(first);
    ASSERT_TRUE(next.granted());
    EXPECT_EQ(h.counters().hand_offs, 1u);
    h.sent();
    EXPECT_EQ(renewals(150ms), 3000);
    EXPECT_EQ(renewals(1s), 0);
}

TEST_F(engine_progress, times_that_can_not_be_kept_are_refused_without_output) {
    for (const lock_options& o :
         {lock_options{.progress_within = -1ns}, lock_options{.progress_within = 99ms},
          lock_options{.renew = false, .progress_within = 1s}}) {
        EXPECT_TRUE(h.lock("a", o).ended(errc::invalid_progress_within));
    }
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_EQ(h.counters().slots_now, 0u);
}

}  // namespace
