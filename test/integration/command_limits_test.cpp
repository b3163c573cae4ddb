// SPDX-License-Identifier: BSL-1.0
// `conch run` and the signals of a limit on time or on file sizes, SIGXCPU and SIGXFSZ: those that
// somebody sends to it, as batch systems do, and those that the kernel sends for its own use.
#include "support/command_fixture.hpp"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

class limit_signal_test : public command_fixture, public ::testing::WithParamInterface<int> {};

TEST_P(limit_signal_test, ends_the_command_with_what_it_started_and_leaves_no_lock) {
    program p{run_words({}, {"sh", "-c", "ulimit -c 0; tail -f /dev/null & echo in; exec cat"}),
              here()};
    p.wait_for("in\n");
    p.signal(GetParam());
    const ended& end = p.finish();  // and nobody has the output open any more
    EXPECT_EQ(end.status, 128 + GetParam());
    EXPECT_EQ(end.err, "");
    expect_free();
}

TEST_P(limit_signal_test, leaves_the_lock_to_a_command_that_goes_on) {
    program p{run_words({"--lease", "1"},
                        {"bash", "-c",
                         "trap 'echo told' XCPU XFSZ; trap 'exit 4' USR1; echo in; "
                         "until read -t 0.1 x; do :; done"}),
              here()};
    p.wait_for("in\n");
    p.signal(GetParam());
    p.wait_for("told\n");
    EXPECT_TRUE(lease_passes(io, raw, 1100ms));
    EXPECT_TRUE(raw.exists("lock"));
    p.signal(SIGUSR1);
    EXPECT_EQ(p.finish().status, 4);
    expect_free();
}

TEST_P(limit_signal_test, ends_the_waiting_and_leaves_no_waiter) {
    take_as_stranger(raw, "lock");
    program p{run_words({}, {"echo", "ran"}), here()};
    ASSERT_TRUE(waiter_listens());
    p.signal(GetParam());
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 128 + GetParam());
    EXPECT_EQ(end.out, "");
    EXPECT_TRUE(run_until(io, [&] { return listening("lock", 0); }));
    EXPECT_EQ(raw.hlen("lock"), 1) << "the stranger's";
    EXPECT_EQ(raw.dbsize(), 1);
}

TEST_P(limit_signal_test, that_was_ignored_from_the_start_ends_no_waiting) {
    take_as_stranger(raw, "lock");
    words line = run_words({}, {"echo", "ran"});
    line.insert(line.begin(), {"/usr/bin/env", "--ignore-signal=" + std::to_string(GetParam())});
    program p{line, here()};
    ASSERT_TRUE(waiter_listens());
    p.signal(GetParam());
    EXPECT_EQ(raw.must({"DEL", "lock"}).number, 1);
    raw.must({"PUBLISH", channel_of("lock"), "0"});
    EXPECT_EQ(p.finish().status, 0);
    EXPECT_EQ(p.finish().out, "ran\n");
    expect_free();
}

INSTANTIATE_TEST_SUITE_P(each, limit_signal_test, ::testing::Values(SIGXCPU, SIGXFSZ),
                         [](const auto& info) { return info.param == SIGXCPU ? "cpu" : "size"; });

class own_limit_test : public command_fixture {
protected:
    /// Tells all that happens in a file that takes one byte: the kernel sends SIGXFSZ for the rest.
    program start_with_a_full_file(const words& command) const {
        const words whole = run_words({"-v"}, command);
        words line{"/bin/sh", "-c", "echo ready; read x; exec \"$@\" 2>\"$0\"", said};
        line.insert(line.end(), whole.begin(), whole.end());
        return program{line, here()};
    }
    static void limit_files(program& p) {
        p.wait_for("ready\n");
        const rlimit one_byte{1, RLIM_INFINITY};
        ASSERT_EQ(::prlimit(p.pid(), RLIMIT_FSIZE, &one_byte, nullptr), 0);
        p.type("go\n");
    }
    bool file_is_full() const { return std::filesystem::file_size(said) == 1; }

    const std::string said = folder.path() + "/said";
};

TEST_F(own_limit_test, of_files_is_not_told_to_the_command) {
    program p = start_with_a_full_file(until_end_of_input);
    limit_files(p);
    p.wait_for("in\n");
    EXPECT_TRUE(file_is_full());
    p.end_input();
    EXPECT_EQ(p.finish().status, 0);
    expect_free();
}

TEST_F(own_limit_test, of_files_ends_no_waiting) {
    take_as_stranger(raw, "lock");
    program p = start_with_a_full_file({"echo", "ran"});
    limit_files(p);
    ASSERT_TRUE(waiter_listens());
    EXPECT_TRUE(file_is_full());
    EXPECT_EQ(raw.must({"DEL", "lock"}).number, 1);
    raw.must({"PUBLISH", channel_of("lock"), "0"});
    EXPECT_EQ(p.finish().status, 0);
    EXPECT_EQ(p.finish().out, "ready\nran\n");
    expect_free();
}

/// After how many seconds of computing the kernel sends SIGXCPU: one more each time it did.
rlim_t seconds_of(pid_t pid) {
    rlimit now{};
    return ::prlimit(pid, RLIMIT_CPU, nullptr, &now) == 0 ? now.rlim_cur : 0;
}

/// Lets this process compute until it has got SIGXCPU.
void exceed_time(pid_t pid) {
    const rlimit one_second{1, RLIM_INFINITY};
    ASSERT_EQ(::prlimit(pid, RLIMIT_CPU, &one_second, nullptr), 0);
    const time_point last = clock::now() + 60s;
    while (seconds_of(pid) == 1 && clock::now() < last) {
        ::kill(pid, SIGTTIN);  // it looks at that, and does nothing
    }
    EXPECT_GT(seconds_of(pid), 1u);
}

bool has_read_its_signals(pid_t pid) {
    std::ifstream status{"/proc/" + std::to_string(pid) + "/status"};
    const std::string text{std::istreambuf_iterator<char>{status}, {}};
    return text.find("\nShdPnd:\t0000000000000000\n") != text.npos;
}

TEST_F(own_limit_test, of_time_ends_no_hold) {
    program caller{{"/bin/sh", "-c", "\"$conch\" hold lock; echo \"status<$?>\""},
                   {{"CONCH_REDIS", url()}, {"conch", CONCH_PROGRAM_PATH}}};
    caller.wait_for("held lock\n");
    const pid_t hold = child_named(caller.pid(), "conch");
    ASSERT_GT(hold, 0);
    exceed_time(hold);
    EXPECT_TRUE(run_until(io, [&] { return has_read_its_signals(hold); }));
    caller.end_input();
    EXPECT_EQ(caller.finish().out, "held lock\nstatus<0>\n");
    expect_free();
}

TEST_F(own_limit_test, of_time_is_not_told_to_the_command) {
    program p{run_words({}, {"bash", "-c",
                             "trap 'echo told' XCPU; trap 'echo after; exit 3' " +
                                 std::to_string(SIGRTMAX) +
                                 "; echo in; until read -t 0.1 x; do :; done"}),
              here()};
    p.wait_for("in\n");
    exceed_time(p.pid());
    p.signal(SIGRTMAX);  // of all that are there, it takes this one last
    EXPECT_EQ(p.finish().status, 3);
    EXPECT_EQ(p.finish().out, "in\nafter\n");
    expect_free();
}

}  // namespace
