// SPDX-License-Identifier: BSL-1.0
// The log of a client whose locks are at several masters.
#include "unit/engine/cluster_engine.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::log_level;

struct log_lines {
    lines said{};
};

/// A lock is held at each of two masters whose addresses begin alike.
struct engine_cluster_log : log_lines, cluster_engine, testing::WithParamInterface<std::string> {
    engine_cluster_log()
        : cluster_engine{{}, conch::sharded_messages::off,
                         [this](log_level, std::string_view line) { said.emplace_back(line); }} {
        const operation& a = lock("a", {.lease = 3s});
        const operation& b = lock(name_at_m2(), {.lease = 3s});
        learn(one, other);
        for (const std::string& node : {one, other}) {
            connect(node);
            reply(node, granted());
            sent(node);
        }
        EXPECT_TRUE(a.granted() && b.granted());
    }
    /// The next renewal there is answered so.
    void answer_next(const std::string& node, const std::string& bytes) {
        for (int n = 0; sent(node).empty(); ++n) {
            ASSERT_LT(n, 2000) << "no renewal";
            advance(1ms);
        }
        reply(node, bytes);
    }
    lines taken() { return std::exchange(said, {}); }

    const std::string one = "m1:7000";
    const std::string other = GetParam();
    const std::string refusal = error("ERR no disk");
    const std::string renewed = array(integer(1));
};

TEST_P(engine_cluster_log, the_end_of_one_masters_refusals_is_not_the_end_of_the_others) {
    answer_next(one, refusal);
    answer_next(other, refusal);
    EXPECT_EQ(taken(), (lines{"renewal refused by " + one + ": a: ERR no disk",
                              "renewal refused by " + other + ": " + name_at_m2() +
                                  ": ERR no disk"}));
    answer_next(other, renewed);
    EXPECT_EQ(taken(), lines{"renewal refused by " + other + ": ERR no disk: no more, after 1"});
    answer_next(one, refusal);
    EXPECT_EQ(taken(), lines{}) << "known";
    answer_next(one, renewed);
    EXPECT_EQ(taken(), lines{"renewal refused by " + one + ": ERR no disk: no more, after 2"});
}

INSTANTIATE_TEST_SUITE_P(beside_m1_7000, engine_cluster_log,
                         testing::Values("m1:700", "m12:7000"));

}  // namespace
