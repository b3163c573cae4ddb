// SPDX-License-Identifier: BSL-1.0
// A lease that is renewed only while its holder reports progress, while its hash slot goes from one
// master to another.
#include "hold/composite_view.hpp"
#include "unit/engine/cluster_engine.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

/// "a" was granted by `m2`, where `m1` sends each who asks.
struct engine_cluster_progress : plain_cluster_engine {
    engine_cluster_progress() {
        learn();
        connect("m1");
        EXPECT_EQ(sent("m1"), lines{acquire_of("a", 1)});
        connect_to_m2();
        reply("m1", sends_on("ASK", "a", "m2"));
        EXPECT_EQ(sent("m2"), (lines{"ASKING", acquire_of("a", 1)}));
        reply("m2", ok() + granted());
        EXPECT_TRUE(op.granted());
        until = valid_until(op.view);
    }
    /// Answers what asks for the hold; how many questions these were.
    int questions(conch::duration during) {
        int asked = 0;
        for (const auto end = now() + during; now() < end; advance(50ms)) {
            for (const std::string& line : sent("m1")) {
                EXPECT_TRUE(line.starts_with("renew a c:1 ")) << line;
                reply("m1", sends_on("ASK", "a", "m2"));
            }
            for (const std::string& line : sent("m2")) {
                if (line.starts_with("renew a c:1 ")) {
                    last = line;
                    ++asked;
                    reply("m2", ok() + array(integer(1)));
                }
            }
        }
        return asked;
    }
    void expect_not_prolonged() const {
        EXPECT_LE(valid_until(op.view), until + 10ms) << "times are rounded up";
    }

    operation& op = lock("a", {.progress_within = 5s});
    conch::time_point until{};
    std::string last{};
};

TEST_F(engine_cluster_progress, a_silent_hold_is_asked_for_each_third_of_its_lease_and_restored) {
    EXPECT_EQ(questions(10'100ms), 1);
    EXPECT_LE(questions(18s), 3);
    expect_not_prolonged();
    EXPECT_EQ(lost(op.view), errc{});
}

TEST_F(engine_cluster_progress, what_is_only_restored_is_lost_for_want_of_progress) {
    EXPECT_GE(questions(10'100ms), 1);
    break_connection("m1");
    break_connection("m2");
    advance(20s);
    EXPECT_EQ(lost(op.view), errc::no_progress);
}

TEST_F(engine_cluster_progress, it_is_renewed_after_the_next_report) {
    questions(20s);
    conch::impl::note_progress(*op.view, now());
    EXPECT_EQ(questions(1100ms), 1);
    EXPECT_EQ(last, renew_of("a", 1));
    EXPECT_GE(valid_until(op.view), now() + 27s);
    EXPECT_EQ(engine.counters().latest_renewal, 0ms);
}

// Once, and no further than it was promised.
TEST_F(plain_cluster_engine, what_a_silent_hold_was_promised_is_restored_where_it_was_lost) {
    const operation& op = hold("a", {.progress_within = 5s});
    const auto until = valid_until(op.view);
    advance(10s);
    EXPECT_EQ(sent("m1"), lines{renew_of("a", 1, 0)});
    reply("m1", array(integer(6'000)));
    EXPECT_EQ(sent("m1"), lines{renew_of("a", 1, 19'744)});
    reply("m1", array(integer(1)));
    EXPECT_EQ(sent("m1"), lines{});
    advance(9s);
    EXPECT_EQ(sent("m1"), lines{});
    EXPECT_GE(valid_until(op.view), until);
    EXPECT_LE(valid_until(op.view), until + 10ms);
    advance(1500ms);
    EXPECT_EQ(sent("m1"), lines{renew_of("a", 1, 0)}) << "the next look";
    reply("m1", array(integer(1)));
    advance(20s);
    EXPECT_EQ(lost(op.view), errc::no_progress);
}

}  // namespace
