// SPDX-License-Identifier: BSL-1.0
// What judges the lock must itself be able to find it guilty.
#include "support/fenced_resource.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

class fenced_resource_test : public ::testing::Test {
protected:
    static claim by(std::uint64_t fence, duration valid_for = 0s) {
        return {"name", fence, valid_for > 0s ? start + valid_for : time_point{}, 1s};
    }
    static time_point at(duration since_start) { return start + since_start; }

    static constexpr time_point start{std::chrono::hours{1}};
    fenced_resource resource{};
};

TEST_F(fenced_resource_test, one_after_another_is_sound) {
    EXPECT_EQ(resource.enter(by(5, 1s), at(0s)).value, 0u);
    EXPECT_TRUE(resource.write(by(5, 1s), 1, at(1ms)).accepted);
    EXPECT_EQ(resource.enter(by(6, 1s), at(2ms)).value, 1u);
    EXPECT_TRUE(resource.write(by(6, 1s), 2, at(3ms)).accepted);
    EXPECT_TRUE(resource.report().sound());
    EXPECT_EQ(resource.report().written, 2u);
}

TEST_F(fenced_resource_test, a_newer_holder_within_the_lease_of_an_open_section_is_an_overlap) {
    resource.enter(by(5, 1s), at(0s));
    resource.enter(by(6, 2s), at(999ms));
    EXPECT_EQ(resource.report().overlaps, 1u);
    EXPECT_FALSE(resource.report().sound());
    EXPECT_EQ(resource.findings().size(), 1u);
}

TEST_F(fenced_resource_test, a_newer_holder_after_the_lease_is_none) {
    resource.enter(by(5, 1s), at(0s));
    EXPECT_TRUE(resource.enter(by(6, 2s), at(1s)).accepted);
    EXPECT_TRUE(resource.report().sound());
}

TEST_F(fenced_resource_test, an_overlap_is_found_by_the_late_writer_whose_lease_was_renewed) {
    resource.enter(by(5, 1s), at(0s));
    resource.enter(by(6, 3s), at(1100ms));
    EXPECT_EQ(resource.report().overlaps, 0u);
    EXPECT_FALSE(resource.write(by(5, 2s), 1, at(1200ms)).accepted);
    EXPECT_EQ(resource.report().overlaps, 1u);
}

TEST_F(fenced_resource_test, a_write_under_an_older_fence_is_refused) {
    resource.enter(by(5), at(0s));
    resource.enter(by(6), at(1ms));
    EXPECT_FALSE(resource.write(by(5), 1, at(2ms)).accepted);
    EXPECT_EQ(resource.report().refused, 1u);
    EXPECT_TRUE(resource.report().sound()) << "that is what fences are for";
}

TEST_F(fenced_resource_test, a_write_under_an_older_fence_that_is_let_in_is_found) {
    fenced_resource careless{fenced_resource::fences::ignored};
    careless.enter(by(5), at(0s));
    careless.enter(by(6), at(1ms));
    EXPECT_TRUE(careless.write(by(5), 1, at(2ms)).accepted);
    EXPECT_EQ(careless.report().stale_accepted, 1u);
    EXPECT_FALSE(careless.report().sound());
}

TEST_F(fenced_resource_test, a_write_by_nobody_who_came_in_is_refused_and_not_sound) {
    resource.enter(by(5), at(0s));
    EXPECT_FALSE(resource.write(by(7), 1, at(1ms)).accepted);
    EXPECT_FALSE(resource.report().sound());
}

TEST_F(fenced_resource_test, a_fence_of_two_acquisitions_is_found) {
    resource.enter(by(5), at(0s));
    EXPECT_FALSE(resource.enter(by(5), at(1ms)).accepted);
    EXPECT_EQ(resource.report().fences_reused, 1u);
}

TEST_F(fenced_resource_test, a_fence_that_goes_backwards_is_found) {
    resource.enter(by(6), at(0s));
    EXPECT_FALSE(resource.enter(by(5, 1100ms), at(200ms)).accepted);  // asked for at 100 ms
    EXPECT_EQ(resource.report().fences_backwards, 1u);
}

TEST_F(fenced_resource_test, an_update_made_from_an_old_value_is_found) {
    const std::uint64_t seen = resource.enter(by(5), at(0s)).value;
    resource.write(by(5), seen + 1, at(1ms));
    resource.enter(by(6), at(2ms));
    resource.write(by(6), seen + 1, at(3ms));
    EXPECT_EQ(resource.report().lost_updates(), 1u);
    EXPECT_FALSE(resource.report().sound());
}

TEST_F(fenced_resource_test, an_overlap_over_a_loss_of_data_is_declared) {
    resource.enter(by(5, 1s), at(0s));
    resource.data_lost("na", at(10ms), at(20ms));
    resource.enter(by(6, 2s), at(30ms));
    EXPECT_EQ(resource.report().overlaps, 0u);
    EXPECT_EQ(resource.report().declared_overlaps, 1u);
}

TEST_F(fenced_resource_test, an_overlap_after_a_loss_of_data_is_not_declared) {
    resource.data_lost("na", at(10ms), at(20ms));
    resource.enter(by(5, 1100ms), at(110ms));
    resource.enter(by(6, 2s), at(120ms));
    EXPECT_EQ(resource.report().overlaps, 1u);
}

TEST_F(fenced_resource_test, a_loss_of_data_of_another_server_excuses_nothing) {
    resource.enter(by(5, 1s), at(0s));
    resource.data_lost("other", at(10ms), at(20ms));
    resource.enter(by(6, 2s), at(30ms));
    EXPECT_EQ(resource.report().overlaps, 1u);
}

}  // namespace
