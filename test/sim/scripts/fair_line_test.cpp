// SPDX-License-Identifier: BSL-1.0
// The line of a fair lock in which waiters of Redisson stand too. Each of them subtracts, when it
// gets the lock, how long it waits at most from all scores: so much later must the score of one of
// ours be than the end of its place, or it loses the place to who sweeps the line.
#include "sim/scripts/player.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace {

using namespace conch;
using namespace conch::sim;
using namespace conch::sim::test;
using wire::script_id;

/// A lock that somebody holds, and the line behind it.
class fair_line : public ::testing::Test {
protected:
    static constexpr std::int64_t apart = 300'000;

    fair_line() {
        p.ask({"HSET", "lock", field(0), "1"});
        p.ask({"PEXPIRE", "lock", "9000"});
    }

    static std::string field(int n) {
        return "5c1e0a8e-0000-4000-8000-000000000001:" + std::to_string(n);
    }
    std::int64_t now_ms() const { return p.now_us / 1000; }
    std::string run(script_id id, const words& args) {
        words w{"EVALSHA", std::string{wire::get_script(id).sha1}, "5", "lock", "line",
                "scores",  "wishes", "fence"};
        w.insert(w.end(), args.begin(), args.end());
        return p.ask(w);
    }
    std::string ours(int n, const std::string& number = "1") {
        return run(script_id::fair_acquire, {field(n), "30000", "0", "3000", number});
    }
    std::string released(int n) {
        return run(script_id::fair_release, {field(n), "channel:", "publish"});
    }
    /// One of Redisson comes, whose score is so far from now.
    void theirs(int n, std::int64_t left) {
        p.ask({"RPUSH", "line", field(n)});
        p.ask({"ZADD", "scores", std::to_string(now_ms() + left), field(n)});
    }
    /// It gets the lock, as the first in line.
    void served(int n, std::int64_t waits) {
        p.ask({"LPOP", "line"});
        p.ask({"ZREM", "scores", field(n)});
        for (int other = 1; other < 9; ++other) {
            if (score(other) >= 0) {
                p.ask({"ZINCRBY", "scores", std::to_string(-waits), field(other)});
            }
        }
    }
    /// -1: it has none.
    std::int64_t score(int n) {
        const std::string text = p.ask({"ZSCORE", "scores", field(n)});
        const auto line = text.find('\n');
        return text.starts_with("$-1") ? -1 : std::atoll(text.c_str() + line + 1);
    }
    /// By so much later than its place ends.
    std::int64_t beyond(int n) { return score(n) - (now_ms() + 3000); }

    script_player p{};
};

TEST_F(fair_line, a_score_among_our_own_is_the_end_of_the_place) {
    ours(1);
    ours(2);
    EXPECT_EQ(beyond(1), 0);
    EXPECT_EQ(beyond(2), 0);
}

TEST_F(fair_line, one_of_redisson_ahead_subtracts_what_redisson_waits_by_default) {
    theirs(1, 9000 + 2000);
    ours(2);
    EXPECT_EQ(beyond(2), apart);
}

TEST_F(fair_line, what_one_of_ours_wanted_who_died_does_not_hide_those_of_redisson) {
    p.ask({"HSET", "wishes", field(9), "30000:1:1"});
    theirs(1, 9000 + apart);
    ours(2);
    EXPECT_EQ(beyond(2), apart);
    ours(2, "2");
    EXPECT_EQ(beyond(2), apart);
}

TEST_F(fair_line, of_two_in_a_row_the_second_subtracts_what_is_between_their_scores) {
    theirs(1, 9000 + 2000);
    theirs(2, 9000 + 2000 + 5000);
    ours(3);
    EXPECT_EQ(beyond(3), apart + 5000);
}

TEST_F(fair_line, none_subtracts_more_than_redisson_waits_by_default_and_none_adds) {
    theirs(1, 9000);
    theirs(2, 9000 + 2 * apart);
    theirs(3, 9000 + apart);
    ours(4);
    EXPECT_EQ(beyond(4), 2 * apart);
}

TEST_F(fair_line, behind_one_of_ours_the_next_of_redisson_subtracts_the_most) {
    theirs(1, 9000 + 2000);
    ours(2);
    theirs(3, 9000 + 4000);
    ours(4);
    EXPECT_EQ(beyond(2), apart);
    EXPECT_EQ(beyond(4), 2 * apart);
}

TEST_F(fair_line, who_asks_again_counts_those_ahead_of_its_place_alone) {
    ours(1);
    theirs(2, 9000 + 2000);
    ours(1, "2");
    EXPECT_EQ(beyond(1), 0);
    theirs(3, 9000 + 4000);
    ours(4);
    theirs(5, 9000 + 6000);
    ours(4, "2");
    EXPECT_EQ(beyond(4), apart + 2000);
}

TEST_F(fair_line, those_who_were_served_are_not_counted_again) {
    theirs(1, 9000 + 2000);
    theirs(2, 9000 + 4000);
    ours(3);
    served(1, 2000);
    ours(3, "2");
    EXPECT_EQ(beyond(3), apart);
    served(2, 2000);
    ours(3, "3");
    EXPECT_EQ(beyond(3), 0);
}

TEST_F(fair_line, whoever_of_redisson_is_served_a_place_of_ours_lasts) {
    theirs(1, 9000 + apart);
    theirs(2, 9000 + apart + 7000);
    ours(3);
    theirs(4, 9000 + 2 * apart + 3000);
    ours(5);
    served(1, apart);
    EXPECT_GE(beyond(3), 0);
    served(2, 7000);
    EXPECT_GE(beyond(3), 0);
    EXPECT_GE(beyond(5), 0);
    released(3);  // it gives up
    served(4, apart);
    EXPECT_GE(beyond(5), 0);
}

TEST_F(fair_line, what_redisson_left_behind_of_ours_hides_nobody) {
    p.ask({"HSET", "wishes", field(8), "30000:" + std::to_string(now_ms() - 1) + ":1"});
    theirs(1, 9000 + 2000);
    ours(2);
    EXPECT_EQ(beyond(2), apart);
    p.ask({"HSET", "wishes", field(7), "30000:" + std::to_string(now_ms() - 1) + ":1"});
    ours(2, "2");
    EXPECT_EQ(beyond(2), apart);
}

TEST_F(fair_line, who_is_served_hears_by_which_try) {
    ours(1);
    ours(1, "2");
    p.ask({"SUBSCRIBE", "channel:" + field(1)});
    const std::string answer = released(0);
    EXPECT_NE(answer.find(":30000:2\r\n"), std::string::npos) << answer;
    EXPECT_EQ(p.ask({"HGET", "lock", field(1)}), "$1\r\n1\r\n");
}

TEST_F(fair_line, whose_place_is_over_is_not_served_though_it_hears) {
    ours(1);
    p.ask({"SUBSCRIBE", "channel:" + field(1)});
    p.now_us += 3'000'000;
    ours(2);
    released(0);
    EXPECT_EQ(p.ask({"HGET", "lock", field(1)}), "$-1\r\n");
    EXPECT_EQ(p.ask({"HGET", "lock", field(2)}), "$1\r\n1\r\n");
}

TEST_F(fair_line, whose_place_ends_before_the_release_is_passed_over_by_it) {
    ours(1);
    p.now_us += 2'000'000;
    ours(2);
    p.now_us += 1'000'000;
    released(0);
    EXPECT_EQ(p.ask({"HGET", "lock", field(1)}), "$-1\r\n");
    EXPECT_EQ(p.ask({"HGET", "lock", field(2)}), "$1\r\n1\r\n");
}

TEST_F(fair_line, who_does_not_hear_that_it_is_served_has_it_for_no_longer_than_its_place) {
    ours(1);
    p.now_us += 1'000'000;
    released(0);
    EXPECT_EQ(p.ask({"HGET", "lock", field(1)}), "$1\r\n1\r\n");
    EXPECT_EQ(p.ask({"PTTL", "lock"}), ":2000\r\n");
}

TEST_F(fair_line, who_is_served_gets_the_next_fence_though_the_clock_is_behind_the_last_one) {
    ours(1);
    p.ask({"SET", "fence", "1800000000000000"});
    p.ask({"SUBSCRIBE", "channel:" + field(1)});
    const std::string answer = released(0);
    EXPECT_NE(answer.find("1800000000000001:30000:1\r\n"), std::string::npos) << answer;
    EXPECT_EQ(p.ask({"GET", "fence"}), "$16\r\n1800000000000001\r\n");
}

TEST_F(fair_line, who_gives_up_leaves_nothing_behind) {
    ours(1);
    ours(2);
    released(1);
    EXPECT_EQ(p.ask({"HGET", "wishes", field(1)}), "$-1\r\n");
    EXPECT_EQ(score(1), -1);
    EXPECT_EQ(p.ask({"LRANGE", "line", "0", "-1"}), "*1\r\n$38\r\n" + field(2) + "\r\n");
}

TEST_F(fair_line, a_late_copy_of_an_older_try_is_the_one_that_is_served) {
    ours(1, "2");
    ours(1, "1");
    p.ask({"SUBSCRIBE", "channel:" + field(1)});
    const std::string answer = released(0);
    EXPECT_NE(answer.find(":30000:1\r\n"), std::string::npos) << answer;
}

TEST_F(fair_line, one_of_redisson_is_told_to_look) {
    theirs(1, 9000);
    p.ask({"SUBSCRIBE", "channel:" + field(1)});
    const std::string answer = released(0);
    EXPECT_NE(answer.find("$1\r\n0\r\n"), std::string::npos) << answer;
    EXPECT_EQ(p.ask({"EXISTS", "lock"}), ":0\r\n");
}

TEST_F(fair_line, a_wish_without_the_number_of_a_try_is_none) {
    ours(1);
    p.ask({"HSET", "wishes", field(1), "30000:" + std::to_string(now_ms() + 3000)});
    ours(2);
    released(0);
    EXPECT_EQ(p.ask({"HGET", "lock", field(2)}), "$1\r\n1\r\n");
}

}  // namespace
