// SPDX-License-Identifier: BSL-1.0
// `conch run --lead NAME -- COMMAND`: the command runs wherever, and whenever, its process leads.
#include "support/command_fixture.hpp"

#include <signal.h>

#include <optional>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

/// Tells its fence, and ends with its input.
const words leads{"sh", "-c", "echo leads $CONCH_FENCE; exec cat"};

class lead_command_test : public command_fixture {
protected:
    program candidate(words options = {}, const words& command = leads) {
        options.insert(options.begin(), {"--lead", "--lease", "1"});
        return program{run_words(options, command), here()};
    }
    /// Waits until the lead is another than the last, and until its command runs in this candidate.
    void expect_lead(program& of) {
        const std::string former = last_;
        EXPECT_TRUE(run_until(io, [&] {
            last_ = raw.get(fence_key_of("lock"));
            return last_ != former && !last_.empty();
        }));
        of.wait_for("leads " + last_ + '\n');
    }
    bool waits() {
        return run_until(
            io, [&] { return raw.must({"ZCARD", "redisson_lock_timeout:{lock}"}).number == 1; });
    }
    void expect_only_the_fence() {
        EXPECT_EQ(raw.dbsize(), 1);
        EXPECT_TRUE(raw.exists(fence_key_of("lock")));
    }

private:
    std::string last_{};
};

TEST_F(lead_command_test, a_command_that_ends_by_itself_steps_down_and_another_leads) {
    program one = candidate();
    expect_lead(one);
    program another = candidate();
    EXPECT_TRUE(waits());
    one.end_input();
    EXPECT_EQ(one.finish().status, 0);
    expect_lead(another);
    another.end_input();
    EXPECT_EQ(another.finish().status, 0);
    expect_only_the_fence();
}

TEST_F(lead_command_test, who_lost_the_lead_ends_its_command_and_campaigns_again) {
    program p = candidate({"-v"}, {"bash", "-c",
                                   "trap 'echo ends; exit 3' TERM\n"
                                   "echo leads $CONCH_FENCE; read x"});
    expect_lead(p);
    for (int n = 0; n < 3; ++n) {
        raw.must({"DEL", "lock"});
        expect_lead(p);
    }
    p.end_input();
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 1) << "that of the last one";
    EXPECT_EQ(std::count(end.out.begin(), end.out.end(), '\n'), 7) << end.out;
    expect_in("ended with status 3; it campaigns again", end.err);
}

TEST_F(lead_command_test, who_was_killed_is_followed) {
    program one = candidate();
    expect_lead(one);
    program another = candidate();
    EXPECT_TRUE(waits());
    one.signal(SIGKILL);
    EXPECT_EQ(one.finish().signal, SIGKILL) << "and its command is no more";
    expect_lead(another);
}

TEST_F(lead_command_test, the_command_of_who_was_stopped_ends_before_another_leads) {
    program one = candidate({}, {"bash", "-c", "echo leads $CONCH_FENCE $$; exec cat"});
    EXPECT_TRUE(run_until(io, [&] { return raw.exists("lock"); }));
    const std::string& told = one.wait_for("\n");
    const pid_t command = std::stoi(told.substr(told.rfind(' ')));
    std::optional<program> another;
    another.emplace(
        run_words({"--lead", "--lease", "1"},
                  {"sh", "-c",
                   "kill -0 " + std::to_string(command) + " && echo both; echo leads; exec cat"}),
        here());
    EXPECT_TRUE(waits());
    one.signal(SIGSTOP);
    EXPECT_EQ(another->wait_for("leads\n"), "leads\n");
    one.signal(SIGCONT);
    EXPECT_TRUE(waits()) << "it campaigns again";
    another.reset();
    one.wait_for("leads " + raw.get(fence_key_of("lock")));
}

TEST_F(lead_command_test, a_server_that_went_away_is_waited_for) {
    program p = candidate({"-v"});
    expect_lead(p);
    server.kill();
    p.wait_for_error("it campaigns again");
    server.start();
    raw.reconnect();
    expect_lead(p);
}

TEST_F(lead_command_test, max_hold_is_a_term) {
    program one = candidate({"--max-hold", "0.5"});
    expect_lead(one);
    program another = candidate({"--max-hold", "0.5"});
    EXPECT_TRUE(waits());
    expect_lead(another);
    expect_lead(one);
}

TEST_F(lead_command_test, a_signal_that_ends_the_command_ends_it_for_good) {
    program p = candidate();
    expect_lead(p);
    p.signal(SIGTERM);
    EXPECT_EQ(p.finish().status, 128 + SIGTERM);
    expect_only_the_fence();
}

TEST_F(lead_command_test, a_signal_ends_the_campaign) {
    take_as_stranger(raw, "lock");
    program p = candidate();
    EXPECT_TRUE(waits());
    p.signal(SIGTERM);
    EXPECT_EQ(p.finish().status, 128 + SIGTERM);
    EXPECT_FALSE(raw.exists("redisson_lock_timeout:{lock}"));
}

TEST_F(lead_command_test, who_watches_the_leader_hears_of_it) {
    client c{io, push_only()};
    const leader l{c, "lock"};
    program p = candidate();
    run([&]() -> asio::awaitable<void> {
        const lock_status led = co_await l.async_watch_leader();
        EXPECT_TRUE(led.locked);
        p.end_input();
        const lock_status free = co_await l.async_watch_leader(led);
        EXPECT_FALSE(free.locked);
    });
}

TEST_F(lead_command_test, what_makes_no_sense_beside_it_is_refused) {
    for (const words& other : {words{"-n"},
                               {"--fair"},
                               {"--plain"},
                               {"-s"},
                               {"--at-most", "2"},
                               {"-l", "b"},
                               {"--at-least", "1"}}) {
        words options{"--lead"};
        options.insert(options.end(), other.begin(), other.end());
        const ended end = run_to_end(options, {"echo", "ran"});
        EXPECT_EQ(end.status, 64) << other.front();
        EXPECT_EQ(end.out, "");
        expect_one_line(end.err);
        expect_in("--lead", end.err);
    }
}

}  // namespace
