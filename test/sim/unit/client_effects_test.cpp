// SPDX-License-Identifier: BSL-1.0
// What happens to a client with nothing to do isn't felt by anybody; and only what was felt counts.
#include "sim/simulation.hpp"
#include "sim/unit/lone_client.hpp"

#include <gtest/gtest.h>

namespace {

using namespace conch;
using namespace conch::sim;
using conch::sim::test::lone_client;

class pause_effects_test : public ::testing::Test {
protected:
    /// It has a connection, and nothing to do.
    void settle() {
        ask();
        c.run_until(1 * seconds);
        ASSERT_TRUE(c.node.connected());
        ASSERT_EQ(asked.completions, 1);
    }
    void ask() {
        c.node.turn([&] {
            c.node.engine().status(spec, {}, {&asked, &asked.running}, &asked.status);
        });
    }
    instant in(instant t) const { return c.w.now() + t; }

    lone_client c{};
    impl::spec_ptr spec = impl::lock_spec::make(conch::protocol::mutex_protocol, "lock:0", {});
    call asked{};
    effect e{};
};

TEST_F(pause_effects_test, a_pause_of_a_client_with_nothing_to_do_is_not_felt) {
    c.node.pause(5 * seconds, &e);
    c.run_until(10 * seconds);
    EXPECT_FALSE(e.was_felt());
}

TEST_F(pause_effects_test, a_pause_that_ends_before_the_next_deadline_is_not_felt) {
    settle();
    c.node.pause(in(1500 * millis), &e);
    c.run_until(in(3 * seconds));
    EXPECT_FALSE(e.was_felt());
}

TEST_F(pause_effects_test, a_pause_beyond_a_deadline_is_felt) {
    settle();
    c.node.pause(in(100 * seconds), &e);
    c.run_until(in(100 * seconds));
    EXPECT_TRUE(e.was_felt());
}

TEST_F(pause_effects_test, a_pause_is_felt_by_bytes_that_come) {
    settle();
    ask();
    c.node.pause(in(100 * millis), &e);
    EXPECT_FALSE(e.was_felt());
    c.run_until(in(100 * millis));
    EXPECT_TRUE(e.was_felt());
}

TEST_F(pause_effects_test, a_pause_is_felt_by_a_user_who_wants_something) {
    c.node.pause(5 * seconds, &e);
    EXPECT_EQ(c.node.put_off(), 5 * seconds);
    EXPECT_TRUE(e.was_felt());
}

TEST_F(pause_effects_test, a_pause_within_another_is_not_felt) {
    settle();
    ask();
    effect shorter{};
    c.node.pause(in(200 * millis), &e);
    c.node.pause(in(100 * millis), &shorter);
    c.run_until(in(300 * millis));
    EXPECT_TRUE(e.was_felt());
    EXPECT_FALSE(shorter.was_felt());
}

TEST_F(pause_effects_test, a_longer_pause_takes_nothing_from_the_one_before) {
    settle();
    ask();
    effect longer{};
    c.node.pause(in(100 * millis), &e);
    c.run_until(in(50 * millis));
    c.node.pause(in(100 * millis), &longer);
    EXPECT_TRUE(e.was_felt()) << "the answer waits";
    EXPECT_FALSE(longer.was_felt());
    c.run_until(in(200 * millis));
    EXPECT_TRUE(longer.was_felt()) << "and goes on waiting";
}

TEST_F(pause_effects_test, a_pause_of_a_client_that_is_dead_is_not_felt) {
    settle();
    ask();
    c.node.die(true);
    c.node.pause(in(100 * seconds), &e);
    c.run_until(in(200 * seconds));
    EXPECT_FALSE(e.was_felt());
}

TEST(outcome_test, counts_each_attempt_and_those_that_were_felt) {
    const auto f = static_cast<std::size_t>(fault::crash);
    const outcome before = simulation{1}.run();
    simulation s{1};
    s.attempt(fault::crash);
    s.attempt(fault::crash).felt();
    const outcome after = s.run();
    EXPECT_EQ(after.attempts[f], before.attempts[f] + 2);
    EXPECT_EQ(after.faults[f], before.faults[f] + 1);
}

TEST(outcome_test, the_crash_of_a_client_whose_users_have_nothing_is_not_felt) {
    simulation s{1};
    effect e{};
    s.replace_client(0, true, &e);
    EXPECT_TRUE(s.clients()[0]->dead());
    EXPECT_FALSE(e.was_felt());
}

TEST(outcome_test, a_stranger_in_the_place_of_a_lock_is_felt_by_who_meets_it) {
    simulation s{1};
    effect e{};
    s.vandalize(0, &e);
    EXPECT_FALSE(e.was_felt());
    s.run();
    EXPECT_TRUE(e.was_felt());
}

}  // namespace
