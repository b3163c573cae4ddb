// SPDX-License-Identifier: BSL-1.0
#include "soak/unfenced_counter.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace {

using namespace conch;
using namespace conch::soak;
using namespace std::chrono_literals;

class unfenced_counter_test : public ::testing::Test {
protected:
    static constexpr time_point start{std::chrono::hours{1}};

    /// An acquisition whose holder believes in it until so long after the start.
    static test::claim by(std::uint64_t fence, duration valid_until) {
        return {"name", fence, start + valid_until, 1s};
    }
    static time_point at(duration since_start) { return start + since_start; }

    data_losses losses{};
    unfenced_counter counter{losses};
};

TEST_F(unfenced_counter_test, one_after_another_loses_nothing) {
    EXPECT_EQ(counter.read(by(5, 1s)), 0u);
    counter.write(by(5, 1s), 1, at(1ms));
    EXPECT_EQ(counter.read(by(6, 1s)), 1u);
    counter.write(by(6, 1s), 2, at(2ms));
    EXPECT_EQ(counter.report().written, 2u);
    EXPECT_EQ(counter.report().value, 2u);
    EXPECT_EQ(counter.report().lost_updates(), 0u);
    EXPECT_EQ(counter.report().broken, 0u);
}

TEST_F(unfenced_counter_test, an_update_between_a_look_and_a_write_of_valid_holds_is_broken) {
    counter.read(by(5, 1s));
    counter.read(by(6, 1s));
    counter.write(by(6, 1s), 1, at(1ms));
    counter.write(by(5, 1s), 1, at(2ms));
    EXPECT_EQ(counter.report().lost_updates(), 1u);
    EXPECT_EQ(counter.report().broken, 1u);
    EXPECT_EQ(counter.findings().size(), 1u);
}

TEST_F(unfenced_counter_test, a_writer_whose_hold_ended_before_the_write_came_is_late) {
    counter.read(by(5, 1s));
    counter.read(by(6, 2s));
    counter.write(by(6, 2s), 1, at(1100ms));
    counter.write(by(5, 1s), 1, at(1200ms));
    EXPECT_EQ(counter.report().lost_updates(), 1u);
    EXPECT_EQ(counter.report().late, 1u);
    EXPECT_EQ(counter.report().broken, 0u);
}

TEST_F(unfenced_counter_test, a_write_over_that_of_a_late_writer_is_late_too) {
    counter.read(by(5, 1s));
    counter.read(by(6, 2s));
    counter.write(by(5, 1s), 1, at(1100ms));
    counter.write(by(6, 2s), 1, at(1200ms));
    EXPECT_EQ(counter.report().late, 1u);
    EXPECT_EQ(counter.report().broken, 0u);
}

TEST_F(unfenced_counter_test, a_late_writer_excuses_no_other) {
    counter.read(by(4, 1s));
    counter.read(by(5, 2s));
    counter.read(by(6, 2s));
    counter.write(by(4, 1s), 1, at(1100ms));
    counter.write(by(5, 2s), 1, at(1200ms));
    counter.write(by(6, 2s), 1, at(1300ms));
    EXPECT_EQ(counter.report().late, 1u);
    EXPECT_EQ(counter.report().broken, 1u);
}

TEST_F(unfenced_counter_test, a_loss_of_data_during_a_hold_excuses_it) {
    counter.read(by(5, 1s));
    losses.add("na", at(10ms), at(20ms));
    counter.read(by(6, 1s));
    counter.write(by(6, 1s), 1, at(30ms));
    counter.write(by(5, 1s), 1, at(40ms));
    EXPECT_EQ(counter.report().data_lost, 1u);
    EXPECT_EQ(counter.report().broken, 0u);
}

TEST_F(unfenced_counter_test, a_loss_of_data_before_the_hold_was_confirmed_excuses_nothing) {
    losses.add("na", at(-20ms), at(-10ms));
    counter.read(by(5, 1s));
    counter.read(by(6, 1s));
    counter.write(by(6, 1s), 1, at(30ms));
    counter.write(by(5, 1s), 1, at(40ms));
    EXPECT_EQ(counter.report().broken, 1u);
}

TEST_F(unfenced_counter_test, a_loss_of_data_after_the_other_write_excuses_nothing) {
    counter.read(by(5, 1s));
    counter.read(by(6, 1s));
    counter.write(by(6, 1s), 1, at(30ms));
    losses.add("na", at(31ms), at(32ms));
    counter.write(by(5, 1s), 1, at(40ms));
    EXPECT_EQ(counter.report().broken, 1u);
}

TEST_F(unfenced_counter_test, a_loss_of_data_of_another_server_excuses_nothing) {
    counter.read(by(5, 1s));
    losses.add("other", at(10ms), at(20ms));
    counter.read(by(6, 1s));
    counter.write(by(6, 1s), 1, at(30ms));
    counter.write(by(5, 1s), 1, at(40ms));
    EXPECT_EQ(counter.report().broken, 1u);
}

}  // namespace
