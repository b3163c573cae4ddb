// SPDX-License-Identifier: BSL-1.0
// `conch demo`: what it shows, how it ends, and what it leaves behind.
#include "support/program.hpp"
#include "support/redis_test.hpp"

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace conch::test;

/// The value in the table's row of this name.
long value_of(const std::string& table, const std::string& row) {
    const auto at = table.find("\n  " + row + "  ");
    if (at == std::string::npos) {
        ADD_FAILURE() << "no row \"" << row << "\" in: " << table;
        return -1;
    }
    const auto from = table.find_first_not_of(' ', at + 3 + row.size());
    std::string digits = table.substr(from, table.find_first_of(" \n", from) - from);
    std::erase(digits, ',');
    return std::stol(digits);
}

void expect_one_line(const std::string& text) {
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    EXPECT_TRUE(text.ends_with('\n')) << text;
}

bool is_worker(pid_t pid) {
    return process_file(pid, "cmdline").find("demo-worker") != std::string::npos;
}

/// The demo gets a temporary folder of its own, which also marks every process that it starts.
class demo_test : public ::testing::Test {
protected:
    std::vector<std::string> demo(std::vector<std::string> options) const {
        options.insert(options.begin(), {CONCH_PROGRAM_PATH, "demo"});
        return options;
    }
    program::environment settings() const {
        return {{"TMPDIR", folder.path()}, {"CONCH_REDIS", ""}};
    }
    std::vector<std::string> long_demo() const {
        return demo({"--processes", "2", "--coroutines", "5", "--seconds", "600"});
    }
    std::vector<pid_t> processes() const { return processes_with("TMPDIR", folder.path()); }

    std::vector<pid_t> workers() const {
        std::vector<pid_t> all = processes();
        std::erase_if(all, [](pid_t pid) { return !is_worker(pid); });
        return all;
    }

    /// Waits until the coroutines contend, at the demo's private server.
    void wait_until_busy(program& p) {
        p.wait_for("a private redis-server\n");
        ASSERT_EQ(folder.entries().size(), 1u);
        raw_client raw{folder.path() + '/' + folder.entries().front() + "/redis.sock"};
        ASSERT_TRUE(run_until(io, [&] { return raw.calls("evalsha") > 100; }));
    }

    void expect_nothing_left() const {
        EXPECT_EQ(processes(), std::vector<pid_t>{});
        EXPECT_EQ(folder.entries(), std::vector<std::string>{});
    }

    void expect_status_after(int signal, int status) {
        program p{long_demo(), settings()};
        wait_until_busy(p);
        p.signal(signal);
        const ended& end = p.finish();
        EXPECT_EQ(end.status, status) << end.err;
        EXPECT_EQ(value_of(end.out, "lost updates"), 0);
        EXPECT_EQ(value_of(end.out, "overlaps"), 0);
        expect_nothing_left();
    }

    temporary_folder folder{};
    asio::io_context io{};
};

TEST_F(demo_test, a_run_shows_acquisitions_and_no_loss) {
    program p{demo({"--processes", "2", "--coroutines", "5", "--seconds", "0.5"}), settings()};
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 0);
    EXPECT_EQ(end.err, "");
    EXPECT_NE(end.out.find("2 processes of 5 coroutines"), std::string::npos) << end.out;
    EXPECT_GT(value_of(end.out, "acquisitions"), 0);
    EXPECT_EQ(value_of(end.out, "lost updates"), 0);
    EXPECT_EQ(value_of(end.out, "overlaps"), 0);
    EXPECT_EQ(value_of(end.out, "fence errors"), 0);
    EXPECT_NE(end.out.find("passed"), std::string::npos) << end.out;
}

TEST_F(demo_test, a_run_leaves_no_process_and_no_folder) {
    program p{demo({"--processes", "2", "--coroutines", "5", "--seconds", "0.5"}), settings()};
    p.wait_for("a private redis-server\n");
    EXPECT_FALSE(folder.entries().empty()) << "this test looks at the wrong folder";
    EXPECT_FALSE(processes().empty()) << "this test can't see the processes";
    EXPECT_EQ(p.finish().status, 0);
    expect_nothing_left();
}

TEST_F(demo_test, sigterm_ends_it_with_143_and_leaves_nothing) {
    expect_status_after(SIGTERM, 143);
}

TEST_F(demo_test, sigint_ends_it_with_130_and_leaves_nothing) { expect_status_after(SIGINT, 130); }

TEST_F(demo_test, sighup_ends_it_with_129_and_leaves_nothing) { expect_status_after(SIGHUP, 129); }

TEST_F(demo_test, a_signal_while_the_server_starts_leaves_nothing) {
    program p{long_demo(), settings()};
    ASSERT_TRUE(run_until(io, [&] {
        const std::vector<std::string> all = folder.entries();
        return std::any_of(all.begin(), all.end(),
                           [](const std::string& one) { return one.starts_with("conch-redis-"); });
    }));
    p.signal(SIGTERM);
    EXPECT_EQ(p.finish().status, 143);
    expect_nothing_left();
}

TEST_F(demo_test, sigkill_leaves_no_process) {
    program p{long_demo(), settings()};
    wait_until_busy(p);
    p.signal(SIGKILL);
    EXPECT_EQ(p.finish().signal, SIGKILL);
    EXPECT_TRUE(run_until(io, [&] { return processes().empty(); }));
}

TEST_F(demo_test, a_killed_worker_fails_the_demo_and_nothing_is_left) {
    program p{long_demo(), settings()};
    wait_until_busy(p);
    ASSERT_EQ(workers().size(), 2u);
    ::kill(workers().front(), SIGKILL);
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 1);
    EXPECT_NE(end.out.find("FAILED: not every process came to its end"), std::string::npos)
        << end.out;
    expect_nothing_left();
}

TEST_F(demo_test, a_lock_that_is_taken_away_fails_the_demo) {
    const conch::cli::private_redis server;
    raw_client raw{server.socket_path()};
    program p{demo({"--processes", "2", "--coroutines", "5", "--seconds", "600", "--redis",
                    server.url()}),
              settings()};
    const auto deleted = [&] {
        const auto keys = raw.must({"KEYS", "conch:demo:*"}).items;
        return !keys.empty() && raw.must({"DEL", keys.front().text}).number == 1;
    };
    ASSERT_TRUE(run_until(io, deleted));
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 1);
    EXPECT_NE(end.out.find("FAILED"), std::string::npos) << end.out;
    expect_nothing_left();
}

TEST_F(demo_test, on_a_named_server_it_leaves_no_key_but_expiring_ones) {
    const conch::cli::private_redis server;
    raw_client raw{server.socket_path()};
    program p{demo({"--processes", "2", "--coroutines", "5", "--seconds", "0.5", "--redis",
                    server.url()}),
              settings()};
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 0) << end.err;
    EXPECT_GT(value_of(end.out, "acquisitions"), 0);
    EXPECT_GT(raw.calls("evalsha"), 100u) << "it ran somewhere else";
    for (const reply& key : raw.must({"KEYS", "*"}).items) {
        EXPECT_GT(raw.pttl(key.text), 0) << key.text;
    }
    EXPECT_LE(raw.dbsize(), 1);
    expect_nothing_left();
}

TEST_F(demo_test, a_server_that_is_not_there_is_69_and_one_line) {
    const std::string nowhere = "unix://" + folder.path() + "/none.sock";
    program p{demo({"--redis", nowhere}), settings()};
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 69);
    expect_one_line(end.err);
    expect_nothing_left();
}

TEST_F(demo_test, valkey_server_will_do_where_there_is_no_redis_server) {
    const temporary_folder path{};
    const std::string stand_in = path.path() + "/valkey-server";
    std::ofstream{stand_in} << "#!/bin/sh\nPATH='" << std::getenv("PATH")
                            << "' exec redis-server \"$@\"\n";
    ASSERT_EQ(::chmod(stand_in.c_str(), 0700), 0);
    program p{demo({"--seconds", "0.2"}), {{"TMPDIR", folder.path()}, {"PATH", path.path()}}};
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 0) << end.err;
    EXPECT_GT(value_of(end.out, "acquisitions"), 0);
    expect_nothing_left();
}

TEST_F(demo_test, without_redis_server_it_is_69_and_one_line) {
    program p{demo({}), {{"TMPDIR", folder.path()}, {"PATH", folder.path()}}};
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 69);
    expect_one_line(end.err);
    EXPECT_NE(end.err.find("redis-server"), std::string::npos) << end.err;
    expect_nothing_left();
}

TEST_F(demo_test, bad_numbers_are_64_and_one_line) {
    const std::vector<std::vector<std::string>> wrong{{"--processes", "0"},
                                                      {"--processes", "-1"},
                                                      {"--processes", "257"},
                                                      {"--processes", "2x"},
                                                      {"--processes="},
                                                      {"--coroutines", "0"},
                                                      {"--coroutines", "1.5"},
                                                      {"--coroutines", "10001"},
                                                      {"--coroutines", "99999999999999999999"},
                                                      {"--seconds", "0"},
                                                      {"--seconds", "-1"},
                                                      {"--seconds", "nan"},
                                                      {"--seconds", "inf"},
                                                      {"--seconds", "1x"},
                                                      {"--seconds", "86401"},
                                                      {"--seconds"},
                                                      {"--hours", "1"},
                                                      {"5"}};
    for (const auto& words : wrong) {
        program p{demo(words), settings()};
        const ended& end = p.finish();
        EXPECT_EQ(end.status, 64) << words.back();
        EXPECT_EQ(end.out, "") << words.back();
        expect_one_line(end.err);
    }
}

}  // namespace
