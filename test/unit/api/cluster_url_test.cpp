// SPDX-License-Identifier: BSL-1.0
#include "api/check_config.hpp"

#include <conch/config.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

// Where the nodes of a cluster are: by URL, and by hand.
namespace {

using namespace std::chrono_literals;
using conch::config;
using conch::server_address;
using addresses = std::vector<server_address>;

TEST(cluster_url, every_part_is_read) {
    const config c = config::from_url("redis+cluster://al%40ice:p%3Aw@n1:1,[::1]:2,n3/");
    ASSERT_TRUE(c.cluster);
    EXPECT_EQ(c.username, "al@ice");
    EXPECT_EQ(c.password, "p:w");
    EXPECT_EQ(c.cluster->addresses, (addresses{{"n1", 1}, {"::1", 2}, {"n3", 6379}}));
    EXPECT_FALSE(c.tls);
    EXPECT_NO_THROW(conch::impl::check_config(c));
}

TEST(cluster_url, the_parts_that_are_absent_keep_their_defaults) {
    const config c = config::from_url("redis+cluster://n1");
    ASSERT_TRUE(c.cluster);
    EXPECT_EQ(c.cluster->addresses, (addresses{{"n1", 6379}}));
    EXPECT_EQ(c.cluster->scan_interval, 2s);
    EXPECT_EQ(c.cluster->sharded, conch::sharded_messages::automatic);
    EXPECT_FALSE(c.cluster->map_address);
}

TEST(cluster_url, what_makes_no_sense_is_refused) {
    for (const char* const url :
         {"redis+cluster://", "redis+cluster:///", "redis+cluster://n1,", "redis+cluster://,n1",
          "redis+cluster://n1:0", "redis+cluster://n1/1", "redis+cluster://n1/0",
          "redis+cluster://n1?db=1", "redis+cluster://u@n1", "redis+cluster://n1#f",
          "redis+cluster://n1,u:p@n2"}) {
        EXPECT_THROW(config::from_url(url), std::invalid_argument) << url;
    }
}

TEST(cluster_url, a_refusal_does_not_tell_the_password) {
    for (const char* const url :
         {"redis+cluster://u:s3cret@", "redis+cluster://u:s3cret@n1,",
          "redis+cluster://u:s3cret@n1:0", "redis+cluster://u:s3cret@n1/1",
          "redis+cluster://u:s3cret@n1?db=1", "redis+cluster://u:s3cret@n1#f",
          "redis+cluster://u:s3cret@n1,u:s3cret@n2"}) {
        try {
            config::from_url(url);
            ADD_FAILURE() << url;
        } catch (const std::invalid_argument& e) {
            EXPECT_EQ(std::string{e.what()}.find("s3cret"), std::string::npos) << e.what();
        }
    }
}

TEST(cluster_options, are_checked) {
    const auto refusal = [](const std::function<void(config&)>& mistake) -> std::string {
        config c = config::from_url("redis+cluster://n1");
        mistake(c);
        try {
            conch::impl::check_config(c);
        } catch (const std::invalid_argument& e) {
            return e.what();
        }
        return "";
    };
    EXPECT_EQ(refusal([](config&) {}), "");
    EXPECT_EQ(refusal([](config& c) { c.database = 1; }),
              "conch::config: a cluster has no database but 0");
    EXPECT_EQ(refusal([](config& c) { c.cluster->addresses.clear(); }),
              "conch::config: cluster.addresses is empty");
    EXPECT_EQ(refusal([](config& c) { c.cluster->addresses[0].port = 0; }),
              "conch::config: a port of cluster.addresses is 0");
    EXPECT_EQ(refusal([](config& c) { c.cluster->addresses[0].host = "a b"; }),
              "conch::config: a host of cluster.addresses is empty, begins with a dot, or has "
              "spaces or special "
              "characters");
    EXPECT_EQ(refusal([](config& c) { c.cluster->addresses[0].host = std::string(256, 'h'); }),
              "conch::config: a host of cluster.addresses is longer than 255 bytes");
    EXPECT_EQ(refusal([](config& c) {
                  c.host = std::string(256, 'h');
                  EXPECT_EQ(c.cluster->addresses.size(), 1u) << "host is of no use here";
              }),
              "");
    EXPECT_EQ(refusal([](config& c) {
                  c.cluster.reset();
                  c.host = std::string(256, 'h');
              }),
              "conch::config: host is longer than 255 bytes");
    EXPECT_EQ(refusal([](config& c) { c.cluster->scan_interval = 1ms; }),
              "conch::config: cluster.scan_interval must be from 10 ms to one hour");
    EXPECT_EQ(refusal([](config& c) { c.unix_path = "/x"; }),
              "conch::config: cluster and unix_path exclude each other");
    EXPECT_EQ(refusal([](config& c) { c.sentinel.emplace(); }).substr(0, 15), "conch::config: ");
}

}  // namespace
