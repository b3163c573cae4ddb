// SPDX-License-Identifier: BSL-1.0
// How `conch run` ends its command when the hold is lost, or when it is killed itself.
#include "support/command_fixture.hpp"

#include <signal.h>

#include <chrono>
#include <cstdint>

namespace {

using namespace conch;
using namespace conch::test;

using loss_command_test = command_fixture;

TEST_F(loss_command_test, the_command_does_not_outlive_a_killed_conch) {
    program p{run_words({}, until_end_of_input), here()};
    p.wait_for("in\n");
    p.signal(SIGKILL);
    EXPECT_EQ(p.finish().signal, SIGKILL);  // and nobody has the output open any more
}

TEST_F(loss_command_test, a_lost_hold_ends_the_command_and_is_75) {
    program p{run_words({"--lease", "1"}, until_end_of_input), here()};
    p.wait_for("in\n");
    raw.must({"DEL", "lock"});
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 75);
    expect_one_line(end.err);
    expect_in("ended with status 143", end.err);
}

TEST_F(loss_command_test, a_command_that_ignores_sigterm_is_killed_when_the_hold_is_lost) {
    program p{run_words({"--lease", "1"}, {"sh", "-c", "trap '' TERM; echo in; exec cat"}), here()};
    p.wait_for("in\n");
    raw.must({"DEL", "lock"});
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 75);
    expect_in("ended with status 137", end.err);
}

TEST_F(loss_command_test, a_frozen_server_ends_the_command_before_the_lease) {
    program p{run_words({"--lease", "2"}, {"sh", "-c", "echo $$; exec cat"}), here()};
    const pid_t command = std::stoi(p.wait_for("\n"));
    server.freeze();
    const auto frozen = clock::now();
    EXPECT_TRUE(run_until(io, [&] { return ::kill(command, 0) != 0; }));
    EXPECT_LT(clock::now() - frozen, 2s);
    EXPECT_EQ(p.finish().status, 75);
}

TEST_F(loss_command_test, the_last_sign_of_a_stubborn_command_is_before_the_leases_end) {
    program p{run_words({"--lease", "2"}, heartbeats), here()};
    p.wait_for("\n");
    server.freeze();
    const std::int64_t frozen = wall_time();
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 75);
    expect_in("ended with status 137", end.err);
    expect_in("term\n", end.out);
    EXPECT_LT(last_number(end.out), frozen + 2'000'000'000);
}

TEST_F(loss_command_test, the_grace_period_is_from_sigterm_to_sigkill) {
    program p{run_words({"--lease", "3", "--grace", "1.5"}, heartbeats), here()};
    p.wait_for("\n");
    server.freeze();
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 75);
    const auto term = end.out.find("term\n");
    ASSERT_NE(term, std::string::npos) << end.out;
    const std::int64_t lived = last_number(end.out) - std::stoll(end.out.substr(term + 5));
    EXPECT_GT(lived, 750'000'000);  // the default would be half a second
    EXPECT_LT(lived, 1'500'000'000);
}

TEST_F(loss_command_test, a_command_that_ends_well_on_sigterm_is_75_nevertheless) {
    program p{run_words({"--lease", "1"}, {"bash", "-c", "trap 'exit 0' TERM; echo in; read x"}),
              here()};
    p.wait_for("in\n");
    raw.must({"DEL", "lock"});
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 75);
    expect_in("ended with status 0", end.err);
}

TEST_F(loss_command_test, a_lost_hold_ends_the_whole_group) {
    program p{run_words({"--lease", "1"},
                        {"bash", "-c", "(trap '' TERM; tail -f /dev/null) & echo in; wait"}),
              here()};
    p.wait_for("in\n");
    raw.must({"DEL", "lock"});
    EXPECT_EQ(p.finish().status, 75);  // and nobody has the output open any more
}

TEST_F(loss_command_test, without_a_grace_period_sigkill_comes_with_sigterm) {
    program p{run_words({"--lease", "2", "--grace", "0"},
                        {"sh", "-c", "trap '' TERM; echo in; exec tail -f /dev/null"}),
              here()};
    p.wait_for("in\n");
    raw.must({"DEL", "lock"});
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 75);
    expect_in("ended with status 137", end.err);
}

TEST_F(loss_command_test, what_the_command_started_may_end_in_the_grace_period_too) {
    const std::string tidy = "while kill -0 $$ 2>/dev/null; do :; done; echo tidied; exit";
    program p{run_words({"--lease", "4", "--grace", "2"},
                        {"bash", "-c",
                         "(trap '" + tidy + "' TERM; tail -f /dev/null & echo in; wait) & wait"}),
              here()};
    p.wait_for("in\n");
    raw.must({"DEL", "lock"});
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 75);
    expect_in("tidied\n", end.out);
}

TEST_F(loss_command_test, a_forced_release_ends_the_command) {
    program p{run_words({"--lease", "1"}, until_end_of_input), here()};
    p.wait_for("in\n");
    EXPECT_EQ(to_end({"release", "--force", "lock"}).status, 0);
    EXPECT_EQ(p.finish().status, 75);
}

TEST_F(loss_command_test, max_hold_ends_the_command_and_is_named) {
    program p{run_words({"--lease", "3", "--max-hold", "1"}, until_end_of_input), here()};
    p.wait_for("in\n");
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 75);
    expect_one_line(end.err);
    expect_in("--max-hold", end.err);
    EXPECT_TRUE(run_until(io, [&] { return !raw.exists("lock"); }));
}

TEST_F(loss_command_test, a_lost_hold_is_not_blamed_on_max_hold) {
    program p{run_words({"--lease", "1", "--max-hold", "600"}, until_end_of_input), here()};
    p.wait_for("in\n");
    raw.must({"DEL", "lock"});
    EXPECT_EQ(p.finish().err.find("--max-hold"), std::string::npos);
}

TEST_F(loss_command_test, a_max_hold_below_the_default_grace_period_leaves_time_to_end_in) {
    program p{run_words({"--max-hold", "1.2"},
                        {"bash", "-c", "trap 'echo term; exit' TERM; echo in; read x"}),
              here()};
    p.wait_for("in\n");
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 75);
    EXPECT_EQ(end.out, "in\nterm\n");
}

TEST_F(loss_command_test, a_lost_hold_is_not_blamed_on_a_max_hold_that_ends_soon_too) {
    program p{run_words({"--lease", "6", "--max-hold", "6.1"}, until_end_of_input), here()};
    p.wait_for("in\n");
    EXPECT_EQ(to_end({"release", "--force", "lock"}).status, 0);
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 75);
    expect_in("taken away", end.err);
}

TEST_F(loss_command_test, a_stubborn_command_does_not_outlive_a_killed_conch) {
    program p{run_words({}, {"sh", "-c", "trap '' TERM HUP; echo in; exec cat"}), here()};
    p.wait_for("in\n");
    p.signal(SIGKILL);
    EXPECT_EQ(p.finish().signal, SIGKILL);  // and nobody has the output open any more
}

TEST_F(loss_command_test, a_command_stopped_by_sigstop_keeps_its_lock) {
    program p{run_words({"--lease", "1"}, {"sh", "-c", "echo $$; exec cat"}), here()};
    const pid_t command = std::stoi(p.wait_for("\n"));
    ::kill(command, SIGSTOP);
    run([] { return pass(1500ms); });  // longer than a lease
    EXPECT_TRUE(raw.exists("lock"));
    ::kill(command, SIGCONT);
    p.end_input();
    EXPECT_EQ(p.finish().status, 0);
}

}  // namespace
