// SPDX-License-Identifier: BSL-1.0
// How many holds one script renews.
#include "protocol/renewing.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace {

using namespace conch;
using protocol::renewal_room;

impl::spec_ptr permits(std::uint32_t n) {
    return impl::lock_spec::make(protocol::permits_protocol, "a", {}, n);
}

TEST(renewal_room, is_for_a_hundred_holds) {
    renewal_room room;
    const auto spec = impl::lock_spec::make(protocol::mutex_protocol, "a", {});
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(room.take(*spec)) << i;
    }
    EXPECT_FALSE(room.take(*spec));
}

TEST(renewal_room, is_for_a_thousand_permits) {
    renewal_room room;
    EXPECT_TRUE(room.take(*permits(400)));
    EXPECT_TRUE(room.take(*permits(500)));
    EXPECT_FALSE(room.take(*permits(101)));
    EXPECT_TRUE(room.take(*permits(100)));
    EXPECT_FALSE(room.take(*permits(1)));
}

}  // namespace
