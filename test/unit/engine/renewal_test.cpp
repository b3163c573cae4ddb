// SPDX-License-Identifier: BSL-1.0
#include "unit/engine/harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>

// The watchdog: rules 4, 11, 13.
namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

std::string many(std::size_t n, const std::string& item) {
    std::string out = join("*", n, "\r\n");
    for (std::size_t i = 0; i < n; ++i) {
        out += item;
    }
    return out;
}

/// Holds of `lock0`, `lock1` and so on, granted at one time.
std::vector<conch::impl::view_ptr> grant_many(engine_harness& h, std::size_t n) {
    std::vector<operation*> ops;
    h.turn([&] {
        for (std::size_t i = 0; i < n; ++i) {
            ops.push_back(&h.lock(join("lock", i)));
        }
    });
    h.connect();
    std::string all;
    for (std::size_t i = 0; i < n; i += 64) {  // that many leave as one script, or 8 at least
        const std::size_t part = std::min<std::size_t>(n - i, 64);
        all += part < 8 ? many(part, granted()).substr(4) : many(part, granted());
    }
    h.reply(all);
    h.sent();
    std::vector<conch::impl::view_ptr> holds;
    for (const operation* o : ops) {
        EXPECT_TRUE(o->granted());
        holds.push_back(o->view);
    }
    return holds;
}

TEST(engine_renewal, a_hold_is_renewed_after_a_third_of_its_lease) {
    engine_harness h;
    const auto hold = h.grant("a");
    h.advance(9999ms);
    EXPECT_EQ(h.sent(), lines{});
    h.advance(1ms);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1)});
    const auto sent = h.now();
    h.advance(1s);
    h.reply(array(integer(1)));
    EXPECT_EQ(valid_until(hold), conch::core::lease_end(sent, 30s));
    EXPECT_EQ(h.counters().renewals, 1u);
}

TEST(engine_renewal, it_goes_on_for_as_long_as_the_hold_lives) {
    engine_harness h;
    const auto hold = h.grant("a");
    int renewals = 0;
    for (int i = 0; i < 120; ++i) {
        h.advance(1s);
        for (const std::string& line : h.sent()) {
            EXPECT_EQ(line, renew_of("a", 1));
            ++renewals;
            h.reply(array(integer(1)));
        }
    }
    EXPECT_EQ(renewals, 12);
    EXPECT_EQ(lost(hold), errc{});
}

TEST(engine_renewal, two_hundred_and_fifty_holds_leave_as_three_scripts_in_one_write) {
    engine_harness h;
    grant_many(h, 250);
    const std::size_t writes = h.writes();
    h.advance(10s);
    const auto commands = h.sent_commands();
    ASSERT_EQ(commands.size(), 3u);
    EXPECT_EQ(commands[0].keys.size(), 100u);
    EXPECT_EQ(commands[1].keys.size(), 100u);
    EXPECT_EQ(commands[2].keys.size(), 50u);
    EXPECT_EQ(commands[2].args.size(), 100u);
    EXPECT_EQ(h.writes(), writes + 1);
}

TEST(engine_renewal, holds_that_are_due_at_about_the_same_time_share_a_script) {
    engine_harness h;
    h.grant("a");
    h.advance(2s);
    h.grant("b");
    h.advance(8s);
    const auto commands = h.sent_commands();
    ASSERT_EQ(commands.size(), 1u);
    EXPECT_EQ(commands[0].keys, (lines{"a", "b"}));
}

TEST(engine_renewal, an_answer_of_nought_is_a_loss_at_once) {
    engine_harness h;
    const auto hold = h.grant("a");
    operation& watch = h.wait_lost(hold);
    h.advance(10s);
    h.sent();
    h.reply(array(integer(0)));
    EXPECT_TRUE(watch.ended(errc::lock_lost));
    EXPECT_EQ(h.sent(), lines{}) << "there is nothing to release";
    EXPECT_EQ(h.counters().slots_now, 0u);
}

TEST(engine_renewal, one_bad_key_does_not_sink_the_others) {
    engine_harness h;
    const auto holds = grant_many(h, 3);
    h.advance(10s);
    const auto commands = h.sent_commands();
    ASSERT_EQ(commands.size(), 1u);
    std::string answer = "*3\r\n";
    for (const std::string& key : commands[0].keys) {
        answer += key == "lock0"   ? integer(1)
                  : key == "lock1" ? bulk("WRONGTYPE Operation against a key")
                                   : integer(0);
    }
    h.reply(answer);
    EXPECT_EQ(valid_until(holds[0]), conch::core::lease_end(h.now(), 30s));
    EXPECT_EQ(lost(holds[1]), errc{}) << "it is retried";
    EXPECT_EQ(valid_until(holds[1]), conch::core::lease_end(engine_harness::start, 30s));
    EXPECT_EQ(lost(holds[2]), errc::lock_lost);
    EXPECT_EQ(h.counters().renewal_failures, 1u);
}

TEST(engine_renewal, a_failed_one_is_retried_before_the_next_third) {
    engine_harness h;
    h.grant("a");
    h.advance(10s);
    h.sent();
    h.reply(error("OOM command not allowed when used memory > 'maxmemory'."));
    h.advance(1s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1)});
    h.reply(array(integer(1)));
    EXPECT_EQ(h.counters().renewals, 1u);
}

TEST(engine_renewal, it_is_retried_until_the_deadline_and_then_it_was_refused) {
    engine_harness h;
    const auto hold = h.grant("a");
    operation& watch = h.wait_lost(hold);
    h.advance(10s);
    std::size_t tries = 0;
    while (!watch.done()) {
        for (const std::string& line : h.sent()) {
            ASSERT_EQ(line, renew_of("a", 1));
            ++tries;
            h.reply(error("OOM command not allowed when used memory > 'maxmemory'."));
        }
        h.advance(100ms);
        ASSERT_LT(h.elapsed(), 60s);
    }
    EXPECT_TRUE(watch.ended(errc::renewal_refused));
    EXPECT_EQ(watch.at, valid_until(hold));
    EXPECT_GE(tries, 10u);
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
}

TEST(engine_renewal, a_refusal_that_passed_is_not_the_reason_of_a_later_loss) {
    engine_harness h;
    const auto hold = h.grant("a");
    h.advance(10s);
    h.sent();
    h.reply(error("OOM command not allowed when used memory > 'maxmemory'."));
    h.advance(1s);
    h.sent();
    h.reply(array(integer(1)));
    h.break_connection();
    h.advance(30s);
    EXPECT_EQ(lost(hold), errc::lease_expired);
}

TEST(engine_renewal, an_extension_that_is_refused_for_now_is_asked_for_again) {
    for (const bool passes : {true, false}) {
        engine_harness h;
        const auto v = h.grant("a", {.lease = 60s});
        operation& longer = h.extend(v, 90s);
        const conch::time_point end = h.now() + (passes ? 1s : 10s);
        while (h.now() < end && !longer.done()) {
            if (!h.sent().empty()) {
                h.reply(array(bulk("MISCONF no disk")));
            }
            h.advance(100ms);
        }
        EXPECT_EQ(longer.done(), !passes);
        if (passes) {
            h.advance(2s);
            EXPECT_EQ(h.sent().size(), 1u);
            h.reply(array(integer(1)));
            EXPECT_TRUE(longer.ended({}));
        } else {
            EXPECT_TRUE(longer.ended(errc::server_unavailable)) << "after operation_timeout";
        }
    }
}

TEST(engine_renewal, an_extension_of_a_long_lease_is_asked_for_again_as_soon) {
    engine_harness h;
    const auto v = h.grant("a", {.lease = 3600s});
    operation& longer = h.extend(v, 7200s);
    h.sent();
    h.reply(array(bulk("MISCONF no disk")));
    h.advance(1s);
    EXPECT_EQ(h.sent().size(), 1u);
    h.reply(array(integer(1)));
    EXPECT_TRUE(longer.ended({}));
}

TEST(engine_renewal, one_for_nobody_is_not_sent_again) {
    engine_harness h;
    const auto holds = grant_many(h, 2);
    h.advance(10s);
    EXPECT_EQ(h.sent().size(), 1u);
    h.reply(error("LOADING Redis is loading the dataset in memory"));
    h.unlock(holds[0]);
    h.sent();
    h.reply(integer(0));
    h.advance(20ms);
    EXPECT_EQ(h.sent(), lines{renew_of("lock1", 2)});
    h.unlock(holds[1]);
    h.reply(error("LOADING Redis is loading the dataset in memory"));
    EXPECT_EQ(h.sent(), lines{release_of("lock1", 2)});
    h.reply(integer(0));
    h.advance(1s);
    EXPECT_EQ(h.sent(), lines{});
}

TEST(engine_renewal, one_for_nobody_is_not_sent_at_all) {
    engine_harness h;
    const auto hold = h.grant("a");
    h.block_writes();
    h.advance(10s);
    h.unlock(hold);
    h.unblock_writes();
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
}

TEST(engine_renewal, an_error_for_a_whole_batch_is_retried_as_single_calls) {
    engine_harness h;
    const auto holds = grant_many(h, 3);
    h.advance(10s);
    h.sent();
    h.reply(error("NOPERM this user has no permissions to access one of the keys"));
    lines singles = h.sent();
    std::sort(singles.begin(), singles.end());
    EXPECT_EQ(singles, (lines{renew_of("lock0", 1), renew_of("lock1", 2), renew_of("lock2", 3)}));
    h.reply(array(integer(1)), error("NOPERM No permissions to access a key"), array(integer(1)));
    EXPECT_EQ(h.counters().renewals, 2u);
    EXPECT_EQ(h.counters().renewal_failures, 1u);
    for (const auto& hold : holds) {
        EXPECT_EQ(lost(hold), errc{});
    }
}

TEST(engine_renewal, a_short_answer_judges_nobody_to_be_lost) {
    engine_harness h;
    const auto holds = grant_many(h, 2);
    h.advance(10s);
    h.reply(array(integer(1)));
    EXPECT_EQ(lost(holds[0]), errc{});
    EXPECT_EQ(lost(holds[1]), errc{});
    EXPECT_EQ(h.counters().renewal_failures, 1u);
}

TEST(engine_renewal, none_comes_before_the_grant_or_after_the_release) {
    engine_harness h;
    const auto hold = h.grant("other", {.renew = false});
    h.lock("a", {.lease = 300ms});
    h.sent();
    h.advance(200ms);
    EXPECT_EQ(h.sent(), lines{}) << "not granted yet";
    h.reply(granted());
    h.advance(0s);
    h.sent();
    h.reply(array(integer(1)));
    h.release(hold);
    h.sent();
    h.advance(1s);
    for (const command& c : h.sent_commands()) {
        EXPECT_NE(c.keys, lines{"other"});
    }
}

TEST(engine_renewal, a_hold_that_ends_before_the_write_is_left_out_of_the_batch) {
    engine_harness h;
    const auto holds = grant_many(h, 3);
    h.block_writes();
    h.advance(10s);
    h.release(holds[0]);
    h.unblock_writes();
    const auto commands = h.sent_commands();
    ASSERT_EQ(commands.size(), 2u);
    EXPECT_EQ(commands[1].text(), release_of("lock0", 1));
    ASSERT_EQ(commands[0].keys.size(), 2u);
    h.reply(array(integer(commands[0].keys[0] == "lock1" ? 0 : 1),
                  integer(commands[0].keys[1] == "lock1" ? 0 : 1)));
    EXPECT_EQ(lost(holds[1]), errc::lock_lost);
    EXPECT_EQ(lost(holds[2]), errc{});
}

TEST(engine_renewal, a_hold_that_ends_in_flight_does_not_shift_the_answers) {
    engine_harness h;
    const auto holds = grant_many(h, 3);
    h.advance(10s);
    const auto commands = h.sent_commands();
    ASSERT_EQ(commands.size(), 1u);
    h.release(holds[0]);
    std::string answer = "*3\r\n";
    for (const std::string& key : commands[0].keys) {
        answer += integer(key == "lock2" ? 1 : 0);
    }
    h.reply(answer);
    EXPECT_EQ(lost(holds[0]), errc{});
    EXPECT_EQ(lost(holds[1]), errc::lock_lost);
    EXPECT_EQ(lost(holds[2]), errc{});
}

TEST(engine_renewal, a_fixed_lease_is_never_renewed) {
    engine_harness h;
    h.grant("a", {.renew = false});
    for (int i = 0; i < 2; ++i) {
        h.advance(10s);
        EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 0)}) << "only looked at";
        h.reply(array(integer(1)));
    }
    h.advance(9s);
    EXPECT_EQ(h.sent(), lines{});
}

TEST(engine_renewal, a_hundred_thousand_holds_cost_a_thousand_scripts) {
    engine_harness h;
    grant_many(h, 100'000);
    h.advance(10s);
    EXPECT_EQ(h.sent_commands().size(), 1000u);
    std::string all;
    for (int i = 0; i < 1000; ++i) {
        all += many(100, integer(1));
    }
    h.reply(all);
    EXPECT_EQ(h.counters().renewals, 100'000u);
}

}  // namespace
