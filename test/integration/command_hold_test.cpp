// SPDX-License-Identifier: BSL-1.0
// `conch hold`: which signals it heeds, what frees its lock, and its exit statuses. Its caller is a
// shell, so that no test's own process gets the SIGTERM of a guardian.
#include "core/sanitizer.hpp"
#include "support/command_fixture.hpp"

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class hold_command_test : public command_fixture {
protected:
    /// A shell that runs this; "$conch" is the program.
    program shell(const std::string& text) const {
        return program{{"/bin/sh", "-c", text},
                       {{"CONCH_REDIS", url()}, {"conch", CONCH_PROGRAM_PATH}}};
    }
    /// `conch hold` in the foreground, and then its exit status.
    program caller_of(const std::string& words) const {
        return shell("trap : TERM; \"$conch\" hold " + words + "; echo \"status<$?>\"");
    }
    static pid_t hold_of(const program& caller) {
        const pid_t found = child_named(caller.pid(), "conch");
        return found > 0 ? found : throw std::runtime_error{"conch hold is not there"};
    }
    /// The process of the only client that is connected.
    pid_t client() {
        const std::string clients = raw.must({"CLIENT", "LIST"}).text;
        const std::string start = "name=conch:";  // "name=conch:HOST:PID:ID"
        const std::size_t at = clients.find(start);
        const std::size_t host_end = clients.find(':', at + start.size());
        return at == std::string::npos ? -1 : std::stoi(clients.substr(host_end + 1));
    }
};

const std::vector<int> that_end_processes{SIGHUP,    SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                          SIGUSR2,   SIGALRM, SIGIO,   SIGPROF, SIGVTALRM,
                                          SIGSTKFLT, SIGPWR,  SIGXCPU, SIGXFSZ};

TEST_F(hold_command_test, in_the_background_heeds_no_signal) {
    program caller = shell("\"$conch\" hold -b --lease 3 lock && echo in; read x");
    caller.wait_for("in\n");
    const pid_t holder = client();
    ASSERT_GT(holder, 0);
    std::vector<int> all = that_end_processes;
    all.insert(all.end(), {SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU, SIGCHLD, SIGURG, SIGCONT, SIGWINCH});
    for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) {
        all.push_back(number);
    }
    for (const int number : all) {
        EXPECT_EQ(::kill(holder, number), 0) << number;
    }
    EXPECT_TRUE(lease_passes(io, raw, 3s));
    EXPECT_TRUE(raw.exists("lock"));
    EXPECT_TRUE(is_alive(holder));
    caller.end_input();
    EXPECT_EQ(caller.finish().err, "");
    EXPECT_TRUE(has_ended(holder));
    EXPECT_FALSE(raw.exists("lock"));
}

TEST_F(hold_command_test, in_the_background_holds_several_until_its_caller_ends) {
    program caller = shell("\"$conch\" hold -b -l other --lock third lock && echo in; read x");
    caller.wait_for("in\n");
    for (const char* const key : {"lock", "other", "third"}) {
        EXPECT_TRUE(raw.exists(key)) << key;
    }
    caller.end_input();
    EXPECT_EQ(caller.finish().err, "");
    EXPECT_TRUE(run_until(io, [&] { return raw.dbsize() == 0; }));
}

TEST_F(hold_command_test, what_does_not_go_with_several_is_refused_with_a_reason) {
    const std::vector<std::pair<words, const char*>> refused{
        {{"-l", "lock"}, "is there twice"},
        {{"-l", "other", "--fenced"}, "--lock and --fenced exclude each other"},
        {{"-l", "other", "--at-most", "2"}, "--lock and a semaphore"},
        {{"-l", "other", "--semaphore"}, "--lock and a semaphore"},
        {{"-l", "other", "--fair", "--plain"}, "--plain, --fair"},
        {{"-l", "other", "--redis", "redis://a", "--redis", url()}, "one --redis only"}};
    for (const auto& [options, why] : refused) {
        words all{"hold"};
        all.insert(all.end(), options.begin(), options.end());
        all.emplace_back("lock");
        const ended end = to_end(all);
        EXPECT_EQ(end.status, 64) << end.err;
        EXPECT_EQ(end.out, "");
        expect_one_line(end.err);
        expect_in(why, end.err);
    }
    expect_free();
}

TEST_F(hold_command_test, in_the_foreground_releases_the_lock_at_each_signal_that_ends_it) {
    std::vector<int> all = that_end_processes;
    all.insert(all.end(), {SIGRTMIN, SIGRTMAX});
    for (const int number : all) {
        SCOPED_TRACE(number);
        program caller = caller_of("lock");
        caller.wait_for("held lock\n");
        ASSERT_EQ(::kill(hold_of(caller), number), 0);
        caller.wait_for("status<" + std::to_string(128 + number) + ">\n");
        EXPECT_FALSE(raw.exists("lock"));
        caller.finish();
    }
}

TEST_F(hold_command_test, in_the_foreground_stops_and_goes_on_and_heeds_nothing_that_ends_nobody) {
    program caller = caller_of("lock");
    caller.wait_for("held lock\n");
    const pid_t hold = hold_of(caller);
    for (const int number : {SIGCHLD, SIGURG, SIGWINCH, SIGPIPE, SIGTTIN, SIGTTOU, SIGTSTP}) {
        ASSERT_EQ(::kill(hold, number), 0);
    }
    EXPECT_TRUE(run_until(io, [&] { return process_state(hold) == 'T'; }));
    ASSERT_EQ(::kill(hold, SIGCONT), 0);
    EXPECT_TRUE(run_until(io, [&] { return process_state(hold) == 'S'; }));
    EXPECT_TRUE(raw.exists("lock"));
    caller.end_input();
    caller.wait_for("status<0>\n");
}

// The kernel sends it, but not to the caller.
TEST_F(hold_command_test, ends_at_an_alarm_that_was_set_before_it_began) {
    if (std::system("command -v perl >/dev/null") != 0) {
        GTEST_SKIP() << "no perl";
    }
    program caller =
        shell("perl -e 'alarm 3; exec @ARGV' \"$conch\" hold lock; echo \"status<$?>\"");
    caller.wait_for("held lock\n");
    caller.wait_for("status<142>\n");
    EXPECT_FALSE(raw.exists("lock"));
}

TEST_F(hold_command_test, releases_the_lock_of_a_killed_caller_whose_input_is_open) {
    program caller = shell("\"$conch\" hold --lease 600 lock; :");
    caller.wait_for("held lock\n");
    caller.signal(SIGKILL);
    EXPECT_TRUE(run_until(io, [&] { return !raw.exists("lock"); }));
}

TEST_F(hold_command_test, while_it_is_stopped_its_guardian_warns_the_caller) {
    program caller = shell(
        "trap 'echo term; exit 5' TERM; \"$conch\" hold -b --lease 12 --grace 6 lock && echo in; "
        "read x");
    caller.wait_for("in\n");
    const pid_t holder = client();
    ASSERT_GT(holder, 0);
    ASSERT_EQ(::kill(holder, SIGSTOP), 0);
    caller.wait_for("term\n");
    EXPECT_TRUE(raw.exists("lock")) << "it comes before the lease ends";
    ASSERT_EQ(::kill(holder, SIGCONT), 0);
    EXPECT_EQ(caller.finish().status, 5);
    EXPECT_TRUE(has_ended(holder));
}

TEST_F(hold_command_test, a_lost_lock_is_75) {
    program taken = caller_of("--lease 3 lock");
    taken.wait_for("held lock\n");
    EXPECT_EQ(to_end({"release", "--force", "lock"}).status, 0);
    taken.wait_for("status<75>\n");
    expect_in("was lost", taken.finish().err);
    program over = caller_of("--lease 1 --max-hold 1 lock");
    over.wait_for("status<75>\n");
    expect_in("--max-hold is reached", over.finish().err);
    expect_free();
}

TEST_F(hold_command_test, a_caller_that_cannot_be_watched_is_71) {
    if (core::address_sanitizer) {
        GTEST_SKIP() << "UBSan needs descriptors of its own to look at what is thrown";
    }
    program caller = shell("ulimit -n 4; \"$conch\" hold lock; echo \"status<$?>\"");
    caller.wait_for("status<71>\n");
    const ended& end = caller.finish();
    expect_one_line(end.err);
    expect_in("cannot watch the process", end.err);
    expect_free();
}

TEST_F(hold_command_test, an_output_that_cannot_be_written_is_74) {
    program caller = shell("\"$conch\" hold lock >/dev/full; echo \"status<$?>\"");
    caller.wait_for("status<74>\n");
    expect_free();
}

TEST_F(hold_command_test, a_signal_while_it_waits_is_told_by_the_status) {
    take_as_stranger(raw, "lock");
    for (const int number : {SIGTERM, SIGINT, SIGALRM, SIGRTMIN}) {
        SCOPED_TRACE(number);
        program caller = caller_of("lock");
        ASSERT_TRUE(waiter_listens());
        ASSERT_EQ(::kill(hold_of(caller), number), 0);
        caller.wait_for("status<" + std::to_string(128 + number) + ">\n");
        caller.finish();
    }
}

TEST_F(hold_command_test, an_input_that_ends_while_it_waits_is_129) {
    take_as_stranger(raw, "lock");
    program caller = caller_of("lock");
    ASSERT_TRUE(waiter_listens());
    caller.end_input();
    EXPECT_EQ(caller.finish().out, "status<129>\n");
}

TEST_F(hold_command_test, a_caller_that_is_killed_while_it_waits_is_waited_for_no_more) {
    take_as_stranger(raw, "lock");
    for (const char* const options : {"", "-b "}) {
        program caller = shell(std::string{"\"$conch\" hold "} + options + "lock; :");
        ASSERT_TRUE(waiter_listens());
        caller.signal(SIGKILL);
        EXPECT_TRUE(run_until(io, [&] { return listening("lock", 0); })) << options;
    }
}

}  // namespace
