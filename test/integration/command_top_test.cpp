// SPDX-License-Identifier: BSL-1.0
// `conch top` on a terminal: what it draws, and how it leaves the terminal.
#include "core/sanitizer.hpp"
#include "integration/list_rights.hpp"
#include "support/command_fixture.hpp"
#include "support/terminal_session.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

namespace {

using namespace conch::test;

constexpr const char* entered = "\033[?1049h";
/// Colours, the columns' end, the cursor, the screen: as on any terminal.
constexpr const char* left = "\033[0m\033[?7h\033[?25h\033[?1049l";

class top_command_test : public command_fixture {
protected:
    void SetUp() override {
        if (!terminal_session::possible()) {
            GTEST_SKIP() << "no pseudo-terminals here";
        }
    }
    program::environment variables() const {
        return {{"CONCH_REDIS", url()},
                {"conch", CONCH_PROGRAM_PATH},
                {"TERM", "xterm"},
                {"LC_ALL", "C"},
                {"HISTFILE", ""}};
    }
    /// The terminal's modes are told before and after.
    terminal_session top() const { return top(variables()); }
    static terminal_session top(const program::environment& with) {
        return terminal_session{
            {"/bin/bash", "-c",
             "trap : QUIT; echo \"modes<$(stty -g)>\"; $conch top --interval 0.5; echo \"st<$?>\"; "
             "echo \"modes<$(stty -g)>\""},
            with};
    }
    static pid_t top_in(const terminal_session& t) {
        const pid_t found = child_named(t.pid(), "conch");
        return found > 0 ? found : throw std::runtime_error{"conch top is not there"};
    }
    static std::string modes(terminal_session& t) {
        t.wait_for("modes<");
        return t.wait_for(">");
    }
};

TEST_F(top_command_test, draws_the_locks_obeys_keys_and_the_size_and_leaves_all_as_it_was) {
    take_as_stranger(raw, "orders:7");
    take_as_stranger(raw, "customers:7");
    terminal_session t = top();
    const std::string before = modes(t);
    t.wait_for(entered);
    t.wait_for("2 locks, 2 shown, by waiting");
    t.wait_for("customers:7");
    t.wait_for("orders:7");
    t.type("n/orders\n");
    t.wait_for("2 locks, 1 shown, by name");
    t.type("\n");
    t.wait_for("orders:7: mutex, locked");
    t.type("\x1b");
    t.wait_for("2 locks, 1 shown");
    t.resize(40, 6);
    t.wait_for("\033[1mq quit  ? help  w/t/n sort  / filter\033");
    const std::string quit = "\033[1mq quit  ? help  w/t/n sort  / filter  p pause  Enter look";
    t.resize(80, 30);
    t.wait_for(quit);
    raw.must({"DEL", "orders:7"});
    t.wait_for("1 lock, 0 shown");
    t.type("q");
    t.wait_for(left);
    t.wait_for("st<0>");
    EXPECT_EQ(modes(t), before);
    t.finish();
}

TEST_F(top_command_test, leaves_all_as_it_was_when_a_signal_ends_it) {
    const std::map<int, std::string> typed{{SIGINT, "\x03"}, {SIGQUIT, "\x1c"}};
    for (const int signal :
         {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE, SIGIO, SIGPROF,
          SIGVTALRM, SIGSTKFLT, SIGPWR, SIGXCPU, SIGXFSZ, SIGRTMIN, SIGRTMAX}) {
        SCOPED_TRACE(signal);
        terminal_session t = top();
        const std::string before = modes(t);
        t.wait_for(entered);
        if (const auto keys = typed.find(signal); keys != typed.end()) {
            t.type(keys->second);
        } else {
            ASSERT_EQ(::kill(top_in(t), signal), 0);
        }
        t.wait_for(left);
        t.wait_for("st<" + std::to_string(128 + signal) + '>');
        EXPECT_EQ(modes(t), before);
        t.finish();
    }
}

TEST_F(top_command_test, leaves_all_as_it_was_when_its_memory_is_over) {
    if (conch::core::address_sanitizer || conch::core::thread_sanitizer) {
        GTEST_SKIP() << "a sanitizer has memory of its own";
    }
    terminal_session t = top();
    const std::string before = modes(t);
    t.wait_for("0 locks");
    const pid_t program = top_in(t);
    rlim_t pages = 0;
    std::ifstream{"/proc/" + std::to_string(program) + "/statm"} >> pages;
    const rlim_t a_little_more = (pages + 256) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
    const rlimit memory{a_little_more, a_little_more};
    const rlimit no_core{0, 0};
    ASSERT_EQ(::prlimit(program, RLIMIT_CORE, &no_core, nullptr), 0);
    ASSERT_EQ(::prlimit(program, RLIMIT_AS, &memory, nullptr), 0);
    raw.must({"EVAL",
              "for i = 1, 20000 do redis.call('hset', 'lock:' .. i, ARGV[1], 1) "
              "redis.call('pexpire', 'lock:' .. i, 600000) end",
              "0", owner_of_redisson});
    t.wait_for(left);
    t.wait_for("st<");
    const std::string status = t.wait_for(">");
    EXPECT_TRUE(status == "70" || status == "134") << status;
    EXPECT_EQ(modes(t), before);
    t.finish();
}

TEST_F(top_command_test, goes_on_at_signals_that_end_nothing) {
    terminal_session t = top();
    t.wait_for(entered);
    for (const int signal : {SIGCHLD, SIGURG, SIGCONT, SIGWINCH}) {
        ASSERT_EQ(::kill(top_in(t), signal), 0);
    }
    t.wait_for(entered);  // at SIGCONT
    t.type("q");
    t.wait_for("st<0>");
    t.finish();
}

TEST_F(top_command_test, ends_with_its_terminal) {
    pid_t program = -1;
    {
        terminal_session t = top();
        t.wait_for(entered);
        program = top_in(t);
    }
    EXPECT_TRUE(has_ended(program));
}

TEST_F(top_command_test, ctrl_z_gives_the_terminal_to_the_shell_and_fg_takes_it_back) {
    take_as_stranger(raw, "orders:7");
    terminal_session t{{"/bin/bash", "--norc", "--noprofile", "--noediting", "-i"}, variables()};
    t.type("$conch top\n");
    t.wait_for("orders:7");
    t.type("\x1a");
    t.wait_for(left);
    t.wait_for("Stopped");
    t.type("fg\n");
    t.wait_for(entered);
    t.wait_for("orders:7");
    t.type("q");
    t.wait_for(left);
    t.type("echo \"st=$?\"\n");
    t.wait_for("st=0");
}

// A shell that people type into would set the terminal's modes itself.
TEST_F(top_command_test, leaves_all_as_it_was_when_it_is_stopped) {
    for (const bool typed : {true, false}) {
        SCOPED_TRACE(typed);
        terminal_session t{{"/bin/bash", "-c",
                            "set -m; echo \"modes<$(stty -g)>\"; $conch top; "
                            "echo \"modes<$(stty -g)>\"; fg; echo \"st<$?>\"; "
                            "echo \"modes<$(stty -g)>\""},
                           variables()};
        const std::string before = modes(t);
        t.wait_for("0 locks");
        if (typed) {
            t.type("\x1a");
        } else {
            ASSERT_EQ(::kill(top_in(t), SIGTSTP), 0);
        }
        t.wait_for(left);
        EXPECT_EQ(modes(t), before);
        t.wait_for(entered);
        t.wait_for("0 locks");
        t.type("q");
        t.wait_for(left);
        t.wait_for("st<0>");
        EXPECT_EQ(modes(t), before);
        t.finish();
    }
}

TEST_F(top_command_test, draws_nothing_where_no_server_is) {
    program::environment at_nowhere = variables();
    at_nowhere["CONCH_REDIS"] = nowhere();
    terminal_session t = top(at_nowhere);
    const std::string before = modes(t);
    const std::string shown = t.wait_for("st<69>");
    EXPECT_EQ(shown.find('\033'), shown.npos) << shown;
    EXPECT_EQ(modes(t), before);
    t.finish();
}

TEST_F(top_command_test, trouble_is_told_and_tried_again) {
    may_refuse = true;
    take_as_stranger(raw, "orders:7");
    raw.must({"ACL", "SETUSER", std::string{conch_user}, "-scan"});
    terminal_session t = top();
    t.wait_for(entered);
    t.wait_for("waiting for the first list");
    t.wait_for("\033[1;31m");
    raw.must({"ACL", "SETUSER", std::string{conch_user}, "+scan"});
    t.wait_for("1 lock, 1 shown");
    t.type("q");
    t.wait_for("st<0>");
    t.finish();
}

TEST_F(top_command_test, only_reading_commands_are_sent) {
    take_as_stranger(raw, "orders:7");
    raw.reset_calls();
    terminal_session t = top();
    t.wait_for("orders:7");
    t.type("\n");
    t.wait_for("orders:7: mutex, locked");
    t.type("q");
    t.finish();
    const std::set<std::string> listed = list_commands_of_page();
    std::set<std::string> sent = commands_sent(raw);
    for (const char* const of_each_connection : {"hello", "info", "script|load"}) {
        sent.erase(command_of(of_each_connection));
    }
    EXPECT_TRUE(std::includes(listed.begin(), listed.end(), sent.begin(), sent.end()))
        << ::testing::PrintToString(sent);
}

TEST_F(top_command_test, without_a_terminal_or_with_wrong_words_is_64_and_one_line) {
    for (const words& line :
         {words{"top"}, words{"top", "--interval", "0.1"}, words{"top", "--pause", "2"},
          words{"top", "--plain"}, words{"top", "--sort", "nothing"}}) {
        const ended end = to_end(line);
        EXPECT_EQ(end.status, 64);
        EXPECT_EQ(std::count(end.err.begin(), end.err.end(), '\n'), 1) << end.err;
    }
    expect_in("\"conch ls\"", to_end({"top"}).err);
}

}  // namespace
