// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_run.hpp"
#include "cli/private_redis.hpp"
#include "driver/tls.hpp"
#include "support/certificates.hpp"
#include "support/run.hpp"
#include "deployment/cluster_group.hpp"
#include "deployment/sentinel_group.hpp"

#include <gtest/gtest.h>
#include <boost/json/object.hpp>

#include <signal.h>

#include <chrono>
#include <cstddef>
#include <string>

namespace conch::test {
namespace {

double number(const boost::json::object& o, const char* field) {
    return o.at(field).to_number<double>();
}

/// `uncontended`, by one coroutine.
boost::json::object run_alone(const words& servers) {
    words line{"uncontended", "--coroutines", "1", "--seconds", "0.05"};
    line.insert(line.end(), servers.begin(), servers.end());
    return figures_of(line);
}

class each_topology : public ::testing::TestWithParam<const char*> {
protected:
    bool unknown() const { return std::string{GetParam()} == "tls" && !impl::has_tls(); }
};

INSTANTIATE_TEST_SUITE_P(bench, each_topology,
                         ::testing::Values("single", "tls", "sentinel", "cluster"),
                         [](const auto& one) { return std::string{one.param}; });

TEST_P(each_topology, takes_two_round_trips_for_a_pair) {
    if (unknown()) {
        GTEST_SKIP() << "built without TLS";
    }
    const auto o = run_alone({"--topology", GetParam()});
    EXPECT_EQ(o.at("topology").as_string(), GetParam());
    EXPECT_NEAR(number(o, "round_trips_per_pair"), 2, 0.01);
    EXPECT_GT(number(o, "ratio"), 0);
    const bool tls = std::string{GetParam()} == "tls";
    EXPECT_EQ(o.at("limit").as_string(), tls ? "without TLS" : "as conch");
}

TEST_P(each_topology, hands_locks_off_by_messages) {
    if (unknown()) {
        GTEST_SKIP() << "built without TLS";
    }
    const auto o = figures_of("handoff", {"--topology", GetParam()});
    EXPECT_EQ(o.at("topology").as_string(), GetParam());
    for (const char* field : {"p50_us", "raw_p50_us", "ratio_p50", "by_message"}) {
        EXPECT_GT(number(o, field), 0) << field;
    }
    // A pass takes six round trips by a message. On a busy machine it may need no message, and
    // fewer.
    EXPECT_GE(number(o, "round_trips_per_pass"), 2) << "an acquire and an unlock at least";
    EXPECT_LT(number(o, "round_trips_per_pass"), 6.5) << "wherever: nobody asks anybody else";
}

TEST(bench_topologies, sentinels_that_are_given_say_where_the_limit_is) {
    const sentinel_group group;
    const auto o = run_alone({"--redis", group.url()});
    EXPECT_EQ(o.at("topology").as_string(), "sentinel");
    EXPECT_NEAR(number(o, "round_trips_per_pair"), 2, 0.01);
    EXPECT_EQ(group.raw(0).dbsize(), 1);  // what the group wrote itself
}

TEST(bench_topologies, a_cluster_that_is_given_says_where_the_limit_is) {
    const cluster_group group;
    const auto o = run_alone({"--redis", group.url()});
    EXPECT_EQ(o.at("topology").as_string(), "cluster");
    EXPECT_NEAR(number(o, "round_trips_per_pair"), 2, 0.01);
    for (std::size_t i = 0; i < cluster_group::master_count; ++i) {
        EXPECT_EQ(group.raw(i).dbsize(), 0);
    }
}

TEST(bench_topologies, where_there_is_only_tls_the_limit_is_not_measured) {
    if (!impl::has_tls()) {
        GTEST_SKIP() << "built without TLS";
    }
    certificate_authority authority;
    const certificate shown = authority.issue("IP:127.0.0.1");
    const cli::private_redis server{
        {.tcp = true,
         .arguments = {"--tls-cert-file", shown.file, "--tls-key-file", shown.key,
                       "--tls-ca-cert-file", authority.file(), "--tls-auth-clients", "no"}}};
    raw_client raw{server.socket_path()};
    raw.must({"CONFIG", "SET", "port", "0"});
    raw.must({"CONFIG", "SET", "tls-port", std::to_string(server.port())});
    const auto o = run_alone({"--redis", "rediss://127.0.0.1:" + std::to_string(server.port()) +
                                             "?cacert=" + authority.file()});
    EXPECT_EQ(o.at("limit").as_string(), "not at all");
    EXPECT_GT(number(o, "pairs_per_s"), 0);
    for (const char* field : {"raw_pairs_per_s", "ratio", "round_trips_per_pair"}) {
        EXPECT_TRUE(o.at(field).is_null()) << field;
    }
}

TEST(bench_topologies, an_interruption_leaves_no_server) {
    const temporary_folder folder;
    program p{{CONCH_BENCH_PATH, "handoff", "--topology", "cluster", "--rounds", "10001"},
              {{"TMPDIR", folder.path()}}};
    asio::io_context io;
    const auto started = [&] { return folder.entries().size() == cluster_group::node_count; };
    ASSERT_TRUE(run_until(io, started, std::chrono::seconds{60}));
    p.signal(SIGTERM);
    EXPECT_EQ(p.finish(std::chrono::seconds{90}).status, 1);
    EXPECT_TRUE(folder.entries().empty());
    EXPECT_TRUE(processes_with("TMPDIR", folder.path()).empty());
}

}  // namespace
}  // namespace conch::test
