// SPDX-License-Identifier: BSL-1.0
// `conch run` and `conch rate` on a terminal: whose turn it is to read, Ctrl-C, Ctrl-Z.
#include "support/command_fixture.hpp"
#include "support/terminal_session.hpp"

#include <signal.h>

#include <chrono>

namespace {

using namespace conch::test;

class terminal_command_test : public command_fixture {
protected:
    void SetUp() override {
        if (!terminal_session::possible()) {
            GTEST_SKIP() << "no pseudo-terminals here";
        }
    }
    /// A script that finds the program as $conch; the shell leads the session.
    terminal_session script(const std::string& text) const {
        return terminal_session{{"/bin/bash", "-c", text}, variables()};
    }
    /// A shell with job control, at its prompt.
    terminal_session shell() const {
        return terminal_session{{"/bin/bash", "--norc", "--noprofile", "--noediting", "-i"},
                                variables()};
    }
    program::environment variables() const {
        return {{"CONCH_REDIS", url()},
                {"conch", CONCH_PROGRAM_PATH},
                {"LC_ALL", "C"},
                {"HISTFILE", ""}};
    }
    bool has_terminal(const terminal_session& t, pid_t group) {
        return run_until(io, [&] { return t.foreground() == group; });
    }
    /// The number that the command tells between two words.
    static pid_t told(terminal_session& t) {
        t.wait_for("pid<");
        return std::stoi(t.wait_for(">"));
    }
};

TEST_F(terminal_command_test, the_command_has_the_terminal) {
    terminal_session t = script("$conch run lock -- sh -c 'echo \"pid<$$>\"; exec cat'");
    const pid_t command = told(t);
    EXPECT_EQ(t.foreground(), command);
    t.type("typed\n");
    t.wait_for("typed");  // the terminal's echo
    t.wait_for("typed");  // cat's
    t.type("\x04");
    EXPECT_EQ(t.finish().status, 0);
}

TEST_F(terminal_command_test, the_terminal_comes_back_when_the_command_has_ended) {
    terminal_session t = script("$conch run lock true; echo ended; read x; echo \"<$x>\"; exit 3");
    t.wait_for("ended");
    EXPECT_EQ(t.foreground(), t.pid());
    t.type("typed\n");
    t.wait_for("<typed>");
    EXPECT_EQ(t.finish().status, 3);
}

TEST_F(terminal_command_test, the_terminal_comes_back_from_a_killed_command) {
    terminal_session t =
        script("$conch run lock -- sh -c 'echo \"pid<$$>\"; exec cat'; echo \"st=$?\"; read x");
    ::kill(told(t), SIGKILL);
    t.wait_for("st=137");
    EXPECT_EQ(t.foreground(), t.pid());
    t.type("\n");
    t.finish();
}

TEST_F(terminal_command_test, the_terminal_comes_back_from_a_command_that_cannot_run) {
    terminal_session t = script("$conch run lock /none; echo \"st=$?\"; read x");
    t.wait_for("st=127");
    EXPECT_EQ(t.foreground(), t.pid());
    t.type("\n");
    t.finish();
}

TEST_F(terminal_command_test, ctrl_c_is_the_commands_to_handle) {
    terminal_session t = script(
        "$conch run lock -- sh -c 'trap \"echo got; exit 5\" INT; echo in; while :; do read x; "
        "done'; echo \"st=$?\"");
    t.wait_for("in");
    t.type("\x03");
    t.wait_for("got");
    t.wait_for("st=5");
    t.finish();
    expect_free();
}

TEST_F(terminal_command_test, ctrl_c_ends_the_script_with_the_command) {
    terminal_session t =
        script("for i in 1 2; do $conch run lock -- sh -c 'echo in; exec cat'; done; echo after");
    t.wait_for("in");
    t.type("\x03");
    const ended end = t.finish();
    EXPECT_EQ(end.signal, SIGINT) << end.out;
    EXPECT_EQ(end.out.find("after"), std::string::npos) << end.out;
    EXPECT_EQ(end.out.find("in\r\n"), end.out.rfind("in\r\n")) << "the loop went on: " << end.out;
    expect_free();
}

TEST_F(terminal_command_test, ctrl_c_ends_the_script_with_the_waiting) {
    take_as_stranger(raw, "lock");
    terminal_session t = script("for i in 1 2; do $conch run lock echo ran; done; echo after");
    ASSERT_TRUE(waiter_listens());
    t.type("\x03");
    const ended end = t.finish();
    EXPECT_EQ(end.signal, SIGINT) << end.out;
    EXPECT_EQ(end.out.find("after"), std::string::npos) << end.out;
}

TEST_F(terminal_command_test, ctrl_c_ends_the_script_with_the_waiting_for_a_permit) {
    const std::string rate = "$conch rate --limit 1 --per 3600 -v -w 3700 name ";
    terminal_session t =
        script(rate + "true; for i in 1 2; do " + rate + "echo ran; done; echo survived");
    t.wait_for("waiting for");
    t.type("\x03");
    const ended end = t.finish();
    EXPECT_EQ(end.signal, SIGINT) << end.out;
    EXPECT_EQ(end.out.find("survived"), std::string::npos) << end.out;
}

TEST_F(terminal_command_test, ctrl_z_stops_the_job_and_fg_continues_it) {
    terminal_session t = shell();
    t.type("$conch run lock -- sh -c 'echo \"pid<$$>\"; exec cat'\n");
    t.wait_for("pid<$$>");  // the echo of the line
    const pid_t command = told(t);
    ASSERT_TRUE(has_terminal(t, command));
    t.type("\x1a");
    t.wait_for("Stopped");
    ASSERT_TRUE(has_terminal(t, t.pid()));
    EXPECT_TRUE(raw.exists("lock"));
    t.type("fg\n");
    ASSERT_TRUE(has_terminal(t, command));
    t.type("more\n");
    t.wait_for("more");
    t.wait_for("more");
    t.type("\x04");
    ASSERT_TRUE(has_terminal(t, t.pid()));
    t.type("echo \"st=$?\"\n");
    t.wait_for("st=0");
    expect_free();
}

TEST_F(terminal_command_test, a_command_continued_after_its_lease_is_ended) {
    terminal_session t = shell();
    t.type("$conch run --lease 1 lock -- sh -c 'echo \"pid<$$>\"; exec cat'\n");
    t.wait_for("pid<$$>");
    const pid_t command = told(t);
    ASSERT_TRUE(has_terminal(t, command));
    t.type("\x1a");
    t.wait_for("Stopped");
    ASSERT_TRUE(run_until(io, [&] { return !raw.exists("lock"); }));
    take_as_stranger(raw, "lock");
    t.type("fg\n");
    ASSERT_TRUE(has_terminal(t, t.pid()));
    t.type("echo \"st=$?\"\n");
    t.wait_for("st=75");
    EXPECT_FALSE(is_alive(command));
}

TEST_F(terminal_command_test, a_command_that_is_silent_after_a_stop_is_told_to_be) {
    terminal_session t = shell();
    t.type(
        "$conch run --lease 9 --grace 2 --progress-within 6 lock -- "
        "sh -c 'echo \"pid<$$>\"; exec cat'\n");
    t.wait_for("pid<$$>");
    ASSERT_TRUE(has_terminal(t, told(t)));
    t.type("\x1a");
    t.wait_for("Stopped");
    const auto is_silent_at_the_next_renewal = [&] {
        const auto left = raw.must({"PTTL", "lock"}).number;
        return left > 0 && left < 5500;
    };
    ASSERT_TRUE(run_until(io, is_silent_at_the_next_renewal));
    const auto continued = std::chrono::steady_clock::now();
    t.type("fg\n");
    t.wait_for("the command reported no progress");
    // A renewal after 3 s, as it is not silent by then, and 2 s before the end of that lease.
    const auto took = std::chrono::steady_clock::now() - continued;
    EXPECT_GE(took, 8500ms) << "to be continued counts as a report";
    t.type("echo \"st=$?\"\n");
    t.wait_for("st=75");
}

TEST_F(terminal_command_test, a_stopped_command_whose_lock_was_taken_does_not_go_on) {
    terminal_session t = shell();
    t.type(
        "$conch run lock -- bash -c 'trap \"echo awake\" CONT; echo \"pid<$$>\"; "
        "while :; do read x; done'\n");
    t.wait_for("pid<$$>");
    ASSERT_TRUE(has_terminal(t, told(t)));
    t.type("\x1a");
    t.wait_for("Stopped");
    raw.must({"DEL", "lock"});
    take_as_stranger(raw, "lock");
    t.type("fg\n");
    t.wait_for("fg\r\n");
    ASSERT_TRUE(has_terminal(t, t.pid()));
    t.type("echo \"st=$?\"\n");
    const std::string shown = t.wait_for("st=75");
    EXPECT_EQ(shown.find("\nawake"), std::string::npos) << shown;
}

/// Many processes, so that it takes a moment to signal all. SIGTERM ends none; each tells when it
/// goes on.
const std::string sleepers =
    "bash -c 'trap \"\" TERM; for i in {1..40}; do "
    "(trap \"echo awake\" CONT; while :; do :; done) & done; echo \"pid<$$>\"; wait'";

/// Stopped by Ctrl-Z until the lease is over and another one runs under the lock, and continued by
/// SIGCONT then.
class overslept_command_test : public terminal_command_test {
protected:
    void stop(terminal_session& t) {
        t.type("$conch run --lease 2 lock -- " + sleepers + "\n");
        t.wait_for("pid<$$>");
        command = told(t);
        runner = child_named(t.pid(), "conch");
        ASSERT_GT(runner, 0);
        ASSERT_TRUE(has_terminal(t, command));
        t.type("\x1a");
        t.wait_for("Stopped");
        ASSERT_TRUE(run_until(io, [&] { return process_state(runner) == 'T'; }));
        ASSERT_TRUE(process_state(command) == 'T');
    }
    /// What the screen shows from then on, up to the exit status.
    static std::string continued(terminal_session& t) {
        t.type("kill -CONT %1; wait %1; echo \"st=$?\"\n");
        t.wait_for("st=$?");
        return t.wait_for("st=75");
    }
    static void expect_slept(const std::string& shown) {
        EXPECT_EQ(shown.find("\nawake"), std::string::npos) << shown;
    }

    pid_t command = -1;
    pid_t runner = -1;
};

TEST_F(overslept_command_test, is_ended_by_the_guardian_while_conch_is_still_stopped) {
    terminal_session t = shell();
    ASSERT_NO_FATAL_FAILURE(stop(t));
    program next{run_words({}, until_end_of_input), here()};
    next.wait_for("in\n");
    EXPECT_TRUE(has_ended(command));
    EXPECT_EQ(process_state(runner), 'T');
    const std::string holder = raw.must({"HKEYS", "lock"}).items.at(0).text;
    expect_slept(continued(t));
    EXPECT_EQ(raw.must({"HKEYS", "lock"}).items.at(0).text, holder);
    next.end_input();
    EXPECT_EQ(next.finish().status, 0);
    expect_free();
}

TEST_F(overslept_command_test, is_ended_asleep_by_conch_where_the_guardian_is_gone) {
    terminal_session t = shell();
    ASSERT_NO_FATAL_FAILURE(stop(t));
    const pid_t guardian = guardian_of(runner);
    ASSERT_GT(guardian, 0);
    ::kill(guardian, SIGKILL);
    program next{run_words({}, until_end_of_input), here()};
    next.wait_for("in\n");
    EXPECT_EQ(process_state(command), 'T') << "nobody is there that could end it";
    expect_slept(continued(t));
    EXPECT_FALSE(is_alive(command));
    next.end_input();
    EXPECT_EQ(next.finish().status, 0);
    expect_free();
}

TEST_F(terminal_command_test, a_command_in_the_background_stops_when_it_reads_and_gets_it_by_fg) {
    terminal_session t = shell();
    t.type("$conch run lock -- sh -c 'echo \"pid<$$>\"; exec cat' &\n");
    t.wait_for("pid<$$>");
    const pid_t command = told(t);
    t.type("echo \"pid<$!>\"\n");
    t.wait_for("pid<$!>");
    const pid_t runner = told(t);
    ASSERT_TRUE(run_until(io, [&] { return process_state(runner) == 'T'; }));
    EXPECT_EQ(t.foreground(), t.pid());
    t.type("fg\n");
    ASSERT_TRUE(has_terminal(t, command));
    t.type("more\n");
    t.wait_for("more\r\n");
    t.wait_for("more\r\n");
}

// The session's leader has no shell above it that could continue it.
TEST_F(terminal_command_test, ctrl_z_without_a_shell_stops_nothing_for_good) {
    terminal_session t{run_words({}, {"sh", "-c", "echo \"pid<$$>\"; exec cat"}), variables()};
    ASSERT_TRUE(has_terminal(t, told(t)));
    t.type("\x1a");
    t.wait_for("stopped");
    t.type("more\n");
    t.wait_for("more\r\n");
    t.wait_for("more\r\n");
    t.type("\x04");
    EXPECT_EQ(t.finish().status, 0);
}

TEST_F(terminal_command_test, in_a_pipeline_the_neighbour_keeps_the_terminal) {
    terminal_session t = script(
        "$conch run lock sh -c 'echo in; read x < /dev/null; cat >/dev/null' </dev/null | "
        "sh -c 'read x; echo \"$x\"; read y < /dev/tty; echo \"<$y>\"'");
    t.wait_for("in");
    t.type("key\n");
    t.wait_for("<key>");
    EXPECT_EQ(t.finish().status, 0);
}

TEST_F(terminal_command_test, in_a_pipeline_the_command_gets_the_terminal_when_it_reads) {
    terminal_session t =
        script("$conch run lock sh -c 'read x; echo \"<$x>\"' | cat; echo after; read y");
    t.type("key\n");
    t.wait_for("<key>");
    t.wait_for("after");
    EXPECT_EQ(t.foreground(), t.pid());
    t.type("\n");
    t.finish();
}

TEST_F(terminal_command_test, a_hold_lost_on_the_terminal_is_75_and_gives_it_back) {
    terminal_session t = script(
        "$conch run --lease 1 lock -- sh -c 'echo \"pid<$$>\"; exec cat'; echo \"st=$?\"; read x");
    ASSERT_TRUE(has_terminal(t, told(t)));
    raw.must({"DEL", "lock"});
    t.wait_for("st=75");
    EXPECT_EQ(t.foreground(), t.pid());
    t.type("\n");
    t.finish();
}

}  // namespace
