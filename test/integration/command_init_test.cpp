// SPDX-License-Identifier: BSL-1.0
// `conch run` as the first process of a container, and the signals that pass through it.
#include "support/command_fixture.hpp"

#include <csignal>

namespace {

using namespace conch;
using namespace conch::test;

class init_command_test : public command_fixture {
protected:
    /// The words, in PID namespaces of their own.
    static words in_namespace(words options, const words& rest) {
        options.insert(options.begin(), {"/usr/bin/env", "unshare", "-r", "-p"});
        options.insert(options.end(), rest.begin(), rest.end());
        return options;
    }
    bool may_unshare() const {
        program p{in_namespace({"-f", "--mount-proc"}, {"true"})};
        return p.finish().status == 0;
    }
    /// Of a `conch run` that is the first process of a namespace.
    void kill_guardian(const program& of) {
        const pid_t guardian = guardian_of(child_named(of.pid(), "conch"));
        ASSERT_GT(guardian, 0);
        ::kill(guardian, SIGKILL);
        EXPECT_TRUE(run_until(io, [&] { return process_state(guardian) == 0; })) << "reaped";
    }
};

TEST_F(init_command_test, as_the_first_process_it_reaps_every_child) {
    if (!may_unshare()) {
        GTEST_SKIP() << "no PID namespaces here";
    }
    // Orphans that end at once; they are gone when the processes are those of before.
    const words command{"sh", "-c",
                        "set -- /proc/[0-9]*; before=$*; for i in 1 2 3 4 5; do (true &); done; "
                        "while set -- /proc/[0-9]*; [ \"$*\" != \"$before\" ]; do :; done; "
                        "echo reaped"};
    program p{in_namespace({"-f", "--mount-proc"}, run_words({}, command)), here()};
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 0) << end.err;
    EXPECT_EQ(end.out, "reaped\n");
}

TEST_F(init_command_test, as_the_first_process_it_holds_the_lock_without_its_guardian_too) {
    if (!may_unshare()) {
        GTEST_SKIP() << "no PID namespaces here";
    }
    program p{in_namespace({"-f", "--mount-proc"}, run_words({"--lease", "1"}, until_end_of_input)),
              here()};
    p.wait_for("in\n");
    ASSERT_NO_FATAL_FAILURE(kill_guardian(p));
    EXPECT_TRUE(lease_passes(io, raw, 1100ms));
    EXPECT_TRUE(raw.exists("lock"));
    EXPECT_EQ(run_to_end({"-n"}, {"true"}).status, 1);
    p.end_input();
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 0);
    EXPECT_EQ(end.err, "");
    expect_free();
}

TEST_F(init_command_test, as_the_first_process_it_ends_the_command_without_its_guardian_too) {
    if (!may_unshare()) {
        GTEST_SKIP() << "no PID namespaces here";
    }
    program p{in_namespace({"-f", "--mount-proc"}, run_words({"--lease", "2"}, heartbeats)),
              here()};
    p.wait_for("\n");
    ASSERT_NO_FATAL_FAILURE(kill_guardian(p));
    raw.must({"DEL", "lock"});
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 75);
    expect_in("ended with status 137", end.err);
    expect_in("term\n", end.out);
}

TEST_F(init_command_test, the_command_may_be_the_first_process_of_a_namespace) {
    if (!may_unshare()) {
        GTEST_SKIP() << "no PID namespaces here";
    }
    program::environment variables = here();
    variables["ASAN_OPTIONS"] = "detect_leaks=0";  // that forks, and the namespace has ended then
    program p{in_namespace({}, run_words({}, {"echo", "in"})), variables};
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 0) << end.err;
    EXPECT_EQ(end.out, "in\n");
}

// Its workers and its server are children that are first, or have no parent, in their namespace.
TEST_F(init_command_test, the_demo_works_where_it_has_no_parent_too) {
    if (!may_unshare()) {
        GTEST_SKIP() << "no PID namespaces here";
    }
    const program::environment variables{{"CONCH_REDIS", ""},
                                         {"ASAN_OPTIONS", "detect_leaks=0"}};  // as above
    for (const words& options : {words{}, words{"-f", "--mount-proc"}}) {
        program p{in_namespace(options, {CONCH_PROGRAM_PATH, "demo", "--seconds", "1"}), variables};
        const ended& end = p.finish();
        EXPECT_EQ(end.status, 0) << end.err;
        EXPECT_NE(end.out.find("lost updates"), std::string::npos) << end.out;
    }
}

class passed_signal_test : public init_command_test, public testing::WithParamInterface<int> {
protected:
    const words told = run_words({}, {"bash", "-c",
                                      "trap 'echo got; exit 3' " + std::to_string(GetParam()) +
                                          "; echo in; until read -t 0.1 x; do :; done"});

    static void expect_told(const ended& end) {
        EXPECT_EQ(end.status, 3) << end.err;
        EXPECT_EQ(end.out, "in\ngot\n");
    }
};

TEST_P(passed_signal_test, reaches_the_command) {
    program p{told, here()};
    p.wait_for("in\n");
    p.signal(GetParam());
    expect_told(p.finish());
}

TEST_P(passed_signal_test, reaches_the_command_of_the_first_process_too) {
    if (!may_unshare()) {
        GTEST_SKIP() << "no PID namespaces here";
    }
    program p{in_namespace({"-f", "--mount-proc"}, told), here()};
    p.wait_for("in\n");
    const pid_t first = child_named(p.pid(), "conch");
    ASSERT_GT(first, 0);
    ::kill(first, GetParam());
    expect_told(p.finish());
}

INSTANTIATE_TEST_SUITE_P(each, passed_signal_test,
                         testing::Values(SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM,
                                         SIGTERM, SIGSTKFLT, SIGURG, SIGXCPU, SIGXFSZ, SIGVTALRM,
                                         SIGPROF, SIGWINCH, SIGIO, SIGPWR, SIGRTMIN, SIGRTMIN + 3,
                                         SIGRTMAX));

TEST_F(init_command_test, a_window_that_changes_its_size_ends_no_waiting) {
    take_as_stranger(raw, "lock");
    program p{run_words({}, {"echo", "in"}), here()};
    EXPECT_TRUE(waiter_listens());
    p.signal(SIGWINCH);
    p.signal(SIGURG);
    EXPECT_EQ(raw.must({"DEL", "lock"}).number, 1);
    raw.must({"PUBLISH", channel_of("lock"), "0"});
    EXPECT_EQ(p.finish().out, "in\n");
}

// The kernel reaps the children of a process that ignores SIGCHLD: bit 16 of the mask.
TEST_F(init_command_test, sigchld_that_was_ignored_is_ignored_for_the_command) {
    const auto ignored = [&](words line) {
        const words rest = run_words({}, {"grep", "SigIgn", "/proc/self/status"});
        line.insert(line.end(), rest.begin(), rest.end());
        program p{line, here()};
        const std::string out = p.finish().out;
        return (std::stoull(out.substr(out.find('\t') + 1), nullptr, 16) >> (SIGCHLD - 1)) & 1U;
    };
    EXPECT_EQ(ignored({"/usr/bin/env", "--ignore-signal=CHLD"}), 1u);
    EXPECT_EQ(ignored({"/usr/bin/env"}), 0u);
}

}  // namespace
