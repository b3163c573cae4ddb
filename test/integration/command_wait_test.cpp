// SPDX-License-Identifier: BSL-1.0
// `conch run` that waits for its lock while the server is away, or not ready yet.
#include "core/sanitizer.hpp"
#include "support/command_fixture.hpp"
#include "support/scripted_peer.hpp"

#include <signal.h>

#include <optional>

namespace {

using namespace conch;
using namespace conch::test;

using contact_command_test = command_fixture;

class wait_command_test : public command_fixture {
protected:
    /// Once it waits, the server is gone.
    void lose_server() {
        ASSERT_TRUE(waiter_listens());
        server.kill();
    }
    void SetUp() override { take_as_stranger(raw, "lock"); }
};

TEST_F(wait_command_test, slow_without_a_limit_it_waits_for_the_server_too) {
    program p{run_words({}, until_end_of_input), here()};
    lose_server();
    run([] { return pass(8s); });  // longer than any other command has patience
    server.start();
    p.wait_for("in\n");
    p.end_input();
    EXPECT_EQ(p.finish().status, 0);
    EXPECT_EQ(p.finish().err, "");
}

TEST_F(wait_command_test, a_wait_that_ends_while_the_server_is_gone_is_1_and_runs_nothing) {
    program p{run_words({"-w", "1"}, {"echo", "ran"}), here()};
    lose_server();
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 1);
    EXPECT_EQ(end.out, "");
    expect_one_line(end.err);
}

TEST_F(wait_command_test, sigterm_ends_the_wait_for_a_server_that_is_gone) {
    program p{run_words({}, {"echo", "ran"}), here()};
    lose_server();
    p.signal(SIGTERM);
    EXPECT_EQ(p.finish().status, 128 + SIGTERM);
    EXPECT_EQ(p.finish().out, "");
}

TEST_F(wait_command_test, verbose_tells_that_the_server_is_gone) {
    program p{run_words({"-v"}, {"true"}), here()};
    lose_server();
    p.wait_for_error("conch run: no connection to " + server.socket_path());
}

TEST_F(wait_command_test, a_server_that_comes_back_and_wants_another_password_ends_the_wait) {
    may_refuse = true;
    program p{run_words({}, {"echo", "ran"}), here()};
    ASSERT_TRUE(waiter_listens());
    raw.must({"ACL", "SETUSER", "conch", "resetpass", ">s3cret"});
    raw.must({"CLIENT", "KILL", "TYPE", "pubsub", "SKIPME", "yes"});
    raw.must({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 69);
    EXPECT_EQ(end.out, "");
    expect_one_line(end.err);
}

TEST_F(contact_command_test, a_server_that_is_there_and_loads_is_given_the_time_of_a_first_answer) {
    canned_redis redis;
    std::optional<time_point> ready;
    scripted_peer peer{[&](std::size_t n, const words& w) {
        if (w.empty() || canned_redis::upper(w.front()) != "EVALSHA") {
            return redis.answer(n, w);
        }
        ready = ready.value_or(clock::now() + 1s);  // longer than a refused connection is tried
        return clock::now() < *ready ? reaction{"-LOADING Redis is loading\r\n"}
                                     : redis.answer(n, w);
    }};
    const ended end = to_end({"run", "lock", "echo", "ran"}, "unix://" + peer.socket_path());
    EXPECT_EQ(end.status, 0) << end.err;
    EXPECT_EQ(end.out, "ran\n");
}

TEST_F(contact_command_test, a_server_that_is_there_and_loads_is_told_by_its_words) {
    canned_redis redis;
    scripted_peer peer{[&](std::size_t n, const words& w) {
        const bool script = !w.empty() && canned_redis::upper(w.front()) == "EVALSHA";
        return script ? reaction{"-LOADING Redis is loading\r\n"} : redis.answer(n, w);
    }};
    const std::string url = "unix://" + peer.socket_path();
    const words status{"status", "--connect-timeout", "0.5", "lock"};
    const time_point start = clock::now();
    for (const words& line : {status, {"run", "-w", "1", "lock", "echo", "ran"}}) {
        const ended end = to_end(line, url);
        EXPECT_EQ(end.status, 69);
        EXPECT_EQ(end.out, "");
        expect_in("(LOADING Redis is loading)", end.err);
        EXPECT_EQ(end.err.find("no connection"), std::string::npos) << end.err;
        EXPECT_EQ(end.err.find("is Redis running"), std::string::npos) << end.err;
    }
    EXPECT_LT(clock::now() - start, 5s) << "-w is the time of a first answer too";
}

// To look up a host takes descriptors, and a thread.
TEST_F(contact_command_test, a_process_without_descriptors_does_not_blame_the_server) {
    if (core::address_sanitizer) {
        GTEST_SKIP() << "the sanitizer needs descriptors of its own";
    }
    bool reached = false;
    for (int limit = 4; limit < 24; ++limit) {
        words line{"/bin/sh", "-c", "ulimit -n \"$0\"; exec \"$@\"", std::to_string(limit)};
        const words whole = conch({"status", "--redis", "redis://localhost:1", "lock"});
        line.insert(line.end(), whole.begin(), whole.end());
        program p{line};
        const std::string& err = p.finish().err;
        reached = err.find("Connection refused") != std::string::npos;
        EXPECT_EQ(err.find("is Redis running") != std::string::npos, reached) << limit << err;
        EXPECT_TRUE(reached || err.find("Too many open files") != std::string::npos) << err;
    }
    EXPECT_TRUE(reached);
}

}  // namespace
