// SPDX-License-Identifier: BSL-1.0
// Who holds the lock: how to find the process, and `conch run` inside `conch run`.
#include "support/command_fixture.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace {

using namespace conch;
using namespace conch::test;

class holder_command_test : public command_fixture {
protected:
    std::string owner() {
        const std::string holder = raw.hgetall("lock").begin()->first;
        return holder.substr(0, holder.find(':'));
    }
    /// `conch run OPTION... lock COMMAND` as the command of a `conch run lock`.
    ended nested(const words& options, const words& command) const {
        words inner = run_words(options, command);
        return run_to_end({}, inner);
    }
};

constexpr const char* warning = "conch run: warning: \"lock\" (";

TEST_F(holder_command_test, the_connection_is_named_after_host_process_and_owner) {
    program p{run_words({}, until_end_of_input), here()};
    p.wait_for("in\n");
    char host[256] = "";
    ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
    const std::string name = "conch:" + std::string{host} + ':' + std::to_string(p.pid()) +
                             ':' + owner().substr(0, 8);
    EXPECT_EQ(raw.connections(name).size(), 1u) << raw.must({"CLIENT", "LIST"}).text;
}

TEST_F(holder_command_test, the_processes_of_the_command_carry_the_owner_that_status_tells) {
    program p{run_words({}, {"sh", "-c", "echo \"$$;\"; read x"}), here()};
    const pid_t command = std::stoi(p.wait_for(";\n"));
    const ended end = to_end({"status", "lock"});
    expect_in("holder  " + owner() + ':', end.out);
    EXPECT_EQ(processes_with("CONCH_OWNER", owner()), std::vector<pid_t>{command});
}

TEST_F(holder_command_test, the_command_of_the_manual_page_finds_the_process) {
    program p{run_words({}, {"sh", "-c", "echo \"$$;\"; read x"}), here()};
    const int command = std::stoi(p.wait_for(";\n"));
    program grep{{"/bin/sh", "-c", "grep -lsz ^CONCH_OWNER=" + owner() + " /proc/[0-9]*/environ"}};
    EXPECT_EQ(grep.finish().out, "/proc/" + std::to_string(command) + "/environ\n");
}

TEST_F(holder_command_test, verbose_tells_the_owner) {
    program p{run_words({"-v"}, until_end_of_input), here()};
    p.wait_for("in\n");
    expect_in(", owner " + owner() + '\n', p.wait_for_error("owner"));
}

TEST_F(holder_command_test, a_run_that_waits_for_its_own_parent_warns_and_goes_on) {
    const ended end = nested({"-w", "0.2"}, {"echo", "ran"});
    EXPECT_EQ(end.status, 1);
    EXPECT_EQ(end.out, "");
    const auto line = end.err.find('\n') + 1;
    EXPECT_TRUE(end.err.starts_with(warning)) << end.err;
    expect_one_line(end.err.substr(line));  // the wait is over
    EXPECT_EQ(end.err.find(warning, line), std::string::npos) << end.err;
}

TEST_F(holder_command_test, a_nested_run_with_nonblock_says_who_holds_the_lock) {
    const ended end = nested({"-n"}, {"echo", "ran"});
    EXPECT_EQ(end.status, 1);
    expect_one_line(end.err);
    expect_in("is held by the \"conch run\" that this one is part of; nothing was run", end.err);
}

TEST_F(holder_command_test, a_quiet_nested_run_does_not_warn) {
    EXPECT_EQ(nested({"-q", "-w", "0.1"}, {"echo", "ran"}).err, "");
}

TEST_F(holder_command_test, a_nested_run_of_another_lock_does_not_warn) {
    const ended end = run_to_end({}, conch({"run", "other", "echo", "ran"}));
    EXPECT_EQ(end.out, "ran\n");
    EXPECT_EQ(end.err, "");
}

TEST_F(holder_command_test, what_outlives_its_run_is_not_warned_of_the_next_holder) {
    take_as_stranger(raw, "lock");
    program p{run_words({"-w", "0.1"}, {"true"}),
              {{"CONCH_REDIS", url()},
               {"CONCH_NAME", "lock"},
               {"CONCH_OWNER", "11111111-2222-3333-4444-555555555555"}}};
    expect_one_line(p.finish().err);
    EXPECT_EQ(p.finish().err.find("warning"), std::string::npos) << p.finish().err;
}

TEST_F(holder_command_test, the_script_of_the_manual_page_runs_under_its_lock_once) {
    const std::string file = folder.path() + "/script";
    std::ofstream{file} << "#!/bin/sh\ntest \"$CONCH_NAME\" = lock || exec \"$conch\" run lock "
                           "\"$0\" \"$@\"\necho \"$CONCH_NAME $1\"\n";
    ASSERT_EQ(::chmod(file.c_str(), 0700), 0);
    const program::environment variables{{"CONCH_REDIS", url()}, {"conch", CONCH_PROGRAM_PATH}};
    program alone{{file, "a b"}, variables};
    EXPECT_EQ(alone.finish().out, "lock a b\n");
    program inside{run_words({}, {file, "c"}), variables};
    EXPECT_EQ(inside.finish().out, "lock c\n");
    EXPECT_EQ(inside.finish().err, "");
}

}  // namespace
