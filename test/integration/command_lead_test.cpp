// SPDX-License-Identifier: BSL-1.0
// `conch run --lead NAME -- COMMAND`: the command runs wherever, and whenever, its process leads.
#include "support/command_fixture.hpp"
#include "support/proxy.hpp"

#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

/// Tells its fence, and ends with its input.
const words leads{"sh", "-c", "echo leads $CONCH_FENCE; exec cat"};

/// Whoever takes the lead away is heard of within two seconds.
const words briefly{"--lease", "6", "--grace", "3"};

/// Leaves a process in the group that tells the time again and again, whatever it is told, in a
/// file of this name with the fence behind it.
words with_stubborn_child(const std::string& file) {
    return {"bash", "-c",
            "(bash -c 'trap : TERM HUP INT; while :; do date +%s%N; done' >" + file +
                "$CONCH_FENCE &)\necho leads $CONCH_FENCE; exec cat"};
}

class lead_command_test : public command_fixture {
protected:
    static words candidacy(words options) {
        options.insert(options.begin(), "--lead");
        return options;
    }
    /// Waits until the lead is another than the last, and until its command runs in this candidate.
    void expect_lead(program& of) {
        former_ = last_;
        EXPECT_TRUE(run_until(io, [&] {
            last_ = raw.get(fence_key_of("lock")).value_or("");
            return last_ != former_ && !last_.empty();
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
    /// The stubborn child of the lead before wrote its last time before this one was granted, by
    /// its fence.
    void expect_nothing_beside_it() { EXPECT_LT(last_sign(), std::stoll(last_) * 1000); }
    /// When it wrote that.
    std::int64_t last_sign() const {
        std::ifstream from{told_ + former_};
        return last_number(std::string{std::istreambuf_iterator<char>{from}, {}});
    }

    const std::string told_ = folder.path() + "/told";

private:
    std::string former_{};  // its fence
    std::string last_{};
};

TEST_F(lead_command_test, a_command_that_ends_by_itself_steps_down_and_another_leads) {
    program one{run_words({"--lead"}, leads), here()};
    expect_lead(one);
    program another{run_words({"--lead"}, {"sh", "-c", "echo leads $CONCH_FENCE; exit 3"}), here()};
    EXPECT_TRUE(waits());
    one.end_input();
    EXPECT_EQ(one.finish().status, 0);
    expect_lead(another);
    EXPECT_EQ(another.finish().status, 3);
    expect_only_the_fence();
}

TEST_F(lead_command_test, who_lost_the_lead_ends_its_command_and_campaigns_again) {
    program p{run_words(candidacy(briefly), {"bash", "-c",
                                             "trap 'exit 3' TERM\n"
                                             "echo leads $CONCH_FENCE; read x"}),
              here()};
    expect_lead(p);
    for (int n = 0; n < 3; ++n) {
        raw.must({"DEL", "lock"});
        expect_lead(p);
    }
    p.end_input();
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 1) << "that of the last one";
    EXPECT_EQ(std::count(end.out.begin(), end.out.end(), '\n'), 4) << end.out;
    EXPECT_EQ(std::count(end.err.begin(), end.err.end(), '\n'), 3) << end.err;
    expect_in("ended with status 3; it campaigns again", end.err);
}

TEST_F(lead_command_test, who_led_and_is_refused_later_does_not_say_that_nothing_was_run) {
    words options = candidacy(briefly);
    options.insert(options.end(), {"-w", "0.5"});
    program p{run_words(options, leads), here()};
    expect_lead(p);
    raw.must({"DEL", "lock"});
    take_as_stranger(raw, "lock");
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 1);
    expect_in("is held by someone else, still after 500.0 ms; it led before\n", end.err);
}

TEST_F(lead_command_test, nothing_of_the_group_is_left_when_it_leads_again) {
    program p{run_words(candidacy(briefly), with_stubborn_child(told_)), here()};
    expect_lead(p);
    raw.must({"DEL", "lock"});
    expect_lead(p);
    expect_nothing_beside_it();
}

TEST_F(lead_command_test, what_it_adopted_is_no_zombie_for_long) {
    program p{run_words(candidacy(briefly), {"bash", "-c",
                                             "exec 3<&0; setsid dd <&3 >/dev/null 2>&1 &\n"
                                             "echo leads $CONCH_FENCE; exec cat"}),
              here()};
    expect_lead(p);
    raw.must({"DEL", "lock"});
    expect_lead(p);
    const pid_t orphan = child_named(p.pid(), "dd");
    ASSERT_GT(orphan, 0) << "it has a session of its own, and goes on";
    ::kill(orphan, SIGKILL);
    EXPECT_TRUE(run_until(io, [&] { return process_state(orphan) == 0; }));
}

TEST_F(lead_command_test, who_was_killed_is_followed) {
    program one{run_words({"--lead", "--lease", "2"}, leads), here()};
    expect_lead(one);
    program another{run_words({"--lead"}, leads), here()};
    EXPECT_TRUE(waits());
    one.signal(SIGKILL);
    EXPECT_EQ(one.finish().signal, SIGKILL) << "and its command is no more";
    expect_lead(another);
}

TEST_F(lead_command_test, the_group_of_who_was_stopped_ends_before_another_leads) {
    program one{run_words({"--lead", "--lease", "6"}, with_stubborn_child(told_)), here()};
    expect_lead(one);
    program another{run_words({"--lead"}, leads), here()};
    EXPECT_TRUE(waits());
    one.signal(SIGSTOP);
    expect_lead(another);
    expect_nothing_beside_it();
    one.signal(SIGCONT);
    EXPECT_TRUE(waits()) << "it campaigns again";
    another.end_input();
    another.finish();
    expect_lead(one);
}

TEST_F(lead_command_test, nor_does_what_outlived_the_guardians_first_signal) {
    program p{run_words({"--lead", "--lease", "8", "--grace", "4"}, with_stubborn_child(told_)),
              here()};
    expect_lead(p);
    pid_t command = -1;
    ASSERT_TRUE(run_until(io, [&] { return (command = child_named(p.pid(), "cat")) > 0; }));
    p.signal(SIGSTOP);
    EXPECT_TRUE(run_until(io, [&] { return !is_alive(command); })) << "by SIGTERM";
    p.signal(SIGCONT);
    expect_lead(p);
    expect_nothing_beside_it();
}

TEST_F(lead_command_test, a_server_that_went_away_is_waited_for) {
    program p{run_words({"--lead", "--lease", "2"}, leads), here()};
    expect_lead(p);
    server.kill();
    p.wait_for_error("it campaigns again");
    server.start();
    raw.reconnect();
    expect_lead(p);
}

TEST_F(lead_command_test, a_server_that_became_a_replica_is_waited_for) {
    program p{run_words({"--lead", "--lease", "2"}, leads), here()};
    expect_lead(p);
    raw.must({"REPLICAOF", "127.0.0.1", "1"});
    p.wait_for_error("it campaigns again");
    raw.must({"REPLICAOF", "NO", "ONE"});
    expect_lead(p);
}

/// A way to lose the server, for one of two candidates alone.
struct cut_off {
    const char* name;
    void (*begin)(proxy& wire);
};

void PrintTo(const cut_off& c, std::ostream* out) { *out << c.name; }

class cut_off_leader_test : public lead_command_test,
                            public ::testing::WithParamInterface<cut_off> {};

TEST_P(cut_off_leader_test, ends_its_command_within_its_lease_and_another_leads) {
    proxy wire{server.socket_path()};
    std::string through = url();
    through.replace(through.find(server.socket_path()), std::string::npos, wire.socket_path());
    program one{run_words({"--lead", "--lease", "4"}, with_stubborn_child(told_)),
                {{"CONCH_REDIS", through}}};
    expect_lead(one);
    program another{run_words({"--lead"}, leads), here()};
    EXPECT_TRUE(waits());
    GetParam().begin(wire);
    const std::int64_t since = wall_time();
    expect_lead(another);
    expect_nothing_beside_it();
    EXPECT_LT(last_sign(), since + 4'000'000'000);
    wire.heal();
    EXPECT_TRUE(waits()) << "it campaigns again";
    another.end_input();
    EXPECT_EQ(another.finish().status, 0);
    expect_lead(one);
}

INSTANTIATE_TEST_SUITE_P(by, cut_off_leader_test,
                         ::testing::Values(cut_off{"silence", [](proxy& wire) { wire.stall(); }},
                                           cut_off{"lost_answers",
                                                   [](proxy& wire) { wire.stall_replies(); }},
                                           cut_off{"a_refusal",
                                                   [](proxy& wire) {
                                                       wire.refuse();
                                                       wire.cut();
                                                   }}),
                         [](const auto& which) { return std::string{which.param.name}; });

TEST_F(lead_command_test, max_hold_is_a_term) {
    program one{run_words({"--lead", "--max-hold", "3"}, leads), here()};
    expect_lead(one);
    program another{run_words({"--lead"}, leads), here()};
    EXPECT_TRUE(waits());
    expect_lead(another);
    EXPECT_TRUE(waits()) << "it campaigns again";
}

TEST_F(lead_command_test, a_signal_that_ends_the_command_ends_it_for_good) {
    program p{run_words({"--lead"}, leads), here()};
    expect_lead(p);
    p.signal(SIGTERM);
    EXPECT_EQ(p.finish().status, 128 + SIGTERM);
    expect_only_the_fence();
}

TEST_F(lead_command_test, a_signal_while_the_command_is_ended_does_too) {
    program p{run_words(candidacy(briefly), {"bash", "-c",
                                             "trap 'echo told' TERM; echo leads $CONCH_FENCE\n"
                                             "while :; do read -t 1 x; done"}),
              here()};
    expect_lead(p);
    raw.must({"DEL", "lock"});
    p.wait_for("told\n");
    p.signal(SIGINT);
    EXPECT_EQ(p.finish().status, 128 + SIGINT);
    expect_only_the_fence();
}

TEST_F(lead_command_test, a_signal_ends_the_campaign) {
    take_as_stranger(raw, "lock");
    program p{run_words({"--lead"}, leads), here()};
    EXPECT_TRUE(waits());
    p.signal(SIGTERM);
    EXPECT_EQ(p.finish().status, 128 + SIGTERM);
    EXPECT_FALSE(raw.exists("redisson_lock_timeout:{lock}"));
}

TEST_F(lead_command_test, who_watches_the_leader_hears_of_it) {
    client c{io, push_only()};
    const leader l{c, "lock"};
    program p{run_words({"--lead"}, leads), here()};
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
                               {"--at-least", "1"},
                               {"-w", "0"}}) {
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
