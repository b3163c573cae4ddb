// SPDX-License-Identifier: BSL-1.0
// Words of the program `conch` for others to read.
#include "cli/server_url.hpp"
#include "cli/text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace conch::cli;

TEST(cli_plain_reason, has_no_name_of_a_function) {
    EXPECT_EQ(plain_reason("conch::config::from_url: not a URL"), "not a URL");
    EXPECT_EQ(plain_reason("the host: it is missing"), "the host: it is missing");
}

struct shown {
    const char* url;
    const char* text;
};

class cli_url_text : public ::testing::TestWithParam<shown> {};

TEST_P(cli_url_text, shows_what_cannot_be_a_password) {
    EXPECT_EQ(url_without_secrets(GetParam().url), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    of_urls, cli_url_text,
    ::testing::Values(
        shown{"redis://host:99999/1", "redis://host:99999/1"},
        shown{"http://localhost", "http://localhost"}, shown{"localhost:6379", "localhost:6379"},
        shown{"10.0.0.1", "10.0.0.1"}, shown{"unix://run/redis.sock", "unix://run/redis.sock"},
        shown{"redis://[::1]:0", "redis://[::1]:0"},
        shown{"redis://user:s3cret@host", "redis://***@host"},
        shown{"redis://s3cret@host:x", "redis://***@host:***"},
        shown{"redis://:s3cr@et@host/x", "redis://***@host/x"},
        shown{"redis://:s3/c?r#et@host", "redis://***"},
        shown{"redis://host/?password=s3c@ret", "redis://***"},
        shown{"rediss+sentinel://a,b/m?sentinel_password=s3@cret&cacert=/none",
              "rediss+sentinel://***"},
        shown{"redis+sentinel://u:s3cret@a,b:1,c/m?sentinel_password=s3cret",
              "redis+sentinel://***@a,b:***"},
        shown{"redis+cluster://u:s3cret@a:1,b:s3cret", "redis+cluster://***@a:***"},
        shown{"user:s3cret@host", "***@host"}, shown{"redis://user:s3cret", "redis://user:***"},
        shown{"redis://:s3/cret", "redis://:***"}, shown{"redis://user:123456", "redis://user:***"},
        shown{"redis://host/?password=s3cret", "redis://host/?***"},
        shown{"redis://[::s3cret", "redis://[:***"}, shown{"s3cret", "***"}));

}  // namespace
