// SPDX-License-Identifier: BSL-1.0
// `conch run` and `conch status`, started as from a shell.
#include "support/program.hpp"
#include "support/redis_test.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <signal.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

using words = std::vector<std::string>;

/// A command that says that it runs, and ends with its input.
const words until_end_of_input{"sh", "-c", "echo in; exec cat"};

void expect_one_line(const std::string& text) {
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    EXPECT_TRUE(text.ends_with('\n')) << text;
}

void expect_in(const std::string& part, const std::string& text) {
    EXPECT_NE(text.find(part), std::string::npos) << '"' << part << "\" is not in: " << text;
}

/// $CONCH_REDIS names the test's server, unless a test says otherwise.
class command_test : public redis_test {
protected:
    static words conch(words arguments) {
        arguments.insert(arguments.begin(), CONCH_PROGRAM_PATH);
        return arguments;
    }
    /// conch run OPTION... lock -- COMMAND...
    static words run_words(const words& options, const words& command) {
        words all = conch({"run"});
        all.insert(all.end(), options.begin(), options.end());
        all.insert(all.end(), {"lock", "--"});
        all.insert(all.end(), command.begin(), command.end());
        return all;
    }
    program::environment here() const { return {{"CONCH_REDIS", server.url()}}; }
    std::string nowhere() const { return "unix://" + folder.path() + "/none.sock"; }

    ended run_to_end(const words& options, const words& command) const {
        program p{run_words(options, command), here()};
        return p.finish();
    }
    ended to_end(const words& arguments) const {
        program p{conch(arguments), here()};
        return p.finish();
    }
    ended to_end(const words& arguments, const std::string& url) const {
        program p{conch(arguments), {{"CONCH_REDIS", url}}};
        return p.finish();
    }
    bool waiter_listens() {
        return run_until(io, [&] { return listening("lock"); });
    }
    void expect_free() { EXPECT_EQ(raw.dbsize(), 0) << "something is left"; }

    temporary_folder folder{};
};

using run_command_test = command_test;
using status_command_test = command_test;

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

TEST_F(run_command_test, the_command_does_not_outlive_a_killed_conch) {
    program p{run_words({}, until_end_of_input), here()};
    p.wait_for("in\n");
    p.signal(SIGKILL);
    EXPECT_EQ(p.finish().signal, SIGKILL);  // and nobody has the output open any more
}

TEST_F(run_command_test, a_lost_hold_ends_the_command_and_is_75) {
    program p{run_words({"--lease", "1"}, until_end_of_input), here()};
    p.wait_for("in\n");
    raw.must({"DEL", "lock"});
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 75);
    expect_one_line(end.err);
    expect_in("ended with status 143", end.err);
}

TEST_F(run_command_test, a_command_that_ignores_sigterm_is_killed_when_the_hold_is_lost) {
    program p{run_words({"--lease", "1"}, {"sh", "-c", "trap '' TERM; echo in; exec cat"}), here()};
    p.wait_for("in\n");
    raw.must({"DEL", "lock"});
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 75);
    expect_in("ended with status 137", end.err);
}

TEST_F(run_command_test, a_frozen_server_ends_the_command_before_the_lease) {
    program p{run_words({"--lease", "2"}, {"sh", "-c", "echo $$; exec cat"}), here()};
    const pid_t command = std::stoi(p.wait_for("\n"));
    server.freeze();
    const auto frozen = clock::now();
    EXPECT_TRUE(run_until(io, [&] { return ::kill(command, 0) != 0; }));
    EXPECT_LT(clock::now() - frozen, 2s);
    EXPECT_EQ(p.finish().status, 75);
}

TEST_F(run_command_test, without_redis_it_is_69_and_one_line) {
    const ended end = to_end({"run", "lock", "echo", "ran"}, nowhere());
    EXPECT_EQ(end.status, 69);
    EXPECT_EQ(end.out, "");
    expect_one_line(end.err);
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

/// The answer of `conch status --json NAME`.
boost::json::object parsed(const ended& end) {
    EXPECT_EQ(end.status, 0) << end.err;
    expect_one_line(end.out);
    return boost::json::parse(end.out).as_object();
}

TEST_F(status_command_test, a_free_lock_is_told_in_text) {
    const ended end = to_end({"status", "lock"});
    EXPECT_EQ(end.status, 0);
    EXPECT_EQ(end.out, "lock: free\n");
}

TEST_F(status_command_test, a_held_lock_is_told_in_text_with_its_holder) {
    take_as_stranger(raw, "lock");
    const ended end = to_end({"status", "lock"});
    EXPECT_EQ(end.status, 0);
    expect_in("lock: locked\n", end.out);
    expect_in(raw.hgetall("lock").begin()->first, end.out);
}

TEST_F(status_command_test, a_free_lock_in_json) {
    const auto o = parsed(to_end({"status", "--json", "lock"}));
    EXPECT_EQ(o, (boost::json::object{{"name", "lock"},
                                      {"locked", false},
                                      {"holder", ""},
                                      {"depth", 0},
                                      {"ttl_ms", nullptr},
                                      {"fence", 0}}));
}

TEST_F(status_command_test, a_held_lock_in_json) {
    take_as_stranger(raw, "lock");
    take_as_stranger(raw, "lock", 20s);
    raw.must({"SET", token_key_of("lock"), "1789"});
    auto o = parsed(to_end({"status", "lock", "--json"}));
    const std::int64_t ttl = o.at("ttl_ms").as_int64();
    EXPECT_GT(ttl, 10'000);
    EXPECT_LE(ttl, 20'000);
    o.erase("ttl_ms");
    EXPECT_EQ(o, (boost::json::object{{"name", "lock"},
                                      {"locked", true},
                                      {"holder", raw.hgetall("lock").begin()->first},
                                      {"depth", 2},
                                      {"fence", 1789}}));
}

TEST_F(status_command_test, the_holder_is_a_conch_run) {
    program p{run_words({}, until_end_of_input), here()};
    p.wait_for("in\n");
    const auto o = parsed(to_end({"status", "--json", "lock"}));
    EXPECT_TRUE(o.at("locked").as_bool());
    EXPECT_EQ(o.at("holder").as_string(), raw.hgetall("lock").begin()->first);
    EXPECT_EQ(o.at("depth").as_int64(), 1);
}

TEST_F(status_command_test, control_characters_do_not_reach_the_terminal) {
    const ended end = to_end({"status", "a\033[2Jb\n"});
    EXPECT_EQ(end.out, "a?[2Jb?: free\n");
}

TEST_F(status_command_test, output_that_cannot_be_written_is_74) {
    program p{{"/bin/sh", "-c", "exec \"$0\" status lock >/dev/full", CONCH_PROGRAM_PATH}, here()};
    EXPECT_EQ(p.finish().status, 74);
}

TEST_F(status_command_test, without_redis_it_is_69_and_one_line) {
    const ended end = to_end({"status", "lock"}, nowhere());
    EXPECT_EQ(end.status, 69);
    EXPECT_EQ(end.out, "");
    expect_one_line(end.err);
}

TEST_F(status_command_test, conch_redis_names_the_server) {
    take_as_stranger(raw, "lock");
    expect_in("locked", to_end({"status", "lock"}, server.url()).out);
}

TEST_F(status_command_test, the_option_wins_over_conch_redis) {
    const cli::private_redis other;
    take_as_stranger(raw, "lock");
    expect_in("locked", to_end({"status", "--redis", server.url(), "lock"}, other.url()).out);
    expect_in("free", to_end({"status", "--redis", other.url(), "lock"}, server.url()).out);
}

TEST_F(status_command_test, a_url_of_another_scheme_is_64_and_one_line) {
    for (const char* url : {"http://127.0.0.1", "rediss://127.0.0.1", "127.0.0.1:6379"}) {
        const ended end = to_end({"status", "--redis", url, "lock"});
        EXPECT_EQ(end.status, 64) << url;
        expect_one_line(end.err);
        EXPECT_EQ(to_end({"status", "lock"}, url).status, 64) << url;
    }
}

TEST_F(status_command_test, a_missing_name_is_64) {
    EXPECT_EQ(to_end({"status"}).status, 64);
    EXPECT_EQ(to_end({"status", "one", "two"}).status, 64);
}

TEST_F(command_test, the_password_of_a_url_is_never_told) {
    const cli::private_redis closed{{.tcp = true, .arguments = {"--requirepass", "right"}}};
    const std::string port = std::to_string(closed.port());
    const std::string user = "://user:s3cret@127.0.0.1:";
    const words urls{"redis" + user + port,  "redis://:s3cret@127.0.0.1:" + port,
                     "redis" + user + "1",   "redis" + user + "99999",
                     "redis" + user + "1/x", "http" + user + "1",
                     "redis" + user + "1 2", "s3cret"};
    std::deque<program> all;  // at the same time: some try for seconds
    for (const std::string& url : urls) {
        for (const words& w : {words{"status", "lock"}, words{"run", "lock", "true"},
                               words{"demo", "--redis", url, "--processes", "1"}}) {
            all.emplace_back(conch(w), program::environment{{"CONCH_REDIS", url}});
        }
    }
    for (program& p : all) {
        const ended& end = p.finish();
        EXPECT_TRUE(end.status == 64 || end.status == 69) << ::testing::PrintToString(end);
        EXPECT_EQ((end.out + end.err).find("s3cret"), std::string::npos)
            << ::testing::PrintToString(end);
    }
}

}  // namespace
