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
        explain(make_error_code(errc::authentication_failed), "WRONGPASS no", "h:1");
    EXPECT_TRUE(text.ends_with("; give them in the URL, redis://user:password@host")) << text;
}

TEST(cli_command_error, a_sentinel_that_does_is_given_its_own) {
    const std::string text = explain(make_error_code(errc::authentication_failed),
                                     "sentinel s1:26379: WRONGPASS no", "s1,s2");
    EXPECT_NE(text.find("(sentinel s1:26379: WRONGPASS no)"), std::string::npos) << text;
    EXPECT_NE(text.find("?sentinel_user=...&sentinel_password=..."), std::string::npos) << text;
    EXPECT_EQ(text.find("user:password@"), std::string::npos) << text;
}

}  // namespace
