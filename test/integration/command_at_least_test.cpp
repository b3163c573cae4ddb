// SPDX-License-Identifier: BSL-1.0
// `conch run --at-least SECS`: the lock outlives a command that ends early.
#include "support/command_fixture.hpp"

#include <csignal>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

constexpr auto longest = std::chrono::milliseconds{300s}.count();

class at_least_command_test : public command_fixture {
protected:
    /// The key stays for what is left of --at-least 300; conch took no longer than the rest.
    void expect_left(const std::string& key) {
        const std::int64_t left = raw.pttl(key);
        EXPECT_LE(left, longest) << key;
        EXPECT_GT(left, longest / 3) << key;
    }
    std::int64_t left_of_permit() {
        const std::string score =
            raw.must({"ZRANGE", "{lock}:timeout", "0", "0", "WITHSCORES"}).items.at(1).text;
        return static_cast<std::int64_t>(std::stod(score)) - wall_time() / 1'000'000;
    }
};

TEST_F(at_least_command_test, the_lock_stays_for_the_rest_and_conch_ends_at_once) {
    const ended end =
        run_to_end({"--at-least", "300", "--lease", "60", "-v"}, {"sh", "-c", "exit 3"});
    EXPECT_EQ(end.status, 3);
    expect_in("left \"lock\" locked for ", end.err);
    expect_left("lock");
    const ended other = run_to_end({"-n"}, {"echo", "ran"});
    EXPECT_EQ(other.status, 1);
    EXPECT_EQ(other.out, "");
}

TEST_F(at_least_command_test, a_lease_that_is_longer_is_cut) {
    EXPECT_EQ(run_to_end({"--at-least", "300", "--lease", "3600"}, {"true"}).status, 0);
    expect_left("lock");
}

TEST_F(at_least_command_test, a_command_that_took_longer_leaves_nothing) {
    program p{run_words({"--at-least", "0.01"}, until_end_of_input), here()};
    p.wait_for("in\n");
    const auto taken = std::chrono::steady_clock::now();
    run_until(io, [&] { return std::chrono::steady_clock::now() - taken > 50ms; });
    p.end_input();
    EXPECT_EQ(p.finish().status, 0);
    expect_free();
}

TEST_F(at_least_command_test, a_command_that_a_signal_ends_keeps_it) {
    program p{run_words({"--at-least", "300"}, until_end_of_input), here()};
    p.wait_for("in\n");
    p.signal(SIGTERM);
    EXPECT_EQ(p.finish().status, 128 + SIGTERM);
    expect_left("lock");
}

TEST_F(at_least_command_test, what_could_not_be_run_leaves_nothing) {
    EXPECT_EQ(run_to_end({"--at-least", "300"}, {"/no/such/command"}).status, 127);
    expect_free();
}

TEST_F(at_least_command_test, each_kind_of_lock_stays) {
    for (const words& kind : {words{"--fenced"}, words{"--plain"}, words{"--fair"}, words{"--rw"},
                              words{"--shared"}, words{"-l", "second"}}) {
        raw.must({"FLUSHALL"});
        words options{"--at-least", "300"};
        options.insert(options.end(), kind.begin(), kind.end());
        const ended end = run_to_end(options, {"true"});
        EXPECT_EQ(end.status, 0) << kind.front() << end.err;
        expect_left("lock");
        if (kind.front() == "-l") {
            expect_left("second");
        }
    }
}

TEST_F(at_least_command_test, a_permit_stays) {
    EXPECT_EQ(run_to_end({"--at-least", "300", "--at-most", "1"}, {"true"}).status, 0);
    EXPECT_LE(left_of_permit(), longest);
    EXPECT_GT(left_of_permit(), longest / 3);
    EXPECT_EQ(run_to_end({"--at-most", "1", "-n"}, {"true"}).status, 1);
}

TEST_F(at_least_command_test, the_lock_is_taken_when_the_rest_is_over) {
    EXPECT_EQ(run_to_end({"--at-least", "1"}, {"true"}).status, 0);
    EXPECT_EQ(run_to_end({"-w", "60"}, {"echo", "ran"}).out, "ran\n");
}

TEST_F(at_least_command_test, more_than_max_hold_is_refused) {
    EXPECT_EQ(run_to_end({"--at-least", "2", "--max-hold", "1"}, {"echo", "ran"}).status, 64);
    EXPECT_EQ(run_to_end({"--at-least", "soon"}, {"echo", "ran"}).status, 64);
    expect_free();
}

}  // namespace
