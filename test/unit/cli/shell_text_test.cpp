// SPDX-License-Identifier: BSL-1.0
// What somebody may copy into a shell.
#include "cli/shell_text.hpp"

#include <conch/config.hpp>

#include <gtest/gtest.h>

namespace {

using namespace conch;
using namespace conch::cli;

/// Of a valid URL.
std::string command_for(const std::string& url) {
    config::from_url(url);
    return release_command(url);
}

TEST(shell_text, quotes_only_what_a_shell_would_not_take_as_it_is) {
    EXPECT_EQ(shell_word("orders:7"), "orders:7");
    EXPECT_EQ(shell_word("a=b"), "a=b");
    EXPECT_EQ(shell_word("=ls"), "'=ls'");  // in zsh the path of ls
    EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
    EXPECT_EQ(shell_word("~"), "'~'");
    EXPECT_EQ(shell_word("{a,b}"), "'{a,b}'");
    EXPECT_EQ(shell_word(""), "''");
}

TEST(shell_text, a_release_goes_to_the_same_server) {
    EXPECT_EQ(release_command(""), "conch release --force");
    EXPECT_EQ(command_for("redis://10.0.0.5:6380/2"),
              "conch release --force --redis redis://10.0.0.5:6380/2");
    EXPECT_EQ(command_for("redis://[::1]:6379"),
              "conch release --force --redis 'redis://[::1]:6379'");
    EXPECT_EQ(command_for("unix:///run/redis.sock?db=3"),
              "conch release --force --redis 'unix:///run/redis.sock?db=3'");
    EXPECT_EQ(command_for("redis+sentinel://a,b:26380/main?sentinel_user=u&sentinel_password=x"),
              "CONCH_REDIS='redis+sentinel://a,b:26380/main?sentinel_user=u&sentinel_password="
              "PASSWORD' conch release --force");
}

TEST(shell_text, a_release_has_no_password_and_its_place_is_where_ps_does_not_look) {
    EXPECT_EQ(command_for("redis://jane:s3cret@redis.internal/2"),
              "CONCH_REDIS=redis://jane:PASSWORD@redis.internal/2 conch release --force");
    EXPECT_EQ(command_for("unix://:s3cret@/run/redis.sock"),
              "CONCH_REDIS=unix://:PASSWORD@/run/redis.sock conch release --force");
    for (const char* const url :
         {"redis://u:s3cret@h", "redis://u:s3:cret@h", "redis://u:s3cret%40@h", "redis://:s3cret@h",
          "unix://u:s3cret@/a@b", "redis+cluster://u:s3cret@a,b:7001",
          "redis+sentinel://u:s3cret@a,b/main?sentinel_password=s3cret",
          "redis+sentinel://a/main?sentinel%5fpassword=s3cret",
          "redis+sentinel://a/main?%73entinel_password=s3cret&sentinel_user=u"}) {
        const std::string shown = command_for(url);
        EXPECT_EQ(shown.find("s3"), std::string::npos) << shown;
        EXPECT_EQ(shown.find("cret"), std::string::npos) << shown;
        EXPECT_NE(shown.find("PASSWORD"), std::string::npos) << shown;
    }
}

}  // namespace
