// SPDX-License-Identifier: BSL-1.0
// `conch rate`, started as from a shell.
#include "support/command_fixture.hpp"
#include "support/scripted_peer.hpp"

#include <signal.h>

#include <atomic>
#include <deque>
#include <fstream>
#include <memory>

namespace {

using namespace conch;
using namespace conch::test;

class rate_command_test : public command_fixture {
protected:
    /// conch rate --limit N --per SECS OPTION... name -- COMMAND...
    static words rate_words(const words& limit, const words& options, const words& command) {
        words all = conch({"rate", "--limit", limit.front(), "--per", limit.back()});
        all.insert(all.end(), options.begin(), options.end());
        all.insert(all.end(), {"name", "--"});
        all.insert(all.end(), command.begin(), command.end());
        return all;
    }
    ended rate(const words& limit, const words& options,
               const words& command = {"echo", "ran"}) const {
        program p{rate_words(limit, options, command), here()};
        return p.finish();
    }
    /// All permits of an hour are gone.
    void use_up() { ASSERT_EQ(rate({"2", "3600"}, {"--permits", "2"}).status, 0); }
    /// A program that waits for longer than the test lasts, and says so.
    std::unique_ptr<program> waiting(const words& more = {}) {
        words options{"-v", "-w", "3700"};
        options.insert(options.end(), more.begin(), more.end());
        auto p =
            std::make_unique<program>(rate_words({"2", "3600"}, options, {"echo", "ran"}), here());
        p->wait_for_error("waiting for \"name\": 2 of 2 in use, next in ");
        return p;
    }
    std::int64_t permits_in_use() {
        const reply sum = raw.must({"ZSCORE", "name", ""});
        return sum.is_nil() ? 0 : std::stoll(sum.text);
    }
    static void expect_refused(const ended& end, int status = 1) {
        EXPECT_EQ(end.status, status);
        EXPECT_EQ(end.out, "") << "the command ran";
    }
};

TEST_F(rate_command_test, runs_as_often_as_the_limit_allows_and_then_refuses) {
    for (int i = 0; i < 2; ++i) {
        const ended end = rate({"2", "3600"}, {});
        EXPECT_EQ(end.status, 0);
        EXPECT_EQ(end.out, "ran\n");
        EXPECT_EQ(end.err, "");
    }
    const ended end = rate({"2", "3600"}, {});
    expect_refused(end);
    expect_one_line(end.err);
    expect_in("conch rate: \"name\" (" + server.url() + "): refused: 2 of 2 in use, next in ",
              end.err);
    EXPECT_EQ(permits_in_use(), 2);
}

TEST_F(rate_command_test, sixteen_processes_at_once_share_one_limit) {
    std::deque<program> all;
    for (int i = 0; i < 16; ++i) {
        all.emplace_back(rate_words({"5", "3600"}, {}, {"echo", "ran"}), here());
    }
    int ran = 0;
    for (program& p : all) {
        const ended& end = p.finish();
        EXPECT_EQ(end.status, end.out == "ran\n" ? 0 : 1) << end.err;
        ran += end.status == 0 ? 1 : 0;
    }
    EXPECT_EQ(ran, 5);
}

TEST_F(rate_command_test, the_status_of_the_command_is_its_own) {
    EXPECT_EQ(rate({"9", "3600"}, {}, {"sh", "-c", "exit 7"}).status, 7);
    EXPECT_EQ(rate({"9", "3600"}, {}, {"sh", "-c", "kill -KILL $$"}).signal, SIGKILL);
    EXPECT_EQ(to_end({"rate", "--limit=9", "--per=3600", "name", "-c", "echo a; exit 3"}).status,
              3);
}

TEST_F(rate_command_test, the_command_takes_the_place_of_the_process) {
    program p{rate_words({"1", "3600"}, {"-v"}, {"sh", "-c", "echo $$"}), here()};
    const std::string number = std::to_string(p.pid());  // it has none once it is finished
    EXPECT_EQ(p.finish().out, number + '\n');
}

TEST_F(rate_command_test, the_command_gets_no_descriptor_and_no_connection_of_ours) {
    // 3 is the folder that ls reads.
    EXPECT_EQ(rate({"1", "3600"}, {"-v"}, {"ls", "/proc/self/fd"}).out, "0\n1\n2\n3\n");
}

TEST_F(rate_command_test, the_connection_is_closed_when_the_command_runs) {
    program p{rate_words({"1", "3600"}, {}, until_end_of_input), here()};
    p.wait_for("in\n");
    const auto list = [this] { return raw.must({"CLIENT", "LIST"}).text; };
    // The server hears of its end in its own time.
    EXPECT_TRUE(run_until(io, [&] { return list().find("name=conch:") == std::string::npos; }))
        << list();
}

TEST_F(rate_command_test, the_command_has_the_signals_that_this_process_was_started_with) {
    const std::string told = "grep -E 'Sig(Pnd|Blk|Ign|Cgt)' /proc/self/status";
    const std::string before = "trap '' USR2; ";
    program plain{{"/bin/bash", "-c", before + "exec bash -c \"" + told + '"'}};
    words line{"/bin/bash", "-c", before + "exec \"$@\"", "bash"};
    const words rate = rate_words({"1", "3600"}, {}, {"bash", "-c", told});
    line.insert(line.end(), rate.begin(), rate.end());
    program limited{line, here()};
    EXPECT_EQ(limited.finish().out, plain.finish().out);
    EXPECT_FALSE(plain.finish().out.empty());
}

TEST_F(rate_command_test, a_message_that_nobody_reads_does_not_end_the_command) {
    words line{"/bin/bash", "-c", "exec 3> >(exit 0); wait $!; \"$@\" 2>&3 3>&-; echo $?", "bash"};
    const words rate = rate_words({"1", "3600"}, {"-v"}, {"sh", "-c", "echo ran; exit 4"});
    line.insert(line.end(), rate.begin(), rate.end());
    program p{line, here()};
    EXPECT_EQ(p.finish().out, "ran\n4\n");
}

TEST_F(rate_command_test, more_permits_than_are_left_are_all_or_none) {
    EXPECT_EQ(rate({"5", "3600"}, {"--permits", "3"}).status, 0);
    const ended end = rate({"5", "3600"}, {"--permits", "3"});
    expect_refused(end);
    expect_in("3 of 5 in use, 3 wanted, next in ", end.err);
    EXPECT_EQ(rate({"5", "3600"}, {"--permits", "2"}).status, 0);
}

TEST_F(rate_command_test, fixed_windows_are_counted_by_one_number) {
    EXPECT_EQ(rate({"2", "3600"}, {"--fixed"}).status, 0);
    EXPECT_EQ(raw.get("name").value_or("none"), "1");
    EXPECT_EQ(rate({"2", "3600"}, {"--fixed"}).status, 0);
    expect_refused(rate({"2", "3600"}, {"--fixed"}));
}

TEST_F(rate_command_test, a_burst_is_all_that_an_even_pace_gives_at_once) {
    EXPECT_EQ(rate({"5", "3600"}, {"--burst", "2", "--permits", "2"}).status, 0);
    const ended end = rate({"5", "3600"}, {"--burst", "2"});
    expect_refused(end);
    expect_in("2 of 2 in use, next in ", end.err);
}

TEST_F(rate_command_test, a_wait_lasts_until_a_permit_is_free) {
    const auto start = clock::now();
    EXPECT_EQ(rate({"1", "1"}, {}).status, 0);
    const ended end = rate({"1", "1"}, {"-w", "15"});
    EXPECT_GE(clock::now() - start, 1s);
    EXPECT_EQ(end.status, 0);
    EXPECT_EQ(end.out, "ran\n");
    EXPECT_EQ(end.err, "");
}

TEST_F(rate_command_test, a_wait_that_is_too_short_is_1_and_runs_nothing) {
    use_up();
    const auto start = clock::now();
    const ended end = rate({"2", "3600"}, {"--wait", "600"});
    EXPECT_LT(clock::now() - start, 300s) << "it is known at once";
    expect_refused(end);
    expect_one_line(end.err);
    expect_in(": refused after ", end.err);
    EXPECT_EQ(permits_in_use(), 2);
}

TEST_F(rate_command_test, the_status_of_a_refusal_can_be_chosen) {
    use_up();
    expect_refused(rate({"2", "3600"}, {"-E", "9"}), 9);
    expect_refused(rate({"2", "3600"}, {"-w", "0.1", "--conflict-exit-code", "200"}), 200);
}

TEST_F(rate_command_test, quiet_says_nothing_of_a_refusal_and_hides_no_other_error) {
    use_up();
    EXPECT_EQ(rate({"2", "3600"}, {"-q"}).err, "");
    EXPECT_EQ(rate({"2", "3600"}, {"--quiet", "-w", "0.1"}).err, "");
    raw.must({"DEL", "name"});
    raw.must({"SET", "name", "no limit"});
    expect_one_line(rate({"2", "3600"}, {"-q"}).err);
}

TEST_F(rate_command_test, verbose_tells_what_was_granted) {
    const ended end = rate({"5", "3600"}, {"-v", "--permits", "2"});
    EXPECT_EQ(end.status, 0);
    expect_one_line(end.err);
    expect_in("conch rate: granted after ", end.err);
    expect_in(": 2 of 5 in use, all free again in 3600.00 s", end.err);
}

TEST_F(rate_command_test, a_missing_command_is_127) {
    const ended end = rate({"1", "3600"}, {}, {folder.path() + "/none"});
    expect_refused(end, 127);
    expect_one_line(end.err);
    EXPECT_EQ(permits_in_use(), 1);
}

TEST_F(rate_command_test, a_file_that_is_not_executable_is_126) {
    const std::string file = folder.path() + "/plain";
    std::ofstream{file} << "#!/bin/sh\n";
    const ended end = rate({"1", "3600"}, {}, {file});
    expect_refused(end, 126);
    expect_one_line(end.err);
}

TEST_F(rate_command_test, a_signal_ends_the_waiting) {
    use_up();
    for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGUSR1}) {
        const auto p = waiting();
        p->signal(signal);
        expect_refused(p->finish(), 128 + signal);
    }
    EXPECT_EQ(permits_in_use(), 2);
}

TEST_F(rate_command_test, a_signal_ends_the_wait_for_a_server_that_is_frozen) {
    server.freeze();
    program p{rate_words({"1", "3600"}, {"--connect-timeout", "600"}, {"echo", "ran"}), here()};
    // It has blocked its signals by the time that it has a socket.
    ASSERT_TRUE(run_until(io, [&] {
        const std::string text = process_file(p.pid(), "status");
        return text.find("SigBlk:\t0000000000000000") == std::string::npos &&
               text.find("Name:\tconch\n") != std::string::npos;
    }));
    p.signal(SIGTERM);
    expect_refused(p.finish(), 128 + SIGTERM);
}

TEST_F(rate_command_test, a_server_that_goes_away_is_waited_for) {
    EXPECT_EQ(rate({"1", "2"}, {}).status, 0);
    program p{rate_words({"1", "2"}, {"-v", "-w", "60"}, {"echo", "ran"}), here()};
    p.wait_for_error("waiting for \"name\"");
    server.kill();
    p.wait_for_error("no connection to ");
    server.start();
    EXPECT_EQ(p.finish().status, 0);
    EXPECT_EQ(p.finish().out, "ran\n");
}

TEST_F(rate_command_test, without_redis_it_is_69_and_one_line) {
    const ended end =
        to_end({"rate", "--limit=1", "--per=1", "-w", "600", "name", "echo", "ran"}, nowhere());
    expect_refused(end, 69);
    expect_one_line(end.err);
    expect_in("no connection to the Redis server", end.err);
}

TEST_F(rate_command_test, a_server_that_refuses_for_now_is_69_with_its_words_and_in_time) {
    raw.must({"CONFIG", "SET", "min-replicas-to-write", "1"});
    for (const words& options : {words{"-w", "1.5"}, words{"--connect-timeout", "1"}}) {
        const time_point start = clock::now();
        const ended end = rate({"2", "3600"}, options);
        EXPECT_LT(clock::now() - start, 4s) << "a first answer may take 5 s";
        expect_refused(end, 69);
        // Redis 6.2 has words of its own in front.
        expect_in("NOREPLICAS Not enough good replicas to write.", end.err);
        for (const char* wrong : {"may have been counted", "no connection", "is Redis running"}) {
            EXPECT_EQ(end.err.find(wrong), std::string::npos) << end.err;
        }
    }
    EXPECT_EQ(permits_in_use(), 0);
}

TEST_F(rate_command_test, a_server_that_refuses_for_now_is_waited_for) {
    raw.must({"CONFIG", "SET", "min-replicas-to-write", "1"});
    program p{rate_words({"2", "3600"}, {"-w", "600", "--connect-timeout", "0.5"}, {"echo", "ran"}),
              here()};
    p.wait_for_error("refused for now by ");
    run([] { return pass(1s); });  // longer than the first answer may take
    raw.must({"CONFIG", "SET", "min-replicas-to-write", "0"});
    EXPECT_EQ(p.finish().status, 0) << p.finish().err;
    EXPECT_EQ(p.finish().out, "ran\n");
}

TEST_F(rate_command_test, a_key_that_is_no_rate_limit_is_69_and_one_line) {
    raw.must({"SET", "name", "no limit"});
    const ended end = rate({"1", "3600"}, {});
    expect_refused(end, 69);
    expect_one_line(end.err);
    expect_in("no permit of \"name\": Redis at " + server.url(), end.err);
}

TEST_F(rate_command_test, bad_usage_is_64_and_one_line) {
    const words good{"--limit", "5", "--per", "1"};
    const std::vector<words> wrong{{},
                                   {"name", "true"},
                                   {"--limit", "5", "name", "true"},
                                   {"--per", "1", "name", "true"},
                                   {"--limit", "0", "--per", "1", "name", "true"},
                                   {"--limit", "5", "--per", "0", "name", "true"},
                                   {"--limit", "5", "--per", "soon", "name", "true"},
                                   {"--limit", "5", "--per", "1", "--permits=6", "name", "true"},
                                   {"--limit", "5", "--per", "1", "-w", "-1", "name", "true"},
                                   {"--limit", "5", "--per", "1", "-n", "name", "true"},
                                   {"--limit", "5", "--per", "1", "--plain", "name", "true"},
                                   {"--limit", "5", "--per", "1", "-qv", "name", "true"},
                                   {"--limit", "5", "--per", "1", "name"},
                                   {"--limit", "5", "--per", "1", "name", "--"},
                                   {"--limit", "5", "--per", "1", "", "true"},
                                   {"--limit", "5", "--per", "1", "name", "-w", "1", "true"},
                                   {"--limit", "5", "--per", "1", std::string(65537, 'x'), "true"}};
    for (const words& w : wrong) {
        words line{"rate"};
        line.insert(line.end(), w.begin(), w.end());
        const ended end = to_end(line);
        expect_refused(end, 64);
        expect_one_line(end.err);
        EXPECT_TRUE(end.err.starts_with("conch rate: ")) << end.err;
    }
    EXPECT_EQ(raw.calls("evalsha"), 0u);
}

/// A server that grants all permits; but its first connection ends, or is silent, at the question.
class lossy_rate_test : public rate_command_test {
protected:
    std::atomic<bool> silent{false};
    canned_redis redis{};
    scripted_peer peer{[this](std::size_t n, const words& w) -> reaction {
        if (w.empty() || !canned_redis::upper(w.front()).starts_with("EVAL")) {
            return redis.answer(n, w);
        }
        if (n == 0) {
            return {.hang_up = !silent};
        }
        return {"*4\r\n:1\r\n:1\r\n:0\r\n:1000\r\n"};
    }};
    ended ask(const words& options) const {
        program p{rate_words({"5", "1"}, options, {"echo", "ran"}),
                  {{"CONCH_REDIS", "unix://" + peer.socket_path()}}};
        return p.finish();
    }
};

TEST_F(lossy_rate_test, a_lost_answer_is_69_and_a_permit_may_have_been_counted) {
    const ended end = ask({});
    expect_refused(end, 69);
    expect_one_line(end.err);
    expect_in("may have been counted; nothing was run", end.err);
    EXPECT_EQ(peer.count("EVALSHA"), 1u) << "what may have been counted was asked for again";
}

TEST_F(lossy_rate_test, an_answer_that_does_not_come_is_69_and_a_permit_may_have_been_counted) {
    silent = true;
    const ended end = ask({"--connect-timeout", "2"});
    expect_refused(end, 69);
    expect_one_line(end.err);
    expect_in("may have been counted; nothing was run", end.err);
}

TEST_F(lossy_rate_test, who_waits_asks_again_after_a_lost_answer) {
    const ended end = ask({"-w", "600"});
    EXPECT_EQ(end.status, 0) << end.err;
    EXPECT_EQ(end.out, "ran\n");
    EXPECT_EQ(peer.count("EVALSHA"), 2u);
}

}  // namespace
