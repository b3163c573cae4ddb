// SPDX-License-Identifier: BSL-1.0
// `conch run --once-per TIME`: of all hosts that start it, one runs the command.
#include "support/command_fixture.hpp"

#include <chrono>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

const words yearly{"--once-per", "365d"};
const std::string note_of_lock = "conch_done:{lock}";

/// Says that it runs, and ends well when it is told to end.
const words ends_when_told{"sh", "-c",
                           "trap 'exit 0' TERM INT HUP QUIT; echo in; while :; do :; done"};

class once_command_test : public command_fixture {
protected:
    static words with(words options) {
        options.insert(options.begin(), yearly.begin(), yearly.end());
        return options;
    }
    bool noted() { return raw.exists(note_of_lock); }
    std::int64_t note() { return std::stoll(raw.get(note_of_lock).value_or("-1")); }
    program started(const words& options, const words& command) {
        return program{run_words(with(options), command), here()};
    }
    /// On a host whose clock is ahead by this.
    program started_ahead(std::chrono::seconds by, const words& command) {
        program::environment host = here();
        host["LD_PRELOAD"] = PROGRAMS_FOLDER "/libconch_wrong_clock.so";
        host["WRONG_CLOCK"] = std::to_string(by.count());
        host["ASAN_OPTIONS"] = "verify_asan_link_order=0";
        return program{run_words(yearly, command), host};
    }
};

TEST_F(once_command_test, who_comes_later_is_told_so_in_one_line_and_ends_well) {
    const ended first = run_to_end(yearly, {"echo", "ran"});
    EXPECT_EQ(first.status, 0);
    EXPECT_EQ(first.out, "ran\n");
    EXPECT_EQ(first.err, "");
    EXPECT_FALSE(raw.exists("lock"));
    const ended second = run_to_end(yearly, {"echo", "ran"});
    EXPECT_EQ(second.status, 0);
    EXPECT_EQ(second.out, "");
    expect_one_line(second.err);
    expect_in("conch run: the run of 20", second.err);
    expect_in(":00 UTC of \"lock\" (", second.err);
    expect_in(") is done, or a later one is; nothing was run\n", second.err);
    const ended quiet = run_to_end(with({"-q"}), {"echo", "ran"});
    EXPECT_EQ(quiet.status, 0);
    EXPECT_EQ(quiet.out + quiet.err, "");
}

TEST_F(once_command_test, hosts_whose_clocks_are_wrong_run_it_once) {
    constexpr std::chrono::seconds three_years = 3 * 365 * 24h;
    const words tell_the_time{"date", "+%s"};
    const auto seconds = wall_time() / 1'000'000'000;
    const ended behind = started_ahead(-three_years, tell_the_time).finish();
    EXPECT_EQ(behind.status, 0) << behind.err;
    EXPECT_LT(std::stoll(behind.out), seconds - three_years / 2s) << "its clock is not wrong";
    for (const auto by : {three_years, 0s, -three_years}) {
        const ended other = started_ahead(by, tell_the_time).finish();
        EXPECT_EQ(other.status, 0);
        EXPECT_EQ(other.out, "") << "it ran again";
        expect_one_line(other.err);
    }
    EXPECT_GT(note() / 1000, seconds - three_years / 2s);
}

TEST_F(once_command_test, who_comes_meanwhile_waits_and_runs_nothing) {
    program first = started({}, until_end_of_input);
    first.wait_for("in\n");
    program second = started({}, {"echo", "ran"});
    ASSERT_TRUE(waiter_listens());
    EXPECT_EQ(run_to_end(with({"-n"}), {"echo", "ran"}).status, 1);
    EXPECT_FALSE(noted());
    first.end_input();
    EXPECT_EQ(first.finish().status, 0);
    const ended end = second.finish();
    EXPECT_EQ(end.status, 0);
    EXPECT_EQ(end.out, "");
    expect_one_line(end.err);
}

TEST_F(once_command_test, a_runner_that_is_killed_lets_another_run_it_once) {
    program first = started({}, until_end_of_input);
    first.wait_for("in\n");
    program second = started({}, {"echo", "ran"});
    program third = started({}, {"echo", "ran"});
    ASSERT_TRUE(run_until(io, [&] { return listening("lock", 2); }));
    first.signal(SIGKILL);
    first.end_input();  // so does its command
    raw.must({"PEXPIRE", "lock", "1"});
    raw.must({"PUBLISH", channel_of("lock"), "0"});
    const ended one = second.finish();
    const ended other = third.finish();
    EXPECT_EQ(one.status, 0);
    EXPECT_EQ(other.status, 0);
    EXPECT_EQ(one.out + other.out, "ran\n");
    EXPECT_TRUE(noted());
}

TEST_F(once_command_test, any_exit_status_is_a_run) {
    EXPECT_EQ(run_to_end(yearly, {"sh", "-c", "exit 3"}).status, 3);
    EXPECT_EQ(run_to_end(yearly, {"echo", "ran"}).out, "");
}

TEST_F(once_command_test, a_command_that_a_signal_ends_is_run_again) {
    program p = started({}, until_end_of_input);
    p.wait_for("in\n");
    p.signal(SIGTERM);
    EXPECT_EQ(p.finish().status, 128 + SIGTERM);
    EXPECT_FALSE(noted());
    EXPECT_EQ(run_to_end(yearly, {"sh", "-c", "kill -9 $$"}).status, 128 + SIGKILL);
    EXPECT_EQ(run_to_end(yearly, {"/no/such/command"}).status, 127);
    EXPECT_EQ(run_to_end(yearly, {"echo", "ran"}).out, "ran\n");
}

TEST_F(once_command_test, a_command_that_ends_well_because_it_was_told_to_end_is_run_again) {
    for (const auto& [number, name] : std::vector<std::pair<int, std::string>>{
             {SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}, {SIGHUP, "SIGHUP"}, {SIGQUIT, "SIGQUIT"}}) {
        program p = started({}, ends_when_told);
        p.wait_for("in\n");
        p.signal(number);
        const ended end = p.finish();
        EXPECT_EQ(end.status, 128 + number) << number;
        expect_one_line(end.err);
        expect_in("is not noted as done, as " + name + " came: it may be run again\n", end.err);
        EXPECT_FALSE(noted()) << number;
    }
    EXPECT_EQ(run_to_end(yearly, {"echo", "ran"}).out, "ran\n");
}

TEST_F(once_command_test, a_command_that_fails_when_it_was_told_to_end_keeps_its_status) {
    program p = started({}, {"sh", "-c", "trap 'exit 3' TERM; echo in; while :; do :; done"});
    p.wait_for("in\n");
    p.signal(SIGTERM);
    const ended end = p.finish();
    EXPECT_EQ(end.status, 3);
    expect_one_line(end.err);
    expect_in("is not noted as done, as SIGTERM came: it may be run again\n", end.err);
    EXPECT_FALSE(noted());
}

TEST_F(once_command_test, a_status_that_tells_of_a_signal_is_no_run) {
    EXPECT_EQ(run_to_end(yearly, {"sh", "-c", "sh -c 'kill $$'; exit $?"}).status, 128 + SIGTERM);
    EXPECT_FALSE(noted());
    EXPECT_EQ(run_to_end(yearly, {"sh", "-c", "exit 255"}).status, 255);
    EXPECT_TRUE(noted());
}

TEST_F(once_command_test, what_can_not_be_noted_ends_in_an_error) {
    for (const auto& [own, expected] : {std::pair{"0", 69}, std::pair{"3", 3}}) {
        program p =
            started({"--lease", "3"}, {"sh", "-c", std::string{"echo in; cat; exit "} + own});
        p.wait_for("in\n");
        raw.must({"CONFIG", "SET", "maxmemory", "1"});
        p.end_input();
        const ended end = p.finish();
        raw.must({"CONFIG", "SET", "maxmemory", "0"});
        EXPECT_EQ(end.status, expected);
        expect_one_line(end.err);
        expect_in("is done could not be noted (the server is out of memory: ", end.err);
        expect_in("OOM command not allowed", end.err);
        expect_in("): it may be run again\n", end.err);
        EXPECT_FALSE(noted());
    }
}

TEST_F(once_command_test, what_a_slow_server_notes_late_is_noted) {
    program p = started({"--connect-timeout", "0.2"}, until_end_of_input);
    p.wait_for("in\n");
    raw.must({"CLIENT", "PAUSE", "2000", "ALL"});
    p.end_input();
    const ended end = p.finish();
    EXPECT_EQ(end.status, 0);
    EXPECT_EQ(end.err, "");
    EXPECT_TRUE(noted());
}

TEST_F(once_command_test, what_the_server_refuses_to_tell_is_told_in_its_words) {
    may_refuse = true;
    raw.must({"ACL", "SETUSER", "few", "on", ">secret", "~lock", "&*", "+@all"});
    const ended end = to_end({"run", "--once-per", "1d", "lock", "--", "echo", "ran"},
                             "unix://few:secret@" + server.socket_path());
    EXPECT_EQ(end.status, 69);
    EXPECT_EQ(end.out, "");
    expect_one_line(end.err);
    expect_in("whether the run of \"lock\" (", end.err);
    expect_in(") is done can't be told (", end.err);
    expect_in("NOPERM", end.err);
    expect_in("); nothing was run\n", end.err);
    EXPECT_FALSE(raw.exists("lock"));
}

TEST_F(once_command_test, what_waited_into_the_next_period_came_for_the_one_before) {
    constexpr std::int64_t period = 4000;
    const words each{"--once-per", "4"};
    const auto now = [&] {
        const auto time = raw.must({"TIME"}).items;
        return std::stoll(time.at(0).text) * 1000 + std::stoll(time.at(1).text) / 1000;
    };
    bool judged = false;
    while (!judged) {
        run_until(io, [&] { return now() % period < period / 4; });
        const std::int64_t began = now() / period;
        raw.must({"DEL", note_of_lock});
        program first{run_words(each, until_end_of_input), here()};
        first.wait_for("in\n");
        program second{run_words(each, {"echo", "ran"}), here()};
        ASSERT_TRUE(waiter_listens());
        judged = now() - began * period < period / 2;
        run_until(io, [&] { return now() / period > began; });
        first.end_input();
        EXPECT_EQ(first.finish().status, 0);
        const ended& end = second.finish();
        EXPECT_EQ(end.status, 0);
        EXPECT_TRUE(!judged || end.out.empty()) << end.out;
        EXPECT_TRUE(!judged || note() == began * period);
    }
}

TEST_F(once_command_test, what_lost_its_lock_is_run_again) {
    program p = started({"--lease", "3"}, until_end_of_input);
    p.wait_for("in\n");
    raw.must({"DEL", "lock"});
    const ended told = p.finish();
    EXPECT_EQ(told.status, 75);
    expect_one_line(told.err);
    EXPECT_FALSE(noted());
    // Without its guard knowing: the end of the command finds it.
    program q = started({}, until_end_of_input);
    q.wait_for("in\n");
    raw.must({"DEL", "lock"});
    take_as_stranger(raw, "lock");
    q.end_input();
    const ended end = q.finish();
    EXPECT_EQ(end.status, 75) << end.err;
    expect_one_line(end.err);
    expect_in("is done could not be noted", end.err);
    EXPECT_FALSE(noted());
}

TEST_F(once_command_test, what_ends_well_as_its_lock_is_about_to_be_lost_is_run_again) {
    const ended end = run_to_end(with({"--max-hold", "3"}), ends_when_told);
    EXPECT_EQ(end.status, 75);
    expect_in("--max-hold", end.err);
    EXPECT_FALSE(noted());
}

TEST_F(once_command_test, periods_begin_at_the_time_of_day_in_utc) {
    constexpr std::int64_t hour = 3'600'000;
    run_to_end({"--once-per", "1d"}, {"true"});
    EXPECT_EQ(note() % (24 * hour), 0);
    for (const auto& [at, ms] : {std::pair{"02:30", 5 * hour / 2},
                                 {"2:30", 5 * hour / 2},
                                 {"23:59:59", 24 * hour - 1000}}) {
        raw.must({"DEL", note_of_lock});
        run_to_end({"--once-per", "1d", "--at", at}, {"true"});
        EXPECT_EQ(note() % (24 * hour), ms) << at;
    }
}

TEST_F(once_command_test, the_next_period_is_run) {
    run_to_end(yearly, {"true"});
    raw.must({"SET", note_of_lock, std::to_string(note() - 1)});
    EXPECT_EQ(run_to_end(yearly, {"echo", "ran"}).out, "ran\n");
}

TEST_F(once_command_test, a_key_that_is_no_note_is_an_error_and_nothing_is_run) {
    raw.must({"SET", note_of_lock, "yesterday"});
    const ended end = run_to_end(yearly, {"echo", "ran"});
    EXPECT_EQ(end.status, 69);
    EXPECT_EQ(end.out, "");
    expect_one_line(end.err);
    expect_in("the key \"conch_done:{lock}\" holds something else); nothing was run\n", end.err);
    EXPECT_FALSE(raw.exists("lock"));
    raw.must({"SET", "conch_done:{a}lock", "yesterday"});
    const ended tagged = to_end({"run", "--once-per", "1d", "{a}lock", "--", "true"}, url());
    expect_in("the key \"conch_done:{a}lock\" holds something else", tagged.err);
}

TEST_F(once_command_test, the_lock_may_stay_for_a_while_as_well) {
    EXPECT_EQ(run_to_end(with({"--at-least", "300"}), {"true"}).status, 0);
    EXPECT_TRUE(raw.exists("lock"));
    EXPECT_TRUE(noted());
}

}  // namespace
