// SPDX-License-Identifier: BSL-1.0
// `conch run --progress-within SECS`: a command that is stuck loses its lock.
#include "core/sanitizer.hpp"
#include "support/command_fixture.hpp"

#include <chrono>
#include <csignal>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

class progress_command_test : public command_fixture {
protected:
    static inline const words within{"--progress-within", "1", "--lease", "6", "--grace", "3"};

    static void expect_lost(const ended& end) {
        EXPECT_EQ(end.status, 75);
        expect_one_line(end.err);
        expect_in("the command reported no progress for 1", end.err);
    }
    /// Its input is what it reports.
    static inline const words reports{"sh", "-c", "echo in; exec cat >&$CONCH_PROGRESS_FD"};
    void report(program& p, std::chrono::milliseconds time) {
        using clock = std::chrono::steady_clock;
        for (const auto end = clock::now() + time; clock::now() < end;) {
            p.type("x");
            const auto soon = clock::now() + 50ms;
            run_until(io, [&] { return clock::now() >= soon; });
        }
    }
};

TEST_F(progress_command_test, a_command_that_writes_keeps_its_lock) {
    program p{run_words(within, reports), here()};
    p.wait_for("in\n");
    report(p, 7s);
    EXPECT_TRUE(raw.exists("lock"));
    p.end_input();
    EXPECT_EQ(p.finish().status, 0) << p.finish().err;
    expect_free();
}

TEST_F(progress_command_test, a_silent_command_loses_it_to_another) {
    program p{run_words(within, {"sh", "-c", "echo in; exec tail -f /dev/null"}), here()};
    p.wait_for("in\n");
    EXPECT_EQ(run_to_end({"-w", "60"}, {"echo", "ran"}).out, "ran\n");
    expect_lost(p.finish());
}

TEST_F(progress_command_test, a_command_that_falls_silent_loses_it) {
    program p{run_words(within, reports), here()};
    p.wait_for("in\n");
    report(p, 1s);
    expect_lost(p.finish());
}

TEST_F(progress_command_test, a_command_that_closes_it_is_silent) {
    program p{run_words(within, {"bash", "-c",
                                 "exec {CONCH_PROGRESS_FD}>&-; echo in; exec tail -f /dev/null"}),
              here()};
    p.wait_for("in\n");
    expect_lost(p.finish());
}

TEST_F(progress_command_test, a_leader_that_is_silent_may_report_when_it_leads_again) {
    program p{
        run_words({"--lead", "--progress-within", "1", "--lease", "6", "--grace", "3"},
                  {"sh", "-c", "echo in $CONCH_PROGRESS_FD; read x; echo >&$CONCH_PROGRESS_FD"}),
        here()};
    p.wait_for("in 3\nin 3\n");
    p.type("x\n");
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 0) << end.err;
    expect_in("reported no progress", end.err);
}

// In a session of its own it outlives the first lead; it reports for that one alone.
TEST_F(progress_command_test, who_is_left_of_a_lead_does_not_report_for_the_next) {
    const std::string once = folder.path() + "/once";
    program p{run_words({"--lead", "--progress-within", "1", "--lease", "6", "--grace", "3"},
                        {"bash", "-c",
                         "exec 4<&0\n"
                         "if ! [ -e " +
                             once +
                             " ]; then setsid cat <&4 >&$CONCH_PROGRESS_FD & fi\n"
                             "echo >" +
                             once + "; echo in; exec tail -f /dev/null"}),
              here()};
    p.wait_for("in\n");
    raw.must({"DEL", "lock"});
    report(p, 12s);
    p.wait_for_error("the command reported no progress for 1", 100ms);
}

TEST_F(progress_command_test, who_is_left_when_conch_has_ended_may_write_to_it) {
    program p{run_words({"--progress-within", "60"},
                        {"bash", "-c",
                         "exec 4<&0; (read x <&4; echo >&$CONCH_PROGRESS_FD; echo wrote $?) &"}),
              here()};
    p.wait_for_exit();
    p.type("x\n");
    EXPECT_EQ(p.finish().out, "wrote 0\n");
}

TEST_F(progress_command_test, much_is_read_as_well) {
    const ended end = run_to_end({"--progress-within", "60"},
                                 {"sh", "-c", "head -c 1000000 /dev/zero >&$CONCH_PROGRESS_FD"});
    EXPECT_EQ(end.status, 0) << end.err;
    expect_free();
}

TEST_F(progress_command_test, a_command_without_it_gets_no_descriptor) {
    const std::string list = "ls /proc/self/fd | wc -w; echo ${CONCH_PROGRESS_FD-none}";
    const ended with = run_to_end({"--progress-within", "60"}, {"sh", "-c", list});
    const ended without = run_to_end({}, {"sh", "-c", list});
    EXPECT_EQ(without.out, "4\nnone\n");
    EXPECT_EQ(with.out, "5\n3\n");
}

TEST_F(progress_command_test, what_can_not_be_kept_is_refused) {
    EXPECT_EQ(run_to_end({"--progress-within", "0"}, {"echo", "ran"}).status, 64);
    EXPECT_EQ(run_to_end({"--progress-within", "soon"}, {"echo", "ran"}).status, 64);
    expect_free();
}

// One descriptor too few to open /proc/self/fd/N.
TEST_F(progress_command_test, a_system_that_can_not_make_its_pipe_tells_before_the_lock_is_taken) {
    if (core::address_sanitizer) {
        GTEST_SKIP() << "UBSan needs descriptors of its own to look at what is thrown";
    }
    words line{"/bin/sh", "-c", "ulimit -n 5; exec \"$@\"", "sh"};
    const words run = run_words({"--progress-within", "60"}, {"echo", "ran"});
    line.insert(line.end(), run.begin(), run.end());
    program p{line, {{"CONCH_REDIS", nowhere()}}};
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 71);
    EXPECT_EQ(end.out, "");
    expect_one_line(end.err);
    expect_in("/proc/self/fd/4", end.err);
}

TEST_F(progress_command_test, a_command_that_can_not_be_run_is_told_as_ever) {
    EXPECT_EQ(run_to_end({"--progress-within", "60"}, {"/no/such/command"}).status, 127);
    expect_free();
}

}  // namespace
