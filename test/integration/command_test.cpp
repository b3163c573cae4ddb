// SPDX-License-Identifier: BSL-1.0
// `conch run`, started as from a shell.
#include "core/sanitizer.hpp"
#include "support/command_fixture.hpp"

#include <signal.h>

#include <fstream>

namespace {

using namespace conch;
using namespace conch::test;

using run_command_test = command_fixture;

TEST_F(run_command_test, the_status_0_is_passed_on) {
    EXPECT_EQ(run_to_end({}, {"true"}).status, 0);
    expect_free();
}

TEST_F(run_command_test, the_status_7_is_passed_on) {
    const ended end = run_to_end({}, {"sh", "-c", "exit 7"});
    EXPECT_EQ(end.status, 7);
    EXPECT_EQ(end.err, "");
    expect_free();
}

TEST_F(run_command_test, a_killed_command_is_128_and_its_signal) {
    EXPECT_EQ(run_to_end({}, {"sh", "-c", "kill -KILL $$"}).status, 128 + SIGKILL);
    expect_free();
}

TEST_F(run_command_test, a_missing_command_is_127) {
    const ended end = run_to_end({}, {folder.path() + "/none"});
    EXPECT_EQ(end.status, 127);
    expect_one_line(end.err);
    expect_free();
}

TEST_F(run_command_test, a_file_that_is_not_executable_is_126) {
    const std::string file = folder.path() + "/plain";
    std::ofstream{file} << "#!/bin/sh\n";
    const ended end = run_to_end({}, {file});
    EXPECT_EQ(end.status, 126);
    expect_one_line(end.err);
    expect_free();
}

TEST_F(run_command_test, the_command_has_the_input_and_both_outputs) {
    program p{run_words({}, {"sh", "-c", "read x; echo \"out $x\"; echo \"err $x\" >&2"}), here()};
    p.type("word\n");
    const ended& end = p.finish();
    EXPECT_EQ(end.out, "out word\n");
    EXPECT_EQ(end.err, "err word\n");
}

TEST_F(run_command_test, every_word_after_the_name_belongs_to_the_command) {
    const ended end = to_end({"run", "lock", "printf", "<%s>", "a b", "", "-n", "--", "--help"});
    EXPECT_EQ(end.out, "<a b><><-n><--><--help>");
}

TEST_F(run_command_test, the_command_gets_no_descriptor_of_ours) {
    // 3 is the folder that ls reads.
    EXPECT_EQ(run_to_end({}, {"ls", "/proc/self/fd"}).out, "0\n1\n2\n3\n");
}

TEST_F(run_command_test, the_command_starts_with_no_signal_blocked) {
    const ended end = run_to_end({}, {"grep", "SigBlk", "/proc/self/status"});
    EXPECT_EQ(end.out, "SigBlk:\t0000000000000000\n");
}

TEST_F(run_command_test, the_key_exists_during_the_command_and_is_gone_after) {
    program p{run_words({"--lease", "5"}, until_end_of_input), here()};
    p.wait_for("in\n");
    EXPECT_EQ(raw.hlen("lock"), 1);
    EXPECT_GT(raw.pttl("lock"), 0);
    EXPECT_LE(raw.pttl("lock"), 5000);
    p.end_input();
    EXPECT_EQ(p.finish().status, 0);
    expect_free();
}

TEST_F(run_command_test, a_second_run_waits_for_the_first) {
    program first{run_words({}, until_end_of_input), here()};
    first.wait_for("in\n");
    program second{run_words({}, {"echo", "second"}), here()};
    ASSERT_TRUE(waiter_listens());
    first.end_input();
    EXPECT_EQ(first.finish().out, "in\n");
    const ended& end = second.finish();
    EXPECT_EQ(end.status, 0);
    EXPECT_EQ(end.out, "second\n");
    expect_free();
}

TEST_F(run_command_test, nonblock_on_a_busy_lock_is_1_and_runs_nothing) {
    take_as_stranger(raw, "lock");
    const ended end = run_to_end({"-n"}, {"echo", "ran"});
    EXPECT_EQ(end.status, 1);
    EXPECT_EQ(end.out, "");
    expect_one_line(end.err);
    EXPECT_EQ(raw.hlen("lock"), 1);
}

TEST_F(run_command_test, a_wait_that_is_too_short_is_1_and_runs_nothing) {
    take_as_stranger(raw, "lock");
    const auto start = clock::now();
    const ended end = run_to_end({"-w", "0.2"}, {"echo", "ran"});
    EXPECT_GE(clock::now() - start, 200ms);
    EXPECT_EQ(end.status, 1);
    EXPECT_EQ(end.out, "");
    expect_one_line(end.err);
    EXPECT_EQ(raw.hlen("lock"), 1);
}

TEST_F(run_command_test, sigint_while_it_waits_is_130_and_runs_nothing) {
    take_as_stranger(raw, "lock");
    program p{run_words({}, {"echo", "ran"}), here()};
    ASSERT_TRUE(waiter_listens());
    p.signal(SIGINT);
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 130);
    EXPECT_EQ(end.out, "");
    EXPECT_EQ(raw.hlen("lock"), 1);
}

TEST_F(run_command_test, sigterm_reaches_the_command) {
    program p{run_words({}, until_end_of_input), here()};
    p.wait_for("in\n");
    p.signal(SIGTERM);
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 128 + SIGTERM) << "conch itself was ended by " << end.signal;
    expect_free();
}

TEST_F(run_command_test, without_redis_it_is_69_and_one_line) {
    const ended end = to_end({"run", "lock", "echo", "ran"}, nowhere());
    EXPECT_EQ(end.status, 69);
    EXPECT_EQ(end.out, "");
    expect_one_line(end.err);
}

TEST_F(run_command_test, a_process_that_cannot_be_started_is_71_and_leaves_the_lock_free) {
    if (core::address_sanitizer) {
        GTEST_SKIP() << "the sanitizer needs descriptors of its own";
    }
    int unstarted = 0;
    for (int limit = 4; limit < 20; ++limit) {
        words line{"/bin/sh", "-c", "ulimit -n \"$0\"; exec \"$@\"", std::to_string(limit)};
        const words whole = run_words({}, {"true"});
        line.insert(line.end(), whole.begin(), whole.end());
        program p{line, here()};
        const ended& end = p.finish();
        if (end.status == 0) {
            EXPECT_GT(unstarted, 0);
            return;
        }
        const bool unreachable = end.err.find("no connection") != std::string::npos;
        EXPECT_EQ(end.status, unreachable ? 69 : 71) << limit << ": " << end.err;
        expect_one_line(end.err);
        expect_in("Too many open files", end.err);
        EXPECT_EQ(end.err.find("unexpected"), std::string::npos) << end.err;
        unstarted += end.err.find("cannot start a process") == std::string::npos ? 0 : 1;
        expect_free();
    }
    ADD_FAILURE() << "it needs too many descriptors";
}

TEST_F(run_command_test, bad_usage_is_64_and_one_line) {
    const std::vector<words> wrong{{"run"},
                                   {"run", "lock"},
                                   {"run", "lock", "--"},
                                   {"run", "", "echo"},
                                   {"run", "lock", ""},
                                   {"run", "-n", "-w", "1", "lock", "echo"},
                                   {"run", "-w", "-1", "lock", "echo"},
                                   {"run", "-w", "soon", "lock", "echo"},
                                   {"run", "--lease", "0", "lock", "echo"},
                                   {"run", "--lease", "0.05", "lock", "echo"},
                                   {"run", "--redis", "", "lock", "echo"},
                                   {"run", "--unknown", "lock", "echo"},
                                   {"run", "--un\nknown", "lock", "echo"},
                                   {"run", "--%canonical_option%", "lock", "echo"},
                                   {"run", "--%original_token%=", "lock", "echo"},
                                   {"status", "--json=%original_token%", "lock"},
                                   {"run", std::string(65537, 'x'), "echo"},
                                   {"walk"},
                                   {}};
    for (const words& w : wrong) {
        const ended end = to_end(w);
        EXPECT_EQ(end.status, 64) << ::testing::PrintToString(w);
        EXPECT_EQ(end.out, "");
        expect_one_line(end.err);
    }
    EXPECT_EQ(raw.calls("evalsha"), 0u);
}

}  // namespace
