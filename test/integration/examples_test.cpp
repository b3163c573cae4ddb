// SPDX-License-Identifier: BSL-1.0
// The small programs of test/examples: each runs to its end and prints what the pages say.
#include "support/program.hpp"
#include "support/redis_test.hpp"

#include <boost/asio/ip/host_name.hpp>

#include <algorithm>
#include <string>

namespace {

using namespace conch::test;

class examples_test : public redis_test {
protected:
    std::string output_of(const std::string& name) {
        program example{{std::string{EXAMPLES_FOLDER} + "/example_" + name, url()}};
        const ended& end = example.finish();
        EXPECT_EQ(end.status, 0);
        EXPECT_EQ(end.err, "");
        EXPECT_TRUE(raw.channels().empty());
        return end.out;
    }
};

TEST_F(examples_test, first) {
    EXPECT_EQ(output_of("first"), "settling order 7\n");
    EXPECT_EQ(raw.dbsize(), 0);
}

TEST_F(examples_test, the_first_ends_by_itself_and_says_what_is_wrong) {
    const std::string path = std::string{EXAMPLES_FOLDER} + "/example_first";
    program without_server{{path, "redis://127.0.0.1:1"}};
    EXPECT_EQ(without_server.finish().status, 1);
    EXPECT_NE(without_server.finish().err.find("no connection to the Redis server"),
              std::string::npos);
    EXPECT_NE(without_server.finish().err.find("(redis://127.0.0.1:1: Connection refused)"),
              std::string::npos);
    take_as_stranger(raw, "orders:7");
    program busy{{path, url()}};
    EXPECT_EQ(busy.finish().status, 1);
    EXPECT_NE(busy.finish().err.find("not granted in time"), std::string::npos);
}

TEST_F(examples_test, coroutines) {
    EXPECT_EQ(output_of("coroutines"),
              "charges 42 under a fence\n"
              "busy for others\n"
              "total 42\n"
              "imports part 0\n"
              "imports part 1\n"
              "lost: the lock was taken away: forced release, deleted key or lost data\n");
    EXPECT_FALSE(raw.exists("report"));
}

TEST_F(examples_test, deadlock) {
    const std::string out = output_of("deadlock");
    EXPECT_TRUE(out.starts_with("again\ntransfer\ntransfer\n\"accounts:1\" is held by ")) << out;
    EXPECT_EQ(raw.dbsize(), 0);
}

TEST_F(examples_test, once) {
    EXPECT_EQ(output_of("once"), "reports under a fence\nhost 1 ran it\nhost 2: it is done\n");
    EXPECT_FALSE(raw.exists("report"));
}

TEST_F(examples_test, leader) {
    program example{{std::string{EXAMPLES_FOLDER} + "/example_leader", url()}};
    example.wait_for("leads under fence ");
    example.wait_for("leader: " + boost::asio::ip::host_name() + "\n");
    example.signal(SIGTERM);
    const ended& end = example.finish();
    EXPECT_EQ(end.status, 0);
    EXPECT_TRUE(end.err.ends_with(": the client is closed\n")) << end.err;
    EXPECT_FALSE(raw.exists("leader"));
}

TEST_F(examples_test, callbacks) {
    const std::string out = output_of("callbacks");
    for (const char* line : {"job 1 runs\n", "job 2 runs\n", "job 3 runs\n", "job 1: done\n",
                             "job 2: done\n", "job 3: done\n"}) {
        EXPECT_NE(out.find(line), std::string::npos) << line << " is not in: " << out;
    }
    EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 6);
    EXPECT_EQ(raw.dbsize(), 0);
}

TEST_F(examples_test, token_mutex) {
    EXPECT_EQ(output_of("token_mutex"), "rebuilding\n");
    EXPECT_EQ(raw.dbsize(), 0);
}

TEST_F(examples_test, metrics) {
    EXPECT_EQ(output_of("metrics"),
              "orders: 3 acquired\n"
              "  waits that ended granted: 3\n"
              "  waits that ended busy: 3\n");
    EXPECT_EQ(raw.dbsize(), 0);
}

TEST_F(examples_test, multi_lock) {
    EXPECT_EQ(output_of("multi_lock"), "transfer\ntransfer\n");
    EXPECT_EQ(raw.dbsize(), 0);
}

TEST_F(examples_test, fair_mutex) {
    EXPECT_EQ(output_of("fair_mutex"), "customer 1 pays\ncustomer 2 pays\ncustomer 3 pays\n");
}

TEST_F(examples_test, shared_mutex) {
    EXPECT_EQ(output_of("shared_mutex"),
              "two readers\none writer\ntwo readers again\na body that reads\n");
    EXPECT_FALSE(raw.exists("prices"));
}

TEST_F(examples_test, replicas) {
    EXPECT_EQ(output_of("replicas"), "not held: too few replicas acknowledged the lock in time\n");
    EXPECT_EQ(raw.dbsize(), 0);
}

TEST_F(examples_test, quorum) {
    const conch::cli::private_redis second;
    const conch::cli::private_redis third;
    program example{{std::string{EXAMPLES_FOLDER} + "/example_quorum", server.url(), second.url(),
                     third.url()}};
    const ended& end = example.finish();
    EXPECT_EQ(end.status, 0);
    EXPECT_EQ(end.out, "leads\n");
    EXPECT_EQ(end.err, "");
    EXPECT_EQ(raw.dbsize(), 0);
}

TEST_F(examples_test, semaphore) {
    EXPECT_EQ(output_of("semaphore"), "three permits\nall are taken\n3 are left\n");
    EXPECT_EQ(raw.get("downloads"), "3");
}

TEST_F(examples_test, permits) {
    EXPECT_EQ(output_of("permits"), "three licences\none is left\nall at once\n3 are left\n");
    EXPECT_EQ(raw.get("licences"), "3");
}

TEST_F(examples_test, latch) {
    EXPECT_EQ(output_of("latch"),
              "cache 1 is filled\ncache 2 is filled\ncache 3 is filled\nall are: serving\n");
    EXPECT_FALSE(raw.exists("warm:2026-11"));
}

TEST_F(examples_test, rate_limiter) {
    std::string said = output_of("rate_limiter");
    // On a slow machine the second call came so late that it still counts.
    const std::string late = "call 3 goes out, 0 left";
    if (const auto at = said.find(late); at != std::string::npos) {
        said.replace(at, late.size(), "call 3 goes out, 1 left");
    }
    EXPECT_EQ(said,
              "call 1 goes out, 1 left\n"
              "call 2 goes out, 0 left\n"
              "call 3 must wait, 0 left\n"
              "call 3 goes out, 1 left\n"
              "paced call 1\npaced call 2\npaced call 3\npaced call 4\n"
              "price 4, news 4, then none\n");
}

TEST_F(examples_test, guarded) {
    EXPECT_EQ(output_of("guarded"),
              "updates user 7\n"
              "pays 500 for A1\n"
              "please do not submit twice\n");
    EXPECT_GT(raw.pttl("pay:A1:500"), 0);
    EXPECT_EQ(raw.dbsize(), 1);
}

TEST_F(examples_test, blocking) {
    EXPECT_EQ(output_of("blocking"),
              "counted to 4\n"
              "busy for others\n"
              "lost: the lock was taken away: forced release, deleted key or lost data\n"
              "no third call within a minute\n");
    EXPECT_FALSE(raw.exists("counter"));
}

}  // namespace
