// SPDX-License-Identifier: BSL-1.0
#include "cli/command_error.hpp"

#include <conch/error.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

using conch::errc;
using conch::cli::explain;

TEST(cli_command_error, a_server_that_refuses_the_password_is_given_one_in_the_url) {
    const std::string text =
        explain(make_error_code(errc::authentication_failed), "WRONGPASS no", "redis://h:1");
    EXPECT_TRUE(text.ends_with("; give them in the URL, redis://user:password@host")) << text;
}

TEST(cli_command_error, the_url_is_of_the_scheme_in_use) {
    const auto text = [](const char* label) {
        return explain(make_error_code(errc::authentication_failed), "NOAUTH", label);
    };
    EXPECT_TRUE(text("unix:///run/s").ends_with(", unix://user:password@/path")) << text("unix:");
    EXPECT_TRUE(text("rediss+cluster://h:1").ends_with(", rediss+cluster://user:password@host"));
}

TEST(cli_command_error, whether_redis_runs_is_asked_where_nothing_shows_it) {
    const auto text = [](const char* words) {
        return explain(make_error_code(errc::not_connected), words, "redis://h:1");
    };
    for (const char* words : {"Connection refused", "the server didn't answer in time",
                              "TLS: the server closed the connection", ""}) {
        EXPECT_NE(text(words).find("is Redis running there?"), std::string::npos) << words;
    }
    for (const char* words :
         {"ERR max number of clients reached", "DENIED Redis is running in protected mode",
          "LOADING Redis is loading the dataset in memory", "Too many open files",
          "Resource temporarily unavailable", "Cannot assign requested address",
          "sentinel s:1: ERR unknown command",
          "sentinel s:1: it refused to answer: ERR unknown command",
          "redis://a:1: Connection refused; redis://b:2: BUSY Redis is busy running a script"}) {
        EXPECT_EQ(text(words).find("is Redis running there?"), std::string::npos) << words;
    }
    EXPECT_TRUE(text("Too many open files").ends_with("(ulimit -n)"));
    EXPECT_TRUE(text("Resource temporarily unavailable").ends_with("(ulimit -u)"));
}

TEST(cli_command_error, a_server_that_answers_is_not_told_as_one_without_a_connection) {
    const std::string text = explain(make_error_code(errc::not_connected),
                                     "ERR max number of clients reached", "redis://h:1");
    EXPECT_EQ(text, "Redis at redis://h:1: the server refuses (ERR max number of clients reached)");
    EXPECT_NE(explain(make_error_code(errc::not_connected), "Connection refused", "redis://h:1")
                  .find("no connection"),
              std::string::npos);
}

TEST(cli_command_error, a_sentinel_that_does_is_given_its_own) {
    const std::string text = explain(make_error_code(errc::authentication_failed),
                                     "sentinel s1:26379: WRONGPASS no", "s1,s2");
    EXPECT_NE(text.find("(sentinel s1:26379: WRONGPASS no)"), std::string::npos) << text;
    EXPECT_NE(text.find("?sentinel_user=...&sentinel_password=..."), std::string::npos) << text;
    EXPECT_EQ(text.find("user:password@"), std::string::npos) << text;
}

}  // namespace
