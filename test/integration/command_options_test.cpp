// SPDX-License-Identifier: BSL-1.0
// The options of `conch run`, what its command finds, and what it says.
#include "support/command_fixture.hpp"

#include <signal.h>
#include <sys/stat.h>

#include <fstream>

namespace {

using namespace conch;
using namespace conch::test;

class options_command_test : public command_fixture {
protected:
    ended with(const words& arguments, program::environment variables) const {
        variables.emplace("CONCH_REDIS", url());
        program p{conch(arguments), variables};
        return p.finish();
    }
    void expect_end_of_wait(int signal) {
        take_as_stranger(raw, "lock");
        program p{run_words({}, {"echo", "ran"}), here()};
        ASSERT_TRUE(waiter_listens());
        p.signal(signal);
        const ended& end = p.finish();
        EXPECT_EQ(end.status, 128 + signal);
        EXPECT_EQ(end.out, "");
        EXPECT_TRUE(run_until(io, [&] { return listening("lock", 0); }));
        EXPECT_EQ(raw.hlen("lock"), 1);
    }
};

TEST_F(options_command_test, a_string_is_run_by_the_users_shell) {
    const ended end = with({"run", "lock", "-c", "echo \"$0\" && exit 4"}, {{"SHELL", "/bin/sh"}});
    EXPECT_EQ(end.status, 4);
    EXPECT_EQ(end.out, "/bin/sh\n");
    const ended bash = with({"run", "lock", "-c", "echo $BASH"}, {{"SHELL", "/bin/bash"}});
    EXPECT_EQ(bash.out, "/bin/bash\n");
}

TEST_F(options_command_test, a_string_is_run_by_sh_where_no_shell_is_set) {
    EXPECT_EQ(with({"run", "lock", "-c", "echo \"$0\""}, {{"SHELL", ""}}).out, "/bin/sh\n");
}

TEST_F(options_command_test, the_string_may_come_before_the_name) {
    EXPECT_EQ(to_end({"run", "-c", "echo a; exit 3", "lock"}).status, 3);
    EXPECT_EQ(to_end({"run", "--command", "echo a", "lock"}).out, "a\n");
}

TEST_F(options_command_test, those_of_flock_for_an_exclusive_lock_are_taken_for_granted) {
    for (const char* option : {"-x", "-e", "--exclusive", "-xn", "-ew1"}) {
        const ended end = run_to_end({option}, {"echo", "a", option});
        EXPECT_EQ(end.status, 0) << end.err;
        EXPECT_EQ(end.out, "a " + std::string{option} + '\n') << "the command has its own";
        EXPECT_EQ(end.err, "");
    }
}

TEST_F(options_command_test, readers_share_a_lock_and_a_writer_has_it_alone) {
    for (const char* option : {"-s", "--shared"}) {
        program one{run_words({option}, until_end_of_input), here()};
        one.wait_for("in\n");
        EXPECT_EQ(run_to_end({option, "-n"}, {"echo", "beside"}).out, "beside\n");
        EXPECT_EQ(run_to_end({"--rw", "-n"}, {"true"}).status, 1);
        expect_in("lock: read-write lock, read by 1\n", to_end({"status", "--rw", "lock"}).out);
        one.end_input();
        EXPECT_EQ(one.finish().status, 0);
        program writer{run_words({"--rw"}, until_end_of_input), here()};
        writer.wait_for("in\n");
        EXPECT_EQ(run_to_end({option, "-n"}, {"true"}).status, 1);
        expect_in("lock: read-write lock, written\n", to_end({"status", "--rw", "lock"}).out);
        writer.end_input();
        EXPECT_EQ(writer.finish().status, 0);
    }
    EXPECT_FALSE(raw.exists("lock"));
}

TEST_F(options_command_test, a_fair_lock_serves_who_came_first) {
    program one{run_words({"--fair"}, until_end_of_input), here()};
    one.wait_for("in\n");
    EXPECT_EQ(run_to_end({"--fair", "-n"}, {"true"}).status, 1);
    program two{run_words({"--fair"}, {"echo", "served"}), here()};
    const auto stands = [&] {
        return raw.must({"LLEN", "redisson_lock_queue:{lock}"}).number == 1;
    };
    EXPECT_TRUE(run_until(io, stands));
    one.end_input();
    EXPECT_EQ(one.finish().status, 0);
    EXPECT_EQ(two.finish().out, "served\n");
    EXPECT_FALSE(raw.exists("lock"));
}

TEST_F(options_command_test, a_read_write_lock_refuses_what_it_does_not_have) {
    for (const words& options :
         {words{"-s", "--fenced"}, words{"--rw", "--fenced"}, words{"-s", "--plain"},
          words{"-s", "-x"}, words{"--fair", "--rw"}, words{"--fair", "--plain"},
          words{"--rw", "--redis", "redis://a", "--redis", "redis://b"}}) {
        const ended end = run_to_end(options, {"true"});
        EXPECT_EQ(end.status, 64) << end.err;
        expect_one_line(end.err);
    }
}

TEST_F(options_command_test, others_of_flock_are_refused_with_the_reason) {
    const std::pair<words, const char*> answers[]{
        {{"-u", "--unlock"}, ": a lock ends with its command"},
        {{"-o", "--close"}, ": the command never gets a descriptor of the lock"}};
    for (const auto& [options, answer] : answers) {
        for (const std::string& option : options) {
            const ended end = run_to_end({option}, {"true"});
            EXPECT_EQ(end.status, 64);
            expect_one_line(end.err);
            expect_in(option, end.err);
            expect_in(answer, end.err);
        }
    }
}

TEST_F(options_command_test, after_two_dashes_c_is_a_command_like_any_other) {
    const ended end = to_end({"run", "lock", "--", "-c", "true"});
    EXPECT_EQ(end.status, 127);
    expect_in("\"-c\"", end.err);
}

TEST_F(options_command_test, what_does_not_fit_together_is_64_and_one_line) {
    const std::vector<words> wrong{{"run", "lock", "-c"},
                                   {"run", "lock", "-c", "true", "false"},
                                   {"run", "lock", "-c", ""},
                                   {"run", "-c", "true", "lock", "false"},
                                   {"run", "-c", "true"},
                                   {"run", "lock", "-n", "true"},
                                   {"run", "-E", "256", "lock", "true"},
                                   {"run", "-E", "-1", "lock", "true"},
                                   {"run", "-E", "", "lock", "true"},
                                   {"run", "--lease", "2", "--grace", "1.01", "lock", "true"},
                                   {"run", "--grace", "-1", "lock", "true"},
                                   {"run", "--max-hold", "0", "lock", "true"},
                                   {"run", "--max-hold", "5", "--grace", "5", "lock", "true"},
                                   {"run", "--connect-timeout", "0", "lock", "true"},
                                   {"--redis", "unix:///none", "status", "lock"},
                                   {"hold"},
                                   {"hold", ""},
                                   {"hold", "lock", "true"},
                                   {"hold", "-c", "true", "lock"},
                                   {"hold", "-b", "-n", "-w", "1", "lock"},
                                   {"hold", "--grace", "16", "lock"},
                                   {"hold", "--kill=no", "lock"},
                                   {"help", "walk"},
                                   {"help", "run", "more"}};
    for (const words& w : wrong) {
        const ended end = to_end(w);
        EXPECT_EQ(end.status, 64) << ::testing::PrintToString(w);
        EXPECT_EQ(end.out, "");
        expect_one_line(end.err);
    }
    EXPECT_EQ(raw.calls("evalsha"), 0u);
}

TEST_F(options_command_test, an_option_after_the_name_is_told_where_it_belongs) {
    expect_in("options come before NAME", to_end({"run", "lock", "-w", "5", "true"}).err);
}

TEST_F(options_command_test, the_busy_status_can_be_chosen) {
    take_as_stranger(raw, "lock");
    EXPECT_EQ(run_to_end({"-n", "-E", "9"}, {"true"}).status, 9);
    EXPECT_EQ(run_to_end({"-w", "0.1", "--conflict-exit-code", "200"}, {"true"}).status, 200);
    EXPECT_EQ(run_to_end({"-n", "-E", "0"}, {"true"}).status, 0);
}

TEST_F(options_command_test, flocks_other_names_are_known) {
    take_as_stranger(raw, "lock");
    EXPECT_EQ(run_to_end({"--nb"}, {"true"}).status, 1);
    EXPECT_EQ(run_to_end({"--nonblock"}, {"true"}).status, 1);
    EXPECT_EQ(run_to_end({"--timeout", "0.1"}, {"true"}).status, 1);
    EXPECT_EQ(run_to_end({"-w0.1"}, {"true"}).status, 1);
}

TEST_F(options_command_test, the_command_finds_name_and_owner) {
    const ended end = with({"run", "lock", "sh", "-c",
                            "echo \"$CONCH_NAME $CONCH_OWNER ${CONCH_FENCE-unset}\"; "
                            "\"$0\" status lock",
                            CONCH_PROGRAM_PATH},
                           {{"CONCH_FENCE", "of an outer run"}});
    ASSERT_TRUE(end.out.starts_with("lock ")) << end.out;
    expect_in(" unset\n", end.out);
    const std::string owner = end.out.substr(5, end.out.find(' ', 5) - 5);
    expect_in("holder  " + owner + ":", end.out);
}

TEST_F(options_command_test, the_command_finds_its_fence) {
    const ended first = run_to_end({"--fenced"}, {"sh", "-c", "echo $CONCH_FENCE"});
    const ended second = run_to_end({"--fenced"}, {"sh", "-c", "echo $CONCH_FENCE"});
    EXPECT_GT(std::stoll(first.out), 0);
    EXPECT_GT(std::stoll(second.out), std::stoll(first.out));
    EXPECT_EQ(raw.get(fence_key_of("lock")).value_or("none") + '\n', second.out);
}

TEST_F(options_command_test, verbose_tells_whom_it_waits_for_and_when_it_is_its_turn) {
    program first{run_words({"-v"}, until_end_of_input), here()};
    first.wait_for("in\n");
    program second{run_words({"-v"}, {"true"}), here()};
    ASSERT_TRUE(waiter_listens());
    const std::string holder = raw.hgetall("lock").begin()->first;
    first.end_input();
    expect_in("waiting for \"lock\", held by " + holder + '\n', second.finish().err);
    expect_in("got \"lock\" after ", second.finish().err);
    expect_in("released \"lock\" after ", second.finish().err);
    EXPECT_EQ(first.finish().err.find("waiting"), std::string::npos);
}

TEST_F(options_command_test, sigterm_ends_the_waiting) { expect_end_of_wait(SIGTERM); }
TEST_F(options_command_test, sighup_ends_the_waiting) { expect_end_of_wait(SIGHUP); }
TEST_F(options_command_test, sigint_ends_the_waiting) { expect_end_of_wait(SIGINT); }

TEST_F(options_command_test, signals_reach_the_whole_group_of_the_command) {
    for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM}) {
        const std::string n = std::to_string(number);
        // What a shell starts in the background ignores SIGINT and SIGQUIT unless it traps them.
        const std::string inner =
            "trap 'kill -9 $!; echo inner; exit' " + n + "; tail -f /dev/null & echo in; wait";
        const std::string outer = "trap 'wait; exit 9' " + n + "; (" + inner + ") & wait";
        program p{run_words({}, {"bash", "-c", outer}), here()};
        p.wait_for("in\n");
        p.signal(number);
        const ended& end = p.finish();
        EXPECT_EQ(end.status, 9) << number;
        EXPECT_EQ(end.out, "in\ninner\n") << number;
    }
}

TEST_F(options_command_test, a_missing_interpreter_is_126) {
    const std::string file = folder.path() + "/script";
    std::ofstream{file} << "#!/none/such\n";
    ASSERT_EQ(::chmod(file.c_str(), 0700), 0);
    const ended end = run_to_end({}, {file});
    EXPECT_EQ(end.status, 126);
    expect_in("interpreter", end.err);
}

TEST_F(options_command_test, a_refused_connection_is_told_soon_and_by_its_url) {
    const auto start = clock::now();
    const ended end = to_end({"run", "lock", "true"}, "redis://user:s3cret@127.0.0.1:1/7");
    EXPECT_LT(clock::now() - start, 4s);  // the library itself is patient for 5 s
    EXPECT_EQ(end.status, 69);
    expect_in("redis://127.0.0.1:1/7", end.err);
    EXPECT_EQ(end.err.find("s3cret"), std::string::npos);
}

TEST_F(options_command_test, a_server_that_does_not_answer_is_told_in_the_given_time) {
    server.freeze();
    const auto start = clock::now();
    const ended end = run_to_end({"--connect-timeout", "0.2"}, {"true"});
    EXPECT_LT(clock::now() - start, 4s);
    EXPECT_EQ(end.status, 69);
}

TEST_F(options_command_test, a_long_connect_timeout_waits_for_a_server_to_come) {
    server.kill();
    program p{run_words({"--connect-timeout", "20"}, {"echo", "ran"}), here()};
    run([] { return pass(1s); });  // longer than it would wait by itself
    server.start();
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 0) << end.err;
    EXPECT_EQ(end.out, "ran\n");
}

TEST_F(options_command_test, a_grandchild_with_the_output_open_does_not_keep_it) {
    program p{run_words({}, {"sh", "-c", "tail -f /dev/null & echo $!"}), here()};
    const pid_t grandchild = std::stoi(p.wait_for("\n"));
    p.wait_for_exit();
    EXPECT_TRUE(is_alive(grandchild)) << "a command's end is no reason to end what it started";
    expect_free();
    ::kill(grandchild, SIGKILL);
    EXPECT_EQ(p.finish().status, 0);
}

TEST_F(options_command_test, the_lock_is_held_until_the_command_has_ended_of_a_signal) {
    program p{run_words({}, {"bash", "-c",
                             "trap 'kill -9 $!; echo term; read x; exit 6' TERM; "
                             "tail -f /dev/null & echo in; wait"}),
              here()};
    p.wait_for("in\n");
    p.signal(SIGTERM);
    p.wait_for("term\n");
    EXPECT_TRUE(raw.exists("lock"));
    p.type("\n");
    EXPECT_EQ(p.finish().status, 6);
    expect_free();
}

}  // namespace
