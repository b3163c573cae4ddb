// SPDX-License-Identifier: BSL-1.0
// A stranger's hash under the name of a read-write lock: the scripts refuse it, and change nothing.
#include "sim/scripts/player.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::sim::test;
using wire::script_id;

/// Of the scripts that look at a whole hash.
const std::vector<words> calls{
    call_of(script_id::shared_read, {"lock", "{lock}:timeout", "conch_rw_writer:{lock}"},
            {mine, one_minute}),
    call_of(script_id::shared_write, {"lock", "conch_rw_writer:{lock}"},
            {mine + ":write", one_minute, one_minute}),
    call_of(script_id::shared_downgrade, {"lock", "{lock}:timeout"},
            {mine + ":write", mine, one_minute, "redisson_rwlock:{lock}", "publish"}),
    call_of(script_id::shared_status, {"lock"}, {})};

/// The parameter: the fields and values of the hash.
class foreign_hash : public ::testing::TestWithParam<words> {};

TEST_P(foreign_hash, is_left_as_it_is) {
    script_player p;
    words set{"HSET", "lock"};
    set.insert(set.end(), GetParam().begin(), GetParam().end());
    p.ask(set);
    const std::string before = p.ask({"HGETALL", "lock"});
    for (const words& call : calls) {
        EXPECT_TRUE(p.ask(call).starts_with("-WRONGTYPE ")) << ::testing::PrintToString(call);
        EXPECT_EQ(p.ask({"HGETALL", "lock"}), before);
        EXPECT_EQ(p.ask({"PTTL", "lock"}), ":-1\r\n");
        EXPECT_EQ(p.ask({"DBSIZE"}), ":1\r\n");
    }
}

INSTANTIATE_TEST_SUITE_P(all, foreign_hash,
                         ::testing::Values(words{"name", "Ada"}, words{"mode", "dark", other, "1"},
                                           words{"mode", "read"},
                                           words{"mode", "read", "size", "1"},
                                           words{"mode", "read", other, "many"},
                                           words{"mode", "write", other + ":write", "0"}));

}  // namespace
