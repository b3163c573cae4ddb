// SPDX-License-Identifier: BSL-1.0
// Programs with a blocking client of static storage end as they should.
#include "support/program.hpp"
#include "support/redis_test.hpp"

#include <string>

namespace {

using namespace conch::test;

/// By the level of optimisation.
class blocking_static : public redis_test, public ::testing::WithParamInterface<const char*> {
protected:
    void says(const std::string& text, const std::string& mode) {
        // In a forked child LeakSanitizer doesn't see what the stacks of other threads held.
        const char* const leaks = mode == "child" ? "detect_leaks=0" : "detect_leaks=1";
        program p{{std::string{PROGRAMS_FOLDER} + "/blocking_static_" + GetParam(), mode},
                  {{"REDIS_URL", url()}, {"ASAN_OPTIONS", leaks}}};
        const ended& end = p.finish();
        EXPECT_EQ(end.status, 0) << "signal " << end.signal;
        EXPECT_EQ(end.out, text);
        EXPECT_EQ(end.err, "");
        EXPECT_FALSE(raw.exists("x"));
    }
};

TEST_P(blocking_static, the_program_ends_well) { says("unlocked\n", "main"); }

TEST_P(blocking_static, a_destructor_of_a_static_object_may_use_it) {
    says("unlocked\nunlocked\n", "destructor");
}

TEST_P(blocking_static, a_destructor_of_a_static_object_may_make_a_client) {
    says("unlocked\nunlocked\n", "another_in_destructor");
}

TEST_P(blocking_static, a_forked_child_exits_without_a_wait_and_the_parent_keeps_its_lock) {
    says("owned\nunlocked\n", "child");
}

INSTANTIATE_TEST_SUITE_P(levels, blocking_static, ::testing::Values("0", "2"));

}  // namespace
