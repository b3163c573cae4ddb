// SPDX-License-Identifier: BSL-1.0
// Who watches a hold whose end is set, by a fixed lease or by max_hold, ahead of that end.
#include "unit/group/harness.hpp"

namespace {

using namespace conch;
using namespace conch::test;

struct group_watch_test : group_test {
    void take(const lock_options& o, duration lease) {
        lock(owner, o);
        for (std::size_t i = 0; i < 3; ++i) {
            grant(i, lease);
        }
        ASSERT_TRUE(ended(owner) && owner.hold);
        ASSERT_EQ(watch(told, owner.hold, 2s), (words{"tell 0", "tell 1", "tell 2"}));
    }
    void extend_hold(duration lease) {
        turn([&] { under_test->extend(owner.hold, lease, &extended); });
    }
    bool is_lost() const { return owner.hold->lost.load() != 0; }

    caller owner{};
    caller told{};
    caller extended{};
};

TEST_F(group_watch_test, a_fixed_lease_is_told_in_time_though_members_last_longer_meanwhile) {
    take({.lease = 10s, .renew = false}, 10s);
    extend_hold(60s);
    pass(settings.operation_timeout);
    ASSERT_TRUE(ended(extended));
    ASSERT_EQ(extended.ec, errc::not_connected);
    renew(0, 60s);  // these had it, and their answers were lost
    renew(1, 60s);
    const duration left = until(owner) - now;
    ASSERT_LT(left, 10s);
    pass(left - 2s);
    EXPECT_FALSE(ended(told)) << "its members tell first";
    pass(1ms);
    ASSERT_TRUE(ended(told));
    EXPECT_EQ(told.ec, errc::lease_expired);
    EXPECT_FALSE(is_lost()) << "it is still held";
}

TEST_F(group_watch_test, max_hold_is_told_in_time_though_members_last_longer_meanwhile) {
    take({.lease = 10s, .max_hold = 20s}, 10s);
    pass(5s);
    for (std::size_t i = 0; i < 3; ++i) {
        renew(i, 15s + 20ms);  // that much later its max_hold ends there
    }
    pass(13s);
    EXPECT_FALSE(ended(told)) << "its members tell first";
    pass(1ms);
    ASSERT_TRUE(ended(told));
    EXPECT_EQ(told.ec, errc::max_hold_reached);
    EXPECT_FALSE(is_lost()) << "it is still held";
}

TEST_F(group_watch_test, what_members_told_before_an_extension_is_none) {
    take({.lease = 10s, .renew = false}, 10s);
    now += 8s;
    extend_hold(60s);
    renew(0, 60s);
    renew(1, 60s);
    answer("tell", 0, {.ec = errc::lease_expired});
    answer("tell", 1, {.ec = errc::lease_expired});
    EXPECT_FALSE(ended(told));
    answer("extend", 0, {});
    answer("extend", 1, {});
    ASSERT_TRUE(ended(extended));
    EXPECT_FALSE(extended.ec);
    pass(58s);
    EXPECT_FALSE(ended(told)) << "its members tell first";
    pass(1ms);
    ASSERT_TRUE(ended(told));
    EXPECT_EQ(told.ec, errc::lease_expired);
}

TEST_F(group_watch_test, one_that_is_canceled_hears_of_no_set_end) {
    take({.lease = 10s, .renew = false}, 10s);
    cancel(told);
    ASSERT_TRUE(ended(told));
    EXPECT_EQ(told.ec, canceled());
    pass(9s);
    EXPECT_EQ(told.ec, canceled());
}

}  // namespace
