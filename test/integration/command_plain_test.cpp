// SPDX-License-Identifier: BSL-1.0
// conch --plain: the lock of redis-py and its kin, from the command line.
#include "support/command_fixture.hpp"

namespace {

using namespace conch;
using namespace conch::test;

using plain_command_test = command_fixture;

TEST_F(plain_command_test, holds_a_key_that_excludes_and_is_excluded) {
    program p{run_words({"--plain"}, until_end_of_input), here()};
    p.wait_for("in\n");
    EXPECT_EQ(raw.must({"TYPE", "lock"}).text, "string");
    EXPECT_TRUE(raw.must({"SET", "lock", "other", "NX", "PX", "1000"}).is_nil());
    EXPECT_EQ(run_to_end({"--plain", "-n"}, {"true"}).status, 1);
    p.end_input();
    EXPECT_EQ(p.finish().status, 0);
    EXPECT_FALSE(raw.exists("lock"));
    raw.must({"SET", "lock", "other", "NX", "PX", "60000"});
    EXPECT_EQ(run_to_end({"--plain", "-n"}, {"true"}).status, 1);
}

TEST_F(plain_command_test, a_key_that_is_no_lock_is_an_error_and_not_a_holder) {
    raw.must({"HSET", "lock", "field", "value"});
    for (const char* wait : {"0", "5"}) {
        EXPECT_EQ(run_to_end({"--plain", "-w", wait}, {"true"}).status, 69);
    }
    EXPECT_EQ(run_to_end({"--plain", "-n"}, {"true"}).status, 69);
}

TEST_F(plain_command_test, status_and_release_know_it) {
    raw.must({"SET", "lock", "a-token", "PX", "60000"});
    expect_in("holder  a-token", to_end({"status", "--plain", "lock"}).out);
    EXPECT_EQ(to_end({"status", "lock"}).status, 69) << "it is no hash";
    EXPECT_EQ(to_end({"release", "--force", "--plain", "lock"}).status, 0);
    EXPECT_FALSE(raw.exists("lock"));
}

}  // namespace
