// SPDX-License-Identifier: BSL-1.0
// The script of rate_algorithm::gcra against a token bucket in whole numbers, at any time, and what
// the three kinds of rate limits take over from each other.
#include "sim/scripts/player.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::sim::test;
using wire::script_id;

__extension__ using wide = __int128;

struct answer {
    std::int64_t granted;
    std::int64_t used;
    std::int64_t retry_ms;
    std::int64_t reset_ms;
};

struct terms {
    std::int64_t limit;
    std::int64_t window_ms;
    std::int64_t burst;
};

struct gcra_script : testing::Test {
    std::string run(script_id script, words args) {
        words command{"EVAL", std::string{wire::get_script(script).body}, "1", "calls"};
        command.insert(command.end(), args.begin(), args.end());
        return p.ask(command);
    }
    answer ask(const terms& t, const std::vector<std::int64_t>& permits) {
        words args{std::to_string(t.limit), std::to_string(t.window_ms), std::to_string(t.burst)};
        for (const std::int64_t n : permits) {
            args.push_back(std::to_string(n));
        }
        return read(run(script_id::rate_gcra, args));
    }
    answer ask_other(script_id script, const terms& t, std::int64_t permits) {
        return read(run(script, {std::to_string(t.limit), std::to_string(t.window_ms),
                                 std::to_string(permits)}));
    }
    static answer read(const std::string& reply) {
        std::vector<std::int64_t> numbers;
        for (std::size_t at = reply.find(':'); at != reply.npos; at = reply.find(':', at + 1)) {
            numbers.push_back(std::stoll(reply.substr(at + 1)));
        }
        EXPECT_EQ(numbers.size(), 4u) << reply;
        numbers.resize(4);
        return {numbers[0], numbers[1], numbers[2], numbers[3]};
    }
    void pass(std::int64_t us) { p.now_us += us; }

    script_player p{};
};

/// Counts in units of which a permit is as many as the window has microseconds, and of which
/// `limit` come back in each of them.
class bucket {
public:
    explicit bucket(const terms& t)
        : t_{t}, window_us_{t.window_ms * 1000}, level_{wide{t.burst} * window_us_} {}

    void pass(std::int64_t us) { level_ = std::min(most(), level_ + wide{us} * t_.limit); }
    bool take(std::int64_t permits) {
        const wide price = wide{permits} * window_us_;
        const bool fits = price <= level_;
        level_ -= fits ? price : 0;
        return fits;
    }
    std::int64_t used() const { return t_.burst - static_cast<std::int64_t>(level_ / window_us_); }
    std::int64_t ms_until(std::int64_t permits) const {
        return in_ms(wide{permits} * window_us_ - level_);
    }
    std::int64_t ms_until_all() const { return in_ms(most() - level_); }

private:
    wide most() const { return wide{t_.burst} * window_us_; }
    std::int64_t in_ms(wide missing) const {
        const wide each = wide{t_.limit} * 1000;
        return static_cast<std::int64_t>((missing + each - 1) / each);
    }

    terms t_;
    wide window_us_;
    wide level_;
};

TEST_F(gcra_script, grants_exactly_what_a_token_bucket_does) {
    std::mt19937_64 any{7};
    const auto up_to = [&](std::int64_t most) {
        return static_cast<std::int64_t>(any() % static_cast<std::uint64_t>(most)) + 1;
    };
    const auto spread = [&](std::int64_t most) { return up_to(std::int64_t{1} << up_to(most)); };
    for (int round = 0; round < 400; ++round) {
        p.ask({"FLUSHALL"});
        terms t{std::min<std::int64_t>(spread(30), 1'000'000'000),
                std::min<std::int64_t>(spread(35), 31'536'000'000), 0};
        t.burst = any() % 2 == 0 ? t.limit : up_to(t.limit);
        bucket model{t};
        for (int i = 0; i < 25; ++i) {
            std::vector<std::int64_t> permits(static_cast<std::size_t>(up_to(3)));
            std::ranges::generate(
                permits, [&] { return any() % 3 == 0 ? t.burst : std::min(t.burst, spread(30)); });
            const answer a = ask(t, permits);
            std::int64_t granted = 0;
            while (granted < std::ssize(permits) &&
                   model.take(permits[static_cast<std::size_t>(granted)])) {
                ++granted;
            }
            const std::string what =
                std::to_string(t.limit) + " in " + std::to_string(t.window_ms) + " ms, " +
                std::to_string(t.burst) + " at once, step " + std::to_string(i);
            ASSERT_EQ(a.granted, granted) << what;
            ASSERT_EQ(a.used, model.used()) << what;
            ASSERT_EQ(a.reset_ms, model.ms_until_all()) << what;
            ASSERT_EQ(a.retry_ms, granted < std::ssize(permits)
                                      ? model.ms_until(permits[static_cast<std::size_t>(granted)])
                                      : 0)
                << what;
            const std::int64_t us =
                any() % 3 == 0 ? a.retry_ms * 1000 : spread(30) % (t.window_ms * 1000 + 1);
            pass(us);
            model.pass(us);
        }
    }
}

TEST_F(gcra_script, keeps_a_short_string_for_as_long_as_permits_are_missing) {
    ask({3, 1000, 3}, {1});
    EXPECT_EQ(p.ask({"TYPE", "calls"}), "+string\r\n");
    EXPECT_EQ(p.ask({"PTTL", "calls"}), ":335\r\n");
    pass(336'000);
    EXPECT_EQ(p.ask({"EXISTS", "calls"}), ":0\r\n");
}

TEST_F(gcra_script, a_refusal_writes_nothing) {
    ask({1, 1000, 1}, {1});
    const std::string before = p.ask({"GET", "calls"});
    pass(500'000);
    EXPECT_EQ(ask({1, 1000, 1}, {1}).granted, 0);
    EXPECT_EQ(p.ask({"GET", "calls"}), before);
}

TEST_F(gcra_script, a_clock_that_went_back_blocks_for_one_burst_at_most) {
    const terms five{5, 1000, 5};
    ask(five, {1});
    pass(-3'600'000'000);
    const answer back = ask(five, {1});
    EXPECT_EQ(back.granted, 0);
    EXPECT_EQ(back.reset_ms, 1000);
    pass(200'000);
    EXPECT_EQ(ask(five, {1}).granted, 1);
}

TEST_F(gcra_script, a_changed_limit_holds_at_once) {
    ask({10, 1000, 10}, {10});
    EXPECT_EQ(ask({15, 60'000, 15}, {5}).granted, 1) << "ten of them are not back";
    EXPECT_EQ(ask({15, 60'000, 15}, {1}).granted, 0);
    EXPECT_EQ(ask({15, 150, 15}, {1}).retry_ms, 10) << "nor by a shorter window, but sooner";
}

TEST_F(gcra_script, who_has_a_smaller_burst_forgives_nothing) {
    const terms ten{10, 1000, 10};
    ask(ten, {10});
    const answer refused = ask({10, 1000, 2}, {1});
    EXPECT_EQ(refused.granted, 0);
    EXPECT_EQ(refused.used, 2) << "all that it has";
    EXPECT_EQ(refused.retry_ms, 900);
    EXPECT_EQ(refused.reset_ms, 1000);
    EXPECT_EQ(ask({5, 1000, 5}, {1}).granted, 0) << "nor who has a lower limit";
    EXPECT_EQ(ask(ten, {1}).granted, 0);
    pass(100'000);
    EXPECT_EQ(ask(ten, {1}).granted, 1);
    EXPECT_EQ(ask(ten, {1}).granted, 0);
}

TEST_F(gcra_script, takes_over_what_the_others_counted) {
    const terms ten{10, 1000, 10};
    for (const script_id other : {script_id::rate_window, script_id::rate_log}) {
        p.ask({"FLUSHALL"});
        ask_other(other, ten, 7);
        EXPECT_EQ(ask({10, 1000, 5}, {1}).granted, 0) << "seven are more than it has";
        EXPECT_EQ(ask(ten, {4}).granted, 0);
        EXPECT_EQ(ask(ten, {3}).granted, 1);
        pass(100'000);
        EXPECT_EQ(ask(ten, {1}).granted, 1) << "one is back";
        EXPECT_EQ(ask(ten, {1}).granted, 0);
    }
}

TEST_F(gcra_script, the_others_take_over_what_it_counted) {
    const terms ten{10, 1000, 10};
    for (const script_id other : {script_id::rate_window, script_id::rate_log}) {
        p.ask({"FLUSHALL"});
        ask(ten, {7});
        EXPECT_EQ(ask_other(other, ten, 4).granted, 0);
        EXPECT_EQ(ask_other(other, ten, 3).granted, 1);
        EXPECT_EQ(ask_other(other, ten, 1).granted, 0);
        pass(2'000'000);
        EXPECT_EQ(ask_other(other, ten, 10).granted, 1);
    }
}

TEST_F(gcra_script, so_they_do_when_next_to_nothing_is_missing) {
    const terms hourly{1, 3'600'000, 1};
    for (const script_id other : {script_id::rate_window, script_id::rate_log}) {
        p.ask({"FLUSHALL"});
        ask(hourly, {1});
        pass(3'599'000'000);
        EXPECT_EQ(ask_other(other, hourly, 1).granted, 1);
    }
}

TEST_F(gcra_script, runs_no_longer_where_very_many_come_back_in_a_microsecond) {
    const terms most{1'000'000'000, 1, 1'000'000'000};
    const auto started = std::chrono::steady_clock::now();
    for (int i = 0; i < 20; ++i) {
        ask(most, {1});
    }
    EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds{2});
}

TEST_F(gcra_script, an_overdue_count_is_none) {
    const terms ten{10, 1000, 10};
    ask_other(script_id::rate_log, ten, 10);
    p.ask({"PERSIST", "calls"});
    pass(5'000'000);
    EXPECT_EQ(ask(ten, {10}).granted, 1);
}

TEST_F(gcra_script, refuses_what_is_no_count_and_leaves_it) {
    const words keys[]{{"SET", "calls", "words"},         {"SET", "calls", "7"},
                       {"SET", "calls", "1:2:3:0:1"},     {"SET", "calls", std::string(60, '1')},
                       {"HSET", "calls", "field", "1"},   {"ZADD", "calls", "1", "member"},
                       {"SET", "calls", "", "PX", "900"}, {"RPUSH", "calls", "1"}};
    for (const words& key : keys) {
        p.ask({"FLUSHALL"});
        p.ask(key);
        const std::string before = p.server.dump(p.now_us);
        EXPECT_TRUE(run(script_id::rate_gcra, {"10", "1000", "10", "1"}).starts_with("-WRONGTYPE"))
            << key.back();
        EXPECT_EQ(p.server.dump(p.now_us), before);
    }
}

}  // namespace
