// SPDX-License-Identifier: BSL-1.0
// The scripts of the rate limits, run by hand.
#include "support/redis_test.hpp"

#include "wire/script.hpp"

#include <string>

namespace {

using namespace conch;
using namespace conch::test;

class rate_scripts_test : public redis_test {
protected:
    reply ask(wire::script_id script, const std::string& limit, const std::string& window_ms,
              const std::string& permits = "1") {
        return raw.must({"EVAL", std::string{wire::get_script(script).body}, "1", "calls", limit,
                         window_ms, permits});
    }
    void expect_wrong_type(wire::script_id script) {
        const reply r = raw.command({"EVAL", std::string{wire::get_script(script).body}, "1",
                                     "calls", "10", "5000", "1"});
        EXPECT_TRUE(r.is_error() && r.text.starts_with("WRONGTYPE")) << r.text;
    }
    /// A log of so many calls, the last of them 10 s ago, that lives on.
    void log_of(int calls) {
        const std::int64_t now = std::stoll(raw.must({"TIME"}).items.at(0).text);
        raw_client::words line{"ZADD", "calls", std::to_string(calls), ""};
        for (int i = 0; i < calls; ++i) {
            const std::string at = std::to_string((now - 10) * 1'000'000 - i);
            line.push_back(at);
            line.push_back(at + ":1");
        }
        raw.must({"DEL", "calls"});
        raw.must(line);
        raw.must({"PEXPIRE", "calls", "3600000"});
    }
    /// Commands that scripts and clients have run since `reset_calls()`.
    std::uint64_t commands() {
        std::uint64_t sum = 0;
        for (const char* name : {"time", "zscore", "zrange", "zrangebyscore", "zremrangebyscore",
                                 "zadd", "unlink", "pexpire", "zcount", "zcard"}) {
            sum += raw.calls(name);
        }
        return sum;
    }
};

TEST_F(rate_scripts_test, a_log_that_is_over_goes_at_once_however_long_it_was) {
    std::uint64_t of_one = 0;
    for (const int calls : {1, 5'000}) {
        log_of(calls);
        raw.reset_calls();
        const reply r = ask(wire::script_id::rate_log, "10", "5000");
        const std::uint64_t cost = commands();
        of_one = of_one == 0 ? cost : of_one;
        EXPECT_EQ(cost, of_one);
        EXPECT_EQ(raw.calls("unlink"), 1u) << "not read entry by entry";
        ASSERT_EQ(r.items.size(), 4u);
        EXPECT_EQ(r.items[0].number, 1);
        EXPECT_EQ(r.items[1].number, 1) << "what is over does not count";
        EXPECT_EQ(raw.must({"ZSCORE", "calls", ""}).text, "1");
        EXPECT_EQ(raw.must({"ZCARD", "calls"}).number, 2);
        EXPECT_LE(raw.pttl("calls"), 5'001);
    }
}

TEST_F(rate_scripts_test, a_refusal_by_a_long_log_reads_a_part_of_it_only) {
    log_of(5'000);
    raw.reset_calls();
    const reply r = ask(wire::script_id::rate_log, "5000", "60000", "5000");
    EXPECT_LE(commands(), 8u) << "while the server does nothing else";
    EXPECT_EQ(r.items.at(0).number, 0);
    // All 5,000 must be over, but 1,000 are read: it may be asked sooner, and in vain.
    EXPECT_GT(r.items.at(2).number, 0);
    EXPECT_LT(r.items.at(2).number, r.items.at(3).number);
    EXPECT_EQ(ask(wire::script_id::rate_log, "5000", "60000", "5000").items.at(0).number, 0);
}

TEST_F(rate_scripts_test, a_refusal_tells_when_those_before_it_that_suffice_are_over) {
    log_of(500);
    const std::int64_t one = ask(wire::script_id::rate_log, "500", "60000", "1").items.at(2).number;
    const reply all = ask(wire::script_id::rate_log, "500", "60000", "500");
    EXPECT_GT(one, 0);
    EXPECT_EQ(all.items.at(2).number, all.items.at(3).number) << "the last one's end";
}

TEST_F(rate_scripts_test, a_sorted_set_of_somebody_else_is_left_alone) {
    for (const char* member : {"42", "a player", "1700000000000000", "1700000000000000:1"}) {
        raw.must({"DEL", "calls"});
        raw.must({"ZADD", "calls", "100", member});
        expect_wrong_type(wire::script_id::rate_log);
        expect_wrong_type(wire::script_id::rate_window);
        EXPECT_EQ(raw.must({"ZSCORE", "calls", member}).text, "100");
        EXPECT_EQ(raw.must({"ZCARD", "calls"}).number, 1);
        EXPECT_EQ(raw.must({"PTTL", "calls"}).number, -1);
    }
}

TEST_F(rate_scripts_test, a_text_that_is_no_count_is_left_alone) {
    for (const char* text : {"a name", "12.5", "-3", "0x10", "", "007", "99999999999999999999"}) {
        raw.must({"SET", "calls", text});
        expect_wrong_type(wire::script_id::rate_window);
        EXPECT_EQ(raw.must({"PTTL", "calls"}).number, -1);
        raw.must({"PEXPIRE", "calls", "3600000"});
        expect_wrong_type(wire::script_id::rate_log);
        EXPECT_EQ(raw.must({"GET", "calls"}).text, text);
        EXPECT_GT(raw.pttl("calls"), 5'000);
    }
}

TEST_F(rate_scripts_test, a_number_that_does_not_expire_is_no_counter_to_take_over) {
    raw.must({"SET", "calls", "7"});
    expect_wrong_type(wire::script_id::rate_log);
    EXPECT_EQ(raw.must({"GET", "calls"}).text, "7");
}

TEST_F(rate_scripts_test, a_log_takes_over_what_a_window_has_counted) {
    EXPECT_EQ(ask(wire::script_id::rate_window, "10", "60000", "7").items.at(0).number, 1);
    EXPECT_EQ(ask(wire::script_id::rate_log, "10", "60000", "4").items.at(0).number, 0);
    EXPECT_EQ(ask(wire::script_id::rate_log, "10", "60000", "3").items.at(1).number, 10);
    EXPECT_EQ(ask(wire::script_id::rate_log, "10", "60000", "1").items.at(0).number, 0);
    EXPECT_EQ(raw.must({"ZSCORE", "calls", ""}).text, "10");
}

TEST_F(rate_scripts_test, a_log_takes_over_no_more_than_its_own_limit) {
    EXPECT_EQ(ask(wire::script_id::rate_window, "1000000000", "60000", "1000000000")
                  .items.at(0)
                  .number,
              1);
    const reply r = ask(wire::script_id::rate_log, "5", "60000");
    EXPECT_EQ(r.items.at(0).number, 0);
    EXPECT_EQ(r.items.at(1).number, 5);
    EXPECT_GT(r.items.at(2).number, 0);
}

TEST_F(rate_scripts_test, a_window_takes_over_what_is_in_a_log) {
    EXPECT_EQ(ask(wire::script_id::rate_log, "10", "60000", "4").items.at(0).number, 1);
    EXPECT_EQ(ask(wire::script_id::rate_log, "10", "60000", "3").items.at(0).number, 1);
    EXPECT_EQ(ask(wire::script_id::rate_window, "10", "60000", "4").items.at(0).number, 0);
    EXPECT_EQ(raw.must({"GET", "calls"}).text, "7");
    EXPECT_GT(raw.pttl("calls"), 50'000) << "a window that begins now";
    EXPECT_EQ(ask(wire::script_id::rate_window, "10", "60000", "3").items.at(1).number, 10);
    EXPECT_EQ(ask(wire::script_id::rate_window, "10", "60000", "1").items.at(0).number, 0);
}

TEST_F(rate_scripts_test, two_algorithms_side_by_side_keep_nobody_out_for_longer_than_a_window) {
    EXPECT_EQ(ask(wire::script_id::rate_window, "10", "300", "10").items.at(0).number, 1);
    const time_point end = clock::now() + 10s;
    std::int64_t granted = 0;
    for (int i = 0; granted == 0 && clock::now() < end; ++i) {
        const auto one = i % 2 == 0 ? wire::script_id::rate_log : wire::script_id::rate_window;
        granted = ask(one, "10", "300").items.at(0).number;
    }
    EXPECT_EQ(granted, 1);
}

TEST_F(rate_scripts_test, a_window_takes_over_nothing_that_is_over) {
    log_of(5);
    EXPECT_EQ(ask(wire::script_id::rate_window, "5", "5000").items.at(1).number, 1);
    EXPECT_EQ(raw.must({"GET", "calls"}).text, "1");
}

TEST_F(rate_scripts_test, a_log_that_is_over_in_part_keeps_the_rest) {
    log_of(5'000);
    EXPECT_EQ(ask(wire::script_id::rate_log, "10", "60000").items.at(0).number, 0) << "none over";
    const std::int64_t now = std::stoll(raw.must({"TIME"}).items.at(0).text);
    const std::string at = std::to_string(now * 1'000'000);
    raw.must({"ZADD", "calls", "5002", "", at, at + ":2"});
    const reply r = ask(wire::script_id::rate_log, "10", "5000");
    EXPECT_EQ(r.items.at(0).number, 1);
    EXPECT_EQ(r.items.at(1).number, 3);
    EXPECT_EQ(raw.must({"ZSCORE", "calls", ""}).text, "3");
    EXPECT_EQ(raw.must({"ZCARD", "calls"}).number, 3);
}

}  // namespace
