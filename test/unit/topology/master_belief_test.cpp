// SPDX-License-Identifier: BSL-1.0
#include "topology/master_belief.hpp"

#include <gtest/gtest.h>

namespace conch::topology {
namespace {

using namespace std::chrono_literals;
using verdict = master_belief::verdict;

const wire::address nowhere{};
const wire::address a{"a", 1, {}};
const wire::address b{"b", 2, {}};
const wire::address c{"c", 3, {}};

struct topology_master_belief : testing::Test {
    /// The sentinel `by` names `names`; another one is asked after it.
    verdict says(std::size_t by, const wire::address& names, std::optional<std::int64_t> epoch) {
        const verdict v = belief.judge({by, names, epoch, before, reached, now});
        if (v == verdict::believed && names != before) {
            if (before.known()) {
                belief.turned(now);
            }
            before = names;
        }
        belief.asks_next();
        return v;
    }

    master_belief belief{3};
    wire::address before = nowhere;
    bool reached = true;
    time_point now{1h};
};

TEST_F(topology_master_belief, the_first_word_is_believed) {
    EXPECT_EQ(says(0, a, 7), verdict::believed);
}

TEST_F(topology_master_belief, an_older_configuration_is_doubted_while_the_master_is_reached) {
    says(0, a, 7);
    EXPECT_EQ(says(1, b, 6), verdict::doubted);
    ASSERT_NE(belief.doubted(), nullptr);
    EXPECT_EQ(*belief.doubted(), b);
    EXPECT_FALSE(belief.nobody_is_reached());
}

TEST_F(topology_master_belief, a_newer_configuration_is_believed) {
    says(0, a, 7);
    EXPECT_EQ(says(1, b, 8), verdict::believed);
    EXPECT_EQ(says(0, a, 7), verdict::doubted) << "it is the older one now";
}

TEST_F(topology_master_belief, one_as_new_is_believed_only_if_the_master_is_not_reached) {
    says(0, a, 7);
    EXPECT_EQ(says(1, b, 7), verdict::doubted);
    reached = false;
    EXPECT_EQ(says(1, b, 7), verdict::believed);
}

TEST_F(topology_master_belief, what_all_name_in_a_row_is_believed_though_older) {
    says(0, a, 7);
    EXPECT_EQ(says(1, b, 1), verdict::doubted);
    EXPECT_EQ(says(2, b, 1), verdict::doubted);
    EXPECT_EQ(says(0, b, 1), verdict::believed);
    EXPECT_EQ(belief.doubted(), nullptr);
}

TEST_F(topology_master_belief, one_alone_does_not_speak_for_the_dead_while_the_master_is_reached) {
    says(0, a, 7);
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(says(1, b, 1), verdict::doubted);
    }
    reached = false;
    EXPECT_EQ(says(1, b, 1), verdict::doubted) << "counted anew";
    EXPECT_TRUE(belief.nobody_is_reached());
    EXPECT_EQ(says(1, b, 1), verdict::doubted);
    EXPECT_EQ(says(1, b, 1), verdict::believed);
}

TEST_F(topology_master_belief, another_name_between_them_ends_the_row) {
    says(0, a, 7);
    says(1, b, 1);
    says(2, b, 1);
    EXPECT_EQ(says(0, c, 1), verdict::doubted);
    EXPECT_EQ(says(1, b, 1), verdict::doubted);
}

TEST_F(topology_master_belief, who_is_asked_twice_counts_once) {
    says(0, a, 7);
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(belief.judge({1, b, 1, before, false, now}), verdict::doubted);
    }
}

TEST_F(topology_master_belief, one_that_may_not_tell_is_believed) {
    says(0, a, 7);
    EXPECT_EQ(says(1, b, std::nullopt), verdict::believed);
}

TEST_F(topology_master_belief, what_three_connections_to_one_address_lead_to_is_believed) {
    master_belief of_one{1};
    const auto leads_to_b = [&] {
        of_one.asks_next();
        return of_one.judge({0, b, 1, a, true, now});
    };
    of_one.judge({0, a, 7, nowhere, true, now});
    EXPECT_EQ(leads_to_b(), verdict::doubted);
    EXPECT_EQ(leads_to_b(), verdict::doubted);
    EXPECT_EQ(leads_to_b(), verdict::believed);
}

TEST_F(topology_master_belief, turns_that_lead_to_no_master_get_a_pause) {
    says(0, a, 7);
    reached = false;
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(says(1, b, 7), verdict::believed);
        EXPECT_EQ(says(2, a, 7), verdict::believed);
    }
    EXPECT_EQ(says(1, b, 7), verdict::too_soon);
    now = belief.next_turn();
    EXPECT_EQ(says(1, b, 7), verdict::believed);
}

TEST_F(topology_master_belief, a_newer_configuration_or_a_master_that_is_met_ends_the_pauses) {
    says(0, a, 7);
    reached = false;
    const auto wander = [&](std::int64_t epoch) {
        for (int i = 0; i < 3; ++i) {
            says(1, b, epoch);
            says(2, a, epoch);
        }
        return says(1, c, epoch);
    };
    EXPECT_EQ(wander(7), verdict::too_soon);
    EXPECT_EQ(says(1, c, 8), verdict::believed);
    EXPECT_EQ(wander(8), verdict::too_soon);
    belief.met();
    EXPECT_EQ(says(1, c, 8), verdict::believed);
}

}  // namespace
}  // namespace conch::topology
