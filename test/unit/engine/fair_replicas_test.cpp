// SPDX-License-Identifier: BSL-1.0
// A fair lock that is granted only when replicas have it: a message that gives it says nothing of
// them, so that its waiter asks the server once more.
#include "unit/engine/fair.hpp"
#include "unit/engine/replicas_fixture.hpp"

#include <algorithm>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

struct engine_fair_replicas : replicas_fixture {
    engine_fair_replicas() { h.use(conch::protocol::fair_protocol, "a", one_replica); }

    /// In line by its second try, with nothing on its way.
    operation& waiter() {
        operation& op = h.lock("a");
        h.connect();
        h.reply(busy(9000), integer(0));
        h.reply(listening(1), busy(9000), integer(0));
        h.sent();
        EXPECT_FALSE(op.done());
        return op;
    }
    /// The same of the second, behind the first.
    operation& next_waiter() {
        operation& op = h.lock("a");
        EXPECT_EQ(h.sent(), (lines{listen_of(2), ask_of(2, 1), wait_one}));
        h.reply(listening(2), busy(9000), integer(0));
        EXPECT_EQ(h.sent(), lines{});
        EXPECT_FALSE(op.done());
        return op;
    }
};

TEST_F(engine_fair_replicas, who_is_given_it_asks_once_more_and_has_it_when_that_is_confirmed) {
    operation& op = waiter();
    h.reply(told(1, "0:30000:2"));
    EXPECT_FALSE(op.done()) << "by the message alone";
    EXPECT_EQ(h.sent(), (lines{ask_of(1, 3), wait_one}));
    h.reply(granted());
    EXPECT_FALSE(op.done()) << "not before the replicas have it";
    h.reply(integer(1));
    EXPECT_TRUE(op.granted());
    EXPECT_EQ(h.sent(), lines{unlisten_of(1)});
    EXPECT_EQ(h.counters().acquisitions, 1u);
}

TEST_F(engine_fair_replicas, its_lease_counts_from_that_question) {
    operation& op = waiter();
    h.advance(500ms);
    h.reply(told(1, "0:30000:2"));
    const auto asked = h.now();
    h.advance(20ms);
    h.reply(granted());
    h.advance(30ms);
    h.reply(integer(1));
    ASSERT_TRUE(op.granted());
    EXPECT_EQ(valid_until(op.view), conch::core::lease_end(asked, 30s));
}

TEST_F(engine_fair_replicas, what_is_not_confirmed_in_time_is_given_back) {
    operation& op = waiter();
    h.reply(told(1, "0:30000:2"));
    h.sent();
    h.reply(granted());
    h.advance(100ms);
    h.reply(integer(0));
    EXPECT_TRUE(op.ended(errc::not_replicated));
    const lines sent = h.sent();
    EXPECT_EQ(sent.size(), 2u);
    EXPECT_EQ(std::ranges::count(sent, fair_end_of(1)), 1);
    EXPECT_EQ(std::ranges::count(sent, unlisten_of(1)), 1);
    EXPECT_EQ(h.counters().not_replicated, 1u);
    EXPECT_EQ(h.counters().compensations, 1u);
    EXPECT_EQ(h.counters().acquisitions, 0u);
}

TEST_F(engine_fair_replicas, the_next_in_line_of_this_client_stays_in_line_and_is_served) {
    operation& first = waiter();
    operation& next = next_waiter();
    h.reply(told(1, "0:30000:2"));
    h.sent();
    h.reply(granted(), integer(0));
    EXPECT_TRUE(first.ended(errc::not_replicated));
    EXPECT_FALSE(next.done());
    const lines sent = h.sent();
    EXPECT_EQ(std::ranges::count(sent, fair_end_of(1)), 1);
    EXPECT_EQ(std::ranges::count(sent, fair_end_of(2)), 0);
    h.reply(told(2, "0:30000:1"));
    EXPECT_EQ(h.sent(), (lines{ask_of(2, 2), wait_one}));
    h.reply(integer(1), not_listening(1), granted(), integer(1));
    EXPECT_TRUE(next.granted());
}

TEST_F(engine_fair_replicas, who_gives_up_before_the_replicas_confirm_gives_it_back) {
    operation& op = waiter();
    h.reply(told(1, "0:30000:2"));
    h.sent();
    h.reply(granted());
    h.cancel(op);
    EXPECT_EQ(op.completions, 1);
    EXPECT_FALSE(op.granted());
    EXPECT_EQ(std::ranges::count(h.sent(), fair_end_of(1)), 1);
    h.reply(integer(1));
    EXPECT_EQ(h.counters().acquisitions, 0u);
}

}  // namespace
