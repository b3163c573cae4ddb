// SPDX-License-Identifier: BSL-1.0
// What the masters of a cluster send to each other without end: it waits from time to time, and its
// caller is told in time.
#include "unit/engine/cluster_engine.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::duration;
using conch::errc;

using two_words = std::pair<std::string, std::string>;

/// Two masters that send whatever they are sent to each other.
struct engine_round_and_round : plain_cluster_engine, testing::WithParamInterface<two_words> {
    /// Both are connected, and nothing is held.
    engine_round_and_round() {
        release(hold("a"));
        reply("m1", integer(0));
        connect_to_m2();
        EXPECT_TRUE(nothing_is_left());
    }
    operation& hold_a() {
        operation& op = lock("a", {.lease = lease});
        sent("m1");
        reply("m1", granted());
        EXPECT_TRUE(op.granted());
        return op;
    }
    /// They do so for so long: how many calls came back. Not as many as they could send.
    std::size_t go_round_for(duration d) {
        const auto most_times = static_cast<std::size_t>(500 * (d / 1s + 1));
        std::size_t times = 0;
        for (const conch::time_point end = now() + d; now() < end; advance(1ms)) {
            tell_the_same();
            for (std::size_t before = times + 1; before != times;) {
                before = times;
                times += send_on("m1", GetParam().first, "m2");
                times += send_on("m2", GetParam().second, "m1");
                if (times > most_times) {
                    ADD_FAILURE() << "nothing waits";
                    return times;
                }
            }
        }
        return times;
    }
    std::size_t send_on(std::string_view from, const std::string& what, std::string_view to) {
        std::size_t times = 0;
        for (const std::string& line : sent(from)) {
            times += line == "ASKING" ? 0 : 1;
            reply(from, line == "ASKING" ? ok() : sends_on(what.c_str(), "a", to));
        }
        return times;
    }

    static constexpr duration lease = 3s;
};

TEST_P(engine_round_and_round, an_acquire_ends_when_its_patience_does) {
    const operation& op = lock("a");
    const std::size_t times = go_round_for(settings.operation_timeout - 10ms);
    EXPECT_FALSE(op.done());
    EXPECT_GE(times, 10u);
    EXPECT_LE(times, 250u) << "after pauses that grow";
    go_round_for(10ms);
    EXPECT_TRUE(op.ended(errc::server_unavailable));
    EXPECT_TRUE(nothing_is_left());
    EXPECT_EQ(go_round_for(5s), 0u);
}

TEST_P(engine_round_and_round, a_hold_ends_at_its_deadline_and_not_before) {
    const operation& op = hold_a();
    const operation& loss = wait_lost(op);
    const conch::time_point deadline = valid_until(op.view);
    go_round_for(deadline - now());
    EXPECT_TRUE(loss.ended(errc::lease_expired));
    EXPECT_EQ(loss.at, deadline);
    go_round_for(3 * lease);
    EXPECT_TRUE(nothing_is_left()) << "the key is gone by itself";
}

TEST_P(engine_round_and_round, an_unlock_ends_at_the_deadline_of_its_hold) {
    const operation& op = hold_a();
    const conch::time_point deadline = valid_until(op.view);
    const operation& end = unlock(op);
    go_round_for(deadline - now() - 1ms);
    EXPECT_FALSE(end.done());
    go_round_for(1ms);
    EXPECT_TRUE(end.ended(errc::lease_expired));
    go_round_for(3 * lease);
    EXPECT_TRUE(nothing_is_left());
}

INSTANTIATE_TEST_SUITE_P(by, engine_round_and_round,
                         testing::Values(two_words{"MOVED", "MOVED"}, two_words{"ASK", "ASK"},
                                         two_words{"ASK", "MOVED"}, two_words{"MOVED", "ASK"}),
                         [](const auto& words) {
                             return words.param.first + '_' + words.param.second;
                         });

}  // namespace
