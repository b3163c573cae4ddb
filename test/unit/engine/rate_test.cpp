// SPDX-License-Identifier: BSL-1.0
// Permits of a rate limit: counted once, in order, and waited for by one timer.
#include "unit/engine/rate_fixture.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;
using conch::rate_algorithm;
using conch::impl::rate_spec;
using conch::impl::rate_spec_ptr;

TEST_F(engine_rate, a_try_is_one_script_and_its_answer_the_verdict) {
    operation& op = h.try_permits(five, 2);
    EXPECT_EQ(h.sent(), lines{"rate_log r 5 60000 2"});
    h.reply(counted(1, 4, 0, 60'000));
    EXPECT_TRUE(op.ended({}));
    EXPECT_TRUE(op.verdict.allowed);
    EXPECT_EQ(op.verdict.count, 4u);
    EXPECT_EQ(op.verdict.limit, 5u);
    EXPECT_EQ(op.verdict.remaining, 1u);
    EXPECT_EQ(op.verdict.reset_after, 60s);
    EXPECT_EQ(op.verdict.retry_after, 0s);
    EXPECT_EQ(h.counters().permits_granted, 1u);
}

TEST_F(engine_rate, a_refusal_is_an_answer_too) {
    operation& op = h.try_permits(five);
    h.reply(counted(0, 5, 700, 60'000));
    EXPECT_TRUE(op.ended({}));
    EXPECT_FALSE(op.verdict.allowed);
    EXPECT_EQ(op.verdict.count, 5u);
    EXPECT_EQ(op.verdict.remaining, 0u);
    EXPECT_EQ(op.verdict.retry_after, 700ms);
    EXPECT_EQ(h.counters().permits_refused, 1u);
}

TEST_F(engine_rate, a_fixed_window_has_its_own_script) {
    const rate_spec_ptr fixed{new rate_spec{"r", {5, 1500us}, rate_algorithm::fixed_window}};
    h.try_permits(fixed);
    EXPECT_EQ(h.sent(), lines{"rate_window r 5 2 1"}) << "milliseconds, rounded up";
}

TEST_F(engine_rate, an_even_pace_has_its_own_script_and_counts_of_the_burst) {
    const rate_spec_ptr paced{new rate_spec{"r", {5, 1min, 2}, rate_algorithm::gcra}};
    operation& op = h.try_permits(paced, 2);
    EXPECT_EQ(h.sent(), lines{"rate_gcra r 5 60000 2 2"});
    h.reply(counted(1, 2, 0, 24'000));
    EXPECT_TRUE(op.verdict.allowed);
    EXPECT_EQ(op.verdict.limit, 2u);
    EXPECT_EQ(op.verdict.remaining, 0u);
    EXPECT_TRUE(h.try_permits(paced, 3).ended(errc::invalid_permits)) << "never so many at once";
    EXPECT_TRUE(h.sent().empty());
}

TEST_F(engine_rate, who_asks_by_another_burst_has_a_queue_of_its_own) {
    const rate_spec_ptr two{new rate_spec{"r", {5, 1min, 2}, rate_algorithm::gcra}};
    const rate_spec_ptr all{new rate_spec{"r", {5, 1min}, rate_algorithm::gcra}};
    h.try_permits(two);
    h.try_permits(all);
    EXPECT_EQ(h.sent(), (lines{"rate_gcra r 5 60000 2 1", "rate_gcra r 5 60000 5 1"}));
}

TEST_F(engine_rate, requests_of_one_turn_leave_together_and_each_has_its_count) {
    operation* ops[3] = {};
    h.turn([&] {
        for (int i = 0; i < 3; ++i) {
            ops[i] = &h.try_permits(five, static_cast<std::uint64_t>(i) + 1);
        }
    });
    EXPECT_EQ(h.sent(), lines{"rate_log r 5 60000 1 2 3"});
    h.reply(counted(2, 4, 900, 60'000));
    EXPECT_EQ(ops[0]->verdict.count, 2u) << "one was there before";
    EXPECT_EQ(ops[0]->verdict.remaining, 3u);
    EXPECT_EQ(ops[1]->verdict.count, 4u);
    EXPECT_TRUE(ops[1]->verdict.allowed);
    EXPECT_FALSE(ops[2]->verdict.allowed);
    EXPECT_EQ(ops[2]->verdict.remaining, 1u);
}

TEST_F(engine_rate, who_comes_while_a_call_is_on_its_way_goes_with_the_next_one) {
    operation& first = h.try_permits(five);
    h.sent();
    operation& second = h.try_permits(five);
    EXPECT_EQ(h.sent(), lines{});
    h.reply(counted(1, 1, 0, 60'000));
    EXPECT_TRUE(first.verdict.allowed);
    EXPECT_EQ(h.sent(), lines{"rate_log r 5 60000 1"});
    h.reply(counted(1, 2, 0, 60'000));
    EXPECT_EQ(second.verdict.count, 2u);
}

TEST_F(engine_rate, who_waits_asks_again_when_the_server_said_and_not_before) {
    operation& op = refused(1, 700);
    EXPECT_FALSE(op.done());
    h.advance(700ms - 1ns);
    EXPECT_EQ(h.sent(), lines{});
    h.advance(1ns);
    EXPECT_EQ(h.sent(), lines{"rate_log r 5 60000 1"});
    h.reply(counted(1, 5, 0, 60'000));
    EXPECT_TRUE(op.ended({}));
    EXPECT_TRUE(op.verdict.allowed);
}

TEST_F(engine_rate, a_large_request_is_not_overtaken_by_smaller_ones) {
    operation& large = refused(5, 700);
    operation& small = h.permits(five, 1);
    EXPECT_EQ(h.sent(), lines{}) << "the refusal stands for both";
    operation& once = h.try_permits(five);
    EXPECT_EQ(h.sent(), lines{"rate_log r 5 60000 5 1 1"});
    h.reply(counted(0, 2, 700, 60'000));
    EXPECT_TRUE(once.ended({}));
    EXPECT_FALSE(once.verdict.allowed);
    EXPECT_EQ(once.verdict.remaining, 3u) << "but others are before it";
    EXPECT_FALSE(large.done());
    EXPECT_FALSE(small.done());
}

TEST_F(engine_rate, who_wants_less_than_a_refused_try_is_asked_for) {
    operation* ops[4] = {};
    h.turn([&] {
        ops[0] = &h.try_permits(five, 5);
        ops[1] = &h.try_permits(five, 1);
        ops[2] = &h.permits(five, 1, 0ms);
        ops[3] = &h.try_permits(five, 5);
    });
    EXPECT_EQ(h.sent(), lines{"rate_log r 5 60000 5 1 1 5"});
    h.reply(counted(0, 2, 700, 60'000));
    EXPECT_FALSE(ops[0]->verdict.allowed);
    EXPECT_TRUE(ops[3]->ended({})) << "as much as what was refused";
    EXPECT_FALSE(ops[1]->done());
    EXPECT_EQ(h.sent(), lines{"rate_log r 5 60000 1 1"});
    h.reply(counted(2, 4, 0, 60'000));
    EXPECT_TRUE(ops[1]->verdict.allowed);
    EXPECT_TRUE(ops[2]->verdict.allowed);
}

TEST_F(engine_rate, when_the_first_gives_up_the_next_asks_at_once) {
    operation& large = refused(5, 700);
    operation& small = h.permits(five, 1);
    h.cancel(large);
    EXPECT_EQ(h.sent(), lines{"rate_log r 5 60000 1"});
    h.reply(counted(1, 5, 0, 60'000));
    EXPECT_TRUE(small.verdict.allowed);
}

TEST_F(engine_rate, a_wait_that_is_too_short_ends_with_the_answer) {
    operation& op = refused(2, 700, 600ms);
    EXPECT_TRUE(op.ended(errc::timed_out));
    EXPECT_EQ(op.verdict.retry_after, 700ms);
    EXPECT_EQ(h.sent(), lines{}) << "nobody is left";
}

TEST_F(engine_rate, who_comes_later_and_would_wait_in_vain_is_told_at_once) {
    refused(2, 700);
    h.advance(100ms);
    operation& op = h.permits(five, 2, 500ms);
    EXPECT_TRUE(op.ended(errc::timed_out));
    EXPECT_EQ(op.verdict.retry_after, 600ms);
    operation& smaller = h.permits(five, 1, 500ms);
    EXPECT_FALSE(smaller.done()) << "it may fit if the first gives up";
    h.advance(500ms);
    EXPECT_TRUE(smaller.ended(errc::timed_out));
}

TEST_F(engine_rate, the_first_try_is_awaited_however_short_the_wait) {
    operation& op = h.permits(five, 1, 0ms);
    h.advance(100ms);
    EXPECT_FALSE(op.done());
    h.reply(counted(1, 1, 0, 60'000));
    EXPECT_TRUE(op.ended({}));
    EXPECT_TRUE(op.verdict.allowed);
}

TEST_F(engine_rate, the_servers_refusal_of_the_command_fails_those_that_it_was_for) {
    operation& op = h.permits(five, 1);
    h.sent();
    operation& next = h.permits(five, 1);
    h.reply(error("WRONGTYPE Operation against a key holding the wrong kind of value"));
    EXPECT_TRUE(op.ended(errc::wrong_type));
    EXPECT_FALSE(next.done());
    EXPECT_EQ(h.sent(), lines{"rate_log r 5 60000 1"});
}

TEST_F(engine_rate, an_answer_of_another_shape_is_a_protocol_error) {
    operation& op = h.try_permits(five);
    h.reply(counted(2, 1, 0, 60'000));
    EXPECT_TRUE(op.ended(errc::protocol_error)) << "more requests than were made";
    operation& other = h.try_permits(five);
    h.reply(bulk("5"));
    EXPECT_TRUE(other.ended(errc::protocol_error));
    operation& third = h.permits(five, 1);
    h.reply(array(integer(0), integer(5), integer(std::numeric_limits<std::int64_t>::max()),
                  integer(60'000)));
    EXPECT_TRUE(third.ended(errc::protocol_error)) << "longer than any window";
}

TEST_F(engine_rate, a_changed_limit_goes_in_a_call_of_its_own) {
    h.try_permits(five);
    operation& changed = h.try_permits(limit_of(7));
    EXPECT_EQ(h.sent(), (lines{"rate_log r 5 60000 1", "rate_log r 7 60000 1"}));
    h.reply(counted(1, 5, 0, 60'000), counted(1, 6, 0, 60'000));
    EXPECT_EQ(changed.verdict.limit, 7u);
    EXPECT_EQ(changed.verdict.remaining, 1u);
}

TEST_F(engine_rate, who_waits_by_the_old_limit_is_not_in_the_way_of_the_new_one) {
    operation& old = h.permits(five, 1);
    h.sent();
    h.reply(counted(0, 5, 50'000, 60'000));
    const rate_spec_ptr raised = limit_of(100);
    operation& once = h.try_permits(raised);
    h.sent();
    h.reply(counted(1, 6, 0, 60'000));
    EXPECT_TRUE(once.ended({}) && once.verdict.allowed);
    operation& waits = h.permits(raised, 1, 1s);
    EXPECT_EQ(h.sent(), lines{"rate_log r 100 60000 1"}) << "its wait is not in vain";
    h.reply(counted(1, 7, 0, 60'000));
    EXPECT_TRUE(waits.ended({}) && !old.done());
}

TEST_F(engine_rate, a_call_asks_for_a_bounded_number_of_requests) {
    const rate_spec_ptr many = limit_of(1000);
    h.turn([&] {
        for (int i = 0; i < 300; ++i) {
            h.try_permits(many);
        }
    });
    EXPECT_EQ(h.sent_commands().at(0).args.size(), 2u + 256);
    h.reply(counted(256, 256, 0, 60'000));
    EXPECT_EQ(h.sent_commands().at(0).args.size(), 2u + 44);
    h.reply(counted(0, 1000, 50, 60'000));
    EXPECT_EQ(h.counters().permits_granted, 256u);
    EXPECT_EQ(h.counters().permits_refused, 44u);
}

TEST_F(engine_rate, impossible_requests_are_refused_without_output) {
    EXPECT_TRUE(h.try_permits(five, 0).ended(errc::invalid_permits));
    EXPECT_TRUE(h.permits(five, 6).ended(errc::invalid_permits));
    EXPECT_TRUE(h.permits(five, 1, -1ns).ended(errc::invalid_wait));
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_rate, a_cancelled_request_leaves_at_once_and_is_not_sent_for) {
    h.block_writes();
    operation& unsent = h.permits(five, 1);
    h.cancel(unsent);
    EXPECT_EQ(unsent.completions, 1);
    h.unblock_writes();
    EXPECT_EQ(h.sent(), lines{});
    operation& sent = h.permits(five, 1);
    h.sent();
    h.cancel(sent);
    EXPECT_EQ(sent.completions, 1);
    h.reply(error("NOSCRIPT No matching script."));
    EXPECT_EQ(h.sent(), lines{}) << "nobody wants it";
}

TEST_F(engine_rate, who_is_in_a_call_when_another_gives_up_still_gets_the_answer) {
    operation* ops[2] = {};
    h.turn([&] {
        ops[0] = &h.permits(five, 1);
        ops[1] = &h.permits(five, 1);
    });
    h.cancel(*ops[0]);
    h.reply(counted(2, 2, 0, 60'000));
    EXPECT_TRUE(ops[1]->verdict.allowed);
    EXPECT_EQ(ops[1]->verdict.count, 2u);
}

TEST_F(engine_rate, shutdown_ends_all_requests) {
    operation& waiting = refused(1, 700);
    operation& once = h.try_permits(five);
    h.shutdown();
    EXPECT_TRUE(waiting.ended(errc::client_closed));
    EXPECT_TRUE(once.ended(errc::client_closed));
    EXPECT_TRUE(h.try_permits(five).ended(errc::client_closed));
}

TEST(rate_spec_test, bad_names_limits_and_windows_are_refused) {
    const auto make = [](std::string_view name, std::uint64_t limit, conch::duration window) {
        const rate_spec s{name, {limit, window}, rate_algorithm::fixed_window};
    };
    EXPECT_NO_THROW(make("r", 1'000'000'000, 24h * 365));
    EXPECT_NO_THROW(make("r", 1, 1ms));
    EXPECT_THROW(make("", 1, 1s), std::invalid_argument);
    EXPECT_THROW(make(std::string((64u << 10) + 1, 'x'), 1, 1s), std::invalid_argument);
    EXPECT_THROW(make("r", 0, 1s), std::invalid_argument);
    EXPECT_THROW(make("r", 1'000'000'001, 1s), std::invalid_argument);
    EXPECT_THROW(make("r", 1, 1ms - 1ns), std::invalid_argument);
    EXPECT_THROW(make("r", 1, 0s), std::invalid_argument);
    EXPECT_THROW(make("r", 1, -1s), std::invalid_argument);
    EXPECT_THROW(make("r", 1, 24h * 365 + 1ns), std::invalid_argument);
    EXPECT_THROW(make("r", 1, conch::forever), std::invalid_argument);
}

TEST(rate_spec_test, only_an_even_pace_has_a_burst_and_none_above_the_limit) {
    const auto make = [](std::uint64_t burst, rate_algorithm how) {
        return rate_spec{"r", {5, 1s, burst}, how}.burst();
    };
    EXPECT_EQ(make(0, rate_algorithm::gcra), 5u);
    EXPECT_EQ(make(1, rate_algorithm::gcra), 1u);
    EXPECT_EQ(make(5, rate_algorithm::gcra), 5u);
    EXPECT_THROW(make(6, rate_algorithm::gcra), std::invalid_argument);
    for (const rate_algorithm how : {rate_algorithm::fixed_window, rate_algorithm::sliding_log}) {
        EXPECT_EQ(make(0, how), 5u);
        EXPECT_THROW(make(5, how), std::invalid_argument);
    }
    EXPECT_THROW(make(0, static_cast<rate_algorithm>(3)), std::invalid_argument);
}

}  // namespace
