// SPDX-License-Identifier: BSL-1.0
// The options of an acquisition, as its operation keeps them.
#include <conch/impl/operation.hpp>
#include <conch/owner.hpp>

#include <gtest/gtest.h>

namespace {

using conch::duration;
using conch::impl::asked_options;
using namespace std::chrono_literals;

TEST(asked_options, what_was_given_comes_back) {
    const conch::owner owner;
    const asked_options kept{conch::lock_options{.wait = 1s,
                                                 .lease = 2s,
                                                 .renew = false,
                                                 .max_hold = 3s,
                                                 .progress_within = 5s,
                                                 .stop_before = 100ms,
                                                 .owner = &owner}};
    const conch::lock_options o = kept.get();
    EXPECT_EQ(o.wait, duration{1s});
    EXPECT_EQ(o.lease, duration{2s});
    EXPECT_EQ(o.renew, false);
    EXPECT_EQ(o.max_hold, duration{3s});
    EXPECT_EQ(o.progress_within, duration{5s});
    EXPECT_EQ(o.stop_before, duration{100ms});
    EXPECT_EQ(o.owner, nullptr);
    EXPECT_EQ(kept.owner(), owner.id());
}

TEST(asked_options, what_was_left_out_stays_left_out) {
    const asked_options kept{conch::lock_options{}};
    const conch::lock_options o = kept.get();
    EXPECT_FALSE(o.wait || o.lease || o.renew || o.stop_before);
    EXPECT_EQ(o.max_hold, conch::forever);
    EXPECT_EQ(kept.owner(), 0u);
}

TEST(asked_options, the_least_duration_is_not_taken_for_one_left_out) {
    constexpr duration least = duration::min();
    const conch::lock_options o =
        asked_options{conch::lock_options{.wait = least, .lease = least, .stop_before = least}}
            .get();
    EXPECT_TRUE(o.wait && *o.wait < 0s);
    EXPECT_TRUE(o.lease && *o.lease < 0s);
    EXPECT_TRUE(o.stop_before && *o.stop_before < 0s);
}

}  // namespace
