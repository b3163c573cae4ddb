// SPDX-License-Identifier: BSL-1.0
// How `conch run` ends its command when the hold is lost, or when it is killed itself.
#include "support/command_fixture.hpp"

#include <signal.h>

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

}  // namespace
