// SPDX-License-Identifier: BSL-1.0
// The log of a client with many locks, on virtual time.
#include "unit/engine/harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

constexpr std::size_t many = 200;

class engine_log_of_many : public ::testing::Test {
protected:
    config loud() {
        config c = quiet();
        c.least_log_level = log_level::warning;
        c.log = [this](log_level, std::string_view line) { said.emplace_back(line); };
        return c;
    }
    /// Holds them all, without a renewal in between.
    void grant_all(duration lease) {
        for (std::size_t i = 0; i < many; ++i) {
            holds.push_back(h.grant(join("lock", i), {.lease = lease}));
        }
        said.clear();
    }
    /// Answers all that comes within this time.
    void play(duration d, const std::string& answer) {
        for (const time_point end = h.now() + d; h.now() < end; h.advance(10ms)) {
            for (const command& c : h.sent_commands()) {
                std::string all = join("*", c.keys.size(), "\r\n");
                for (std::size_t i = 0; i < c.keys.size(); ++i) {
                    all += answer;
                }
                h.reply(answer[0] == '-' ? answer : all);
            }
        }
    }

    lines said{};
    engine_harness h{loud()};
    std::vector<impl::view_ptr> holds{};
};

TEST_F(engine_log_of_many, refused_renewals_are_told_once_and_that_they_are_over) {
    grant_all(9s);
    play(5s, error("ERR no disk"));
    ASSERT_EQ(said.size(), 2u);
    EXPECT_TRUE(said[0].starts_with("renewal refused by ") && said[0].ends_with("ERR no disk"))
        << said[0];
    EXPECT_NE(said[0].find(": lock"), std::string::npos) << said[0];
    EXPECT_TRUE(said[1].ends_with(" times more")) << said[1];
    said.clear();
    play(1s, integer(1));
    ASSERT_EQ(said.size(), 1u);
    EXPECT_NE(said[0].find("ERR no disk: no more, after "), std::string::npos) << said[0];
    EXPECT_EQ(h.counters().holds_now, many);
}

TEST_F(engine_log_of_many, a_refusal_of_a_renewal_that_may_pass_does_not_end_as_refused) {
    grant_all(9s);
    play(10s, bulk("MISCONF no disk"));  // a script answers for each key
    EXPECT_TRUE(said[0].starts_with("renewal refused by ")) << said[0];
    EXPECT_EQ(h.counters().lost_expired, many);
    EXPECT_EQ(h.counters().lost_refused, 0u);
}

TEST_F(engine_log_of_many, a_refusal_that_has_passed_is_told_to_be_over) {
    grant_all(9s);
    play(5s, bulk("MISCONF no disk"));
    said.clear();
    play(1s, integer(1));
    ASSERT_EQ(said.size(), 1u);
    EXPECT_NE(said[0].find("MISCONF no disk: no more, after "), std::string::npos) << said[0];
}

TEST_F(engine_log_of_many, a_refusal_that_may_pass_is_told_once_a_minute) {
    grant_all(9s);
    play(4s, error("MISCONF no disk"));  // renewals begin after 3 s
    play(2s, error("MISCONF in other words"));
    ASSERT_EQ(said.size(), 2u);
    EXPECT_TRUE(said[0].starts_with("refused for now by ")) << said[0];
    EXPECT_TRUE(said[0].ends_with(": MISCONF no disk")) << said[0];
    EXPECT_TRUE(said[1].ends_with(" times more")) << "by its first word: " << said[1];
    said.clear();
    play(2s, integer(1));
    ASSERT_EQ(said.size(), 1u);
    EXPECT_NE(said[0].find(": no more, after "), std::string::npos) << said[0];
    EXPECT_EQ(h.counters().holds_now, many);
}

TEST_F(engine_log_of_many, of_many_losses_the_first_are_told_by_name) {
    grant_all(9s);
    play(4s, integer(0));
    EXPECT_EQ(h.counters().holds_now, 0u);
    ASSERT_EQ(said.size(), 11u);
    for (std::size_t i = 0; i < 10; ++i) {
        EXPECT_TRUE(said[i].starts_with("lost: lock")) << said[i];
    }
    EXPECT_EQ(said[10], "lost: " + make_error_code(errc::lock_lost).message() +
                            ": 190 times more");
}

TEST_F(engine_log_of_many, a_blocked_loop_is_told_before_what_it_caused) {
    grant_all(9s);
    said.clear();
    h.skip(9s);
    h.advance(1ms);
    ASSERT_EQ(said.size(), 11u) << "and ten of the losses";
    EXPECT_TRUE(said[0].starts_with("the event loop stood still for at least 6.0 s ")) << said[0];
    EXPECT_TRUE(said[1].starts_with("lost: lock")) << said[1];
}

TEST_F(engine_log_of_many, a_deadline_that_is_set_in_the_past_is_no_standstill) {
    const impl::view_ptr first = h.grant("a", {.lease = 9s});
    h.lock("a", {.wait = 60s});
    h.break_connection();
    for (const time_point end = h.now() + 20s; h.now() < end;) {
        h.advance(10ms);
    }
    EXPECT_FALSE(said.empty());
    for (const std::string& line : said) {
        EXPECT_EQ(line.find("stood still"), line.npos) << line;
    }
}

TEST_F(engine_log_of_many, a_loop_that_is_a_little_late_is_not_told_of) {
    grant_all(9s);
    said.clear();
    h.skip(3s + 450ms);  // they were due for renewal a third of the lease after the grant
    h.advance(1ms);
    EXPECT_EQ(said, lines{});
}

TEST_F(engine_log_of_many, a_hold_that_nobody_kept_is_told_of_once) {
    for (const char* const name : {"first", "second"}) {
        const impl::view_ptr view = h.grant(name);
        h.turn([&] { h.engine.release_dropped(*view); });
        EXPECT_EQ(h.sent().size(), 1u) << "released";
        h.reply(integer(0));
    }
    ASSERT_EQ(said.size(), 1u);
    EXPECT_TRUE(said[0].starts_with("released as soon as it was granted: first: ")) << said[0];
}

TEST_F(engine_log_of_many, a_hold_that_was_kept_for_a_moment_is_not) {
    const impl::view_ptr kept = h.grant("kept");
    h.advance(1ms);
    h.turn([&] { h.engine.release_dropped(*kept); });
    h.reply(integer(0));
    const impl::view_ptr released = h.grant("released");
    h.release(released);
    h.reply(integer(0));
    EXPECT_EQ(said, lines{});
}

}  // namespace
