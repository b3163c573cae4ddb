// SPDX-License-Identifier: BSL-1.0
// What becomes of the command while `conch run` is stopped, and when it is killed.
#include "support/command_fixture.hpp"

#include <csignal>

namespace {

using namespace conch;
using namespace conch::test;

using guardian_command_test = command_fixture;

/// Says its number and that of what it started, and lives on.
const words with_grandchild{"sh", "-c", "trap '' TERM; tail -f /dev/null & echo $$ $!; wait"};
const words stubborn{"sh", "-c", "trap '' TERM; echo $$; exec tail -f /dev/null"};

TEST_F(guardian_command_test, the_command_of_a_stopped_conch_ends_with_the_lease) {
    program p{run_words({"--lease", "2"}, with_grandchild), here()};
    const pid_t command = std::stoi(p.wait_for("\n"));
    p.signal(SIGSTOP);
    EXPECT_TRUE(has_ended(command));
    p.signal(SIGCONT);
    const ended& end = p.finish();  // and nobody has the output open any more
    EXPECT_EQ(end.status, 75);
    expect_in("ended with status 137", end.err);
    expect_in("was stopped", end.err);
}

TEST_F(guardian_command_test, who_goes_on_after_the_lease_tells_why_it_was_lost) {
    program p{run_words({"--lease", "1"}, stubborn), here()};
    const pid_t command = std::stoi(p.wait_for("\n"));
    p.signal(SIGSTOP);
    EXPECT_TRUE(has_ended(command));
    EXPECT_TRUE(run_until(io, [&] { return !raw.exists("lock"); }));
    p.signal(SIGCONT);
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 75);
    expect_in("was lost (this process was stopped)", end.err);
}

TEST_F(guardian_command_test, it_gets_a_sigterm_first) {
    program p{run_words({"--lease", "3", "--grace", "1.5"},
                        {"bash", "-c", "trap 'echo term; exit 0' TERM; echo in; read x"}),
              here()};
    p.wait_for("in\n");
    p.signal(SIGSTOP);
    p.wait_for("term\n");
    p.signal(SIGCONT);
    EXPECT_EQ(p.finish().status, 75);
}

TEST_F(guardian_command_test, while_conch_renews_it_does_nothing) {
    program p{run_words({"--lease", "0.5"},
                        {"bash", "-c", "trap 'echo term' TERM; echo in; read x; exit 0"}),
              here()};
    p.wait_for("in\n");
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(lease_passes(io, raw, 500ms));
    }
    p.end_input();
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 0);
    EXPECT_EQ(end.out, "in\n");
}

TEST_F(guardian_command_test, what_the_command_started_does_not_outlive_a_killed_conch) {
    program p{run_words({}, with_grandchild), here()};
    const std::string numbers = p.wait_for("\n");
    const pid_t grandchild = std::stoi(numbers.substr(numbers.find(' ')));
    p.signal(SIGKILL);
    EXPECT_TRUE(has_ended(grandchild));
    p.finish();
}

TEST_F(guardian_command_test, what_a_command_leaves_behind_outlives_the_lease) {
    program p{
        run_words({"--lease", "0.5"}, {"sh", "-c", "tail -f /dev/null >/dev/null 2>&1 & echo $!"}),
        here()};
    const pid_t left = std::stoi(p.wait_for("\n"));
    EXPECT_EQ(p.finish().status, 0);
    EXPECT_TRUE(lease_passes(io, raw, 600ms));
    EXPECT_TRUE(is_alive(left));
    ::kill(left, SIGKILL);
}

TEST_F(guardian_command_test, it_goes_with_the_command) {
    program p{run_words({}, until_end_of_input), here()};
    p.wait_for("in\n");
    const pid_t guardian = guardian_of(p.pid());
    ASSERT_GT(guardian, 0);
    const std::string clients = raw.must({"CLIENT", "LIST"}).text;
    EXPECT_EQ(clients.find("name=conch:"), clients.rfind("name=conch:")) << "one connection";
    p.end_input();
    EXPECT_EQ(p.finish().status, 0);
    EXPECT_FALSE(is_alive(guardian));
}

// Both were stopped, as by a frozen cgroup.
TEST_F(guardian_command_test, after_the_lease_there_is_no_grace) {
    program p{run_words({"--lease", "6", "--grace", "3"}, stubborn), here()};
    const pid_t command = std::stoi(p.wait_for("\n"));
    const pid_t guardian = guardian_of(p.pid());
    ASSERT_GT(guardian, 0);
    ::kill(guardian, SIGSTOP);
    p.signal(SIGSTOP);
    EXPECT_TRUE(run_until(io, [&] { return !raw.exists("lock"); }));
    EXPECT_TRUE(is_alive(command));
    const time_point start = clock::now();
    p.signal(SIGCONT);
    EXPECT_TRUE(has_ended(command));
    EXPECT_LT(clock::now() - start, 2s) << "3 s would be the grace";
    ::kill(guardian, SIGCONT);
    EXPECT_EQ(p.finish().status, 75);
}

}  // namespace
