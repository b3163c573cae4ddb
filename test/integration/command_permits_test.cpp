// SPDX-License-Identifier: BSL-1.0
// `conch run --at-most N`: a command that runs a few times at once, and no more.
#include "support/command_fixture.hpp"

namespace {

using namespace conch;
using namespace conch::test;

class permits_command_test : public command_fixture {
protected:
    void expect_out(std::int64_t n) {
        EXPECT_TRUE(
            run_until(io, [&] { return raw.must({"ZCARD", "{lock}:timeout"}).number == n; }));
    }
};

TEST_F(permits_command_test, runs_it_so_many_times_at_once_and_no_more) {
    program first{run_words({"--at-most", "2"}, until_end_of_input), here()};
    program second{run_words({"--at-most", "2"}, until_end_of_input), here()};
    expect_out(2);
    EXPECT_EQ(raw.get("lock"), "0");
    const ended none = run_to_end({"--at-most", "2", "-n"}, {"echo", "ran"});
    EXPECT_EQ(none.status, 1);
    EXPECT_EQ(none.out, "");
    expect_in("has no permit left", none.err);
    first.end_input();
    EXPECT_EQ(first.finish().status, 0);
    EXPECT_EQ(run_to_end({"--at-most", "2", "-n"}, {"echo", "ran"}).out, "ran\n");
    EXPECT_EQ(run_to_end({"--semaphore", "-w5"}, {"echo", "ran"}).out, "ran\n");
    second.end_input();
    EXPECT_EQ(second.finish().status, 0);
    EXPECT_EQ(raw.get("lock"), "2");
    expect_out(0);
}

TEST_F(permits_command_test, another_number_is_refused) {
    EXPECT_EQ(run_to_end({"--at-most", "2"}, {"true"}).status, 0);
    const ended end = run_to_end({"--at-most", "3"}, {"echo", "ran"});
    EXPECT_EQ(end.status, 64);
    EXPECT_EQ(end.out, "");
    expect_in("--at-most 3", end.err);
    expect_in("has 2 permits; nothing was run", end.err);
    EXPECT_EQ(raw.get("lock"), "2");
}

TEST_F(permits_command_test, what_it_does_not_go_with_is_refused) {
    for (const words& options :
         {words{"--at-most", "0"}, words{"--at-most", "two"}, words{"--at-most", "2", "--fenced"},
          words{"--at-most", "2", "--plain"}, words{"--at-most", "2", "-s"},
          words{"--at-most", "2", "-l", "other"}, words{"--semaphore", "--fair"},
          words{"--at-most", "2", "--redis", "redis://a", "--redis", "redis://b"}}) {
        EXPECT_EQ(run_to_end(options, {"echo", "ran"}).status, 64) << options[1];
    }
    EXPECT_EQ(raw.dbsize(), 0);
}

TEST_F(permits_command_test, others_are_told_what_it_is) {
    program first{run_words({"--at-most", "2"}, until_end_of_input), here()};
    expect_out(1);
    const ended told = to_end({"status", "--semaphore", "lock"});
    expect_in("lock: semaphore, 1 of 2 permits is out\n", told.out);
    expect_in("\n  process ", told.out);
    expect_in("unless renewed", told.out);
    expect_in("\"permits\":2", to_end({"status", "--semaphore", "--json", "lock"}).out);
    expect_in("lock: semaphore, 1 of 2 permits is out: ",
              to_end({"watch", "--semaphore", "--count", "1", "lock"}).out);
    const ended unasked = to_end({"status", "lock"});
    EXPECT_EQ(unasked.status, 0);
    expect_in("lock: semaphore", unasked.out);
    const ended taken = to_end({"release", "--force", "--semaphore", "lock"});
    EXPECT_EQ(taken.status, 0);
    expect_in("lock: released; before: semaphore, 1 of 2 permits is out: ", taken.out);
    EXPECT_EQ(raw.get("lock"), "2");
    first.end_input();
    first.finish();
}

TEST_F(permits_command_test, of_one_that_was_killed_come_back) {
    program first{run_words({"--at-most", "1", "--lease", "0.5"}, until_end_of_input), here()};
    expect_out(1);
    first.signal(SIGKILL);
    EXPECT_EQ(run_to_end({"--at-most", "1", "-w10"}, {"echo", "ran"}).out, "ran\n");
}

}  // namespace
