// SPDX-License-Identifier: BSL-1.0
// The plain lock: its fencing token, and what a deeper level makes of a lock that is lost.
#include "sim/scripts/player.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace conch;
using namespace conch::sim;
using namespace conch::sim::test;
using wire::script_id;

TEST(plain_lock_scripts, a_status_tells_the_last_fencing_token) {
    script_player p;
    p.ask({"SET", "fence", "1700000000000001"});
    EXPECT_EQ(p.ask(call_of(script_id::value_status, {"lock", "fence"}, {})),
              "*2\r\n:-2\r\n$16\r\n1700000000000001\r\n");
}

TEST(plain_lock_scripts, a_deeper_level_of_a_lost_lock_is_none) {
    script_player p;
    const auto nest = [&] {
        return p.ask(call_of(script_id::value_nest, {"lock"}, {mine, "2", "60000"}));
    };
    EXPECT_EQ(nest(), ":0\r\n");
    EXPECT_EQ(p.ask({"EXISTS", "lock"}), ":0\r\n");
    p.ask({"SET", "lock", "another's", "PX", "1000"});
    EXPECT_EQ(nest(), ":0\r\n");
    EXPECT_EQ(p.ask({"PTTL", "lock"}), ":1000\r\n");
}

}  // namespace
