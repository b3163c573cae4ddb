// SPDX-License-Identifier: BSL-1.0
#include "api/check_config.hpp"
#include "driver/tls.hpp"

#include <conch/config.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>

// Where the sentinels are: by URL, and by hand.
namespace {

using namespace std::chrono_literals;
using conch::config;
using conch::server_address;
using addresses = std::vector<server_address>;

TEST(sentinel_url, every_part_is_read) {
    const config c = config::from_url(
        "redis+sentinel://al%40ice:p%3Aw@s1:1,[::1]:2,s3/my-master/7"
        "?sentinel_user=bob&sentinel_password=q%26w+%2B");
    ASSERT_TRUE(c.sentinel);
    EXPECT_EQ(c.username, "al@ice");
    EXPECT_EQ(c.password, "p:w");
    EXPECT_EQ(c.database, 7u);
    EXPECT_EQ(c.sentinel->master, "my-master");
    EXPECT_EQ(c.sentinel->addresses, (addresses{{"s1", 1}, {"::1", 2}, {"s3", 26379}}));
    EXPECT_EQ(c.sentinel->username, "bob");
    EXPECT_EQ(c.sentinel->password, "q&w++");
    EXPECT_NO_THROW(conch::impl::check_config(c));
}

TEST(sentinel_url, an_encoded_slash_belongs_to_the_name) {
    const config c = config::from_url("redis+sentinel://s1/my%2F3");
    EXPECT_EQ(c.sentinel->master, "my/3");
    EXPECT_EQ(c.database, 0u);
    EXPECT_THROW(config::from_url("redis+sentinel://s1/m/3/4"), std::invalid_argument);
}

TEST(sentinel_url, the_parts_that_are_absent_keep_their_defaults) {
    const config c = config::from_url("redis+sentinel://s1/m");
    ASSERT_TRUE(c.sentinel);
    EXPECT_EQ(c.username, "");
    EXPECT_EQ(c.password, "");
    EXPECT_EQ(c.database, 0u);
    EXPECT_EQ(c.sentinel->addresses, (addresses{{"s1", 26379}}));
    EXPECT_EQ(c.sentinel->password, "");
    EXPECT_EQ(c.sentinel->scan_interval, 1s);
    EXPECT_EQ(config::from_url("redis+sentinel://s1/m/").database, 0u);
}

TEST(sentinel_url, one_with_tls_has_the_queries_of_both) {
    if (!conch::impl::has_tls()) {
        EXPECT_THROW(config::from_url("rediss+sentinel://s1/m"), std::invalid_argument);
        return;
    }
    const config c = config::from_url(
        "rediss+sentinel://s1,s2:1/m/3?sentinel_user=bob&cacert=/ca&sentinel_password=q&sni=n");
    ASSERT_TRUE(c.sentinel && c.tls);
    EXPECT_EQ(c.sentinel->addresses, (addresses{{"s1", 26379}, {"s2", 1}}));
    EXPECT_EQ(c.sentinel->username, "bob");
    EXPECT_EQ(c.sentinel->password, "q");
    EXPECT_EQ(c.database, 3u);
    EXPECT_EQ(c.tls->ca_file, "/ca");
    EXPECT_EQ(c.tls->server_name, "n");
    EXPECT_NO_THROW(conch::impl::check_config(c));
    EXPECT_FALSE(config::from_url("redis+sentinel://s1/m").tls);
    EXPECT_THROW(config::from_url("redis+sentinel://s1/m?cacert=/ca"), std::invalid_argument);
    EXPECT_THROW(config::from_url("rediss+sentinel://s1/m?db=1"), std::invalid_argument);
}

TEST(sentinel_url, a_comma_of_a_user_or_a_password_is_encoded) {
    const config c = config::from_url("redis+sentinel://a%2Cb:c%2Cd@s1,s2/m");
    EXPECT_EQ(c.username, "a,b");
    EXPECT_EQ(c.password, "c,d");
    EXPECT_EQ(c.sentinel->addresses, (addresses{{"s1", 26379}, {"s2", 26379}}));
}

TEST(sentinel_url, user_and_password_behind_the_first_host_are_no_reason_to_lose_it) {
    try {
        config::from_url("redis+sentinel://s1,user:s3cret@s2/m");
        ADD_FAILURE() << "accepted";
    } catch (const std::invalid_argument& e) {
        EXPECT_NE(std::string{e.what()}.find("comma"), std::string::npos) << e.what();
    }
}

TEST(sentinel_url, no_host_has_more_than_255_bytes) {
    const std::string longest(255, 'h');
    for (const std::string& start : {std::string{"redis+sentinel://"}, std::string{"redis://"},
                                     std::string{"redis+cluster://"}}) {
        SCOPED_TRACE(start);
        const std::string end = start == "redis+sentinel://" ? "/m" : "";
        EXPECT_NO_THROW(conch::impl::check_config(config::from_url(start + longest + end)));
        try {
            config::from_url(start + longest + 'h' + end);
            ADD_FAILURE() << "accepted";
        } catch (const std::invalid_argument& e) {
            EXPECT_NE(std::string{e.what()}.find("longer than 255 bytes"), std::string::npos);
        }
    }
    EXPECT_THROW(config::from_url("redis+sentinel://s1," + longest + "h/m"), std::invalid_argument);
}

class bad_sentinel_url : public testing::TestWithParam<const char*> {};

TEST_P(bad_sentinel_url, is_refused_without_repeating_a_password) {
    try {
        const config c = config::from_url(GetParam());
        ADD_FAILURE() << "accepted: " << c.sentinel->master;
    } catch (const std::invalid_argument& e) {
        EXPECT_NE(std::string{e.what()}, "");
        EXPECT_EQ(std::string{e.what()}.find("s3cret"), std::string::npos) << e.what();
    }
}

INSTANTIATE_TEST_SUITE_P(
    sentinel_url, bad_sentinel_url,
    testing::Values(
        "redis+sentinel://", "redis+sentinel:///m", "redis+sentinel://s1", "redis+sentinel://s1/",
        "redis+sentinel://s1,/m", "redis+sentinel://,s1/m", "redis+sentinel://s1,,s2/m",
        "redis+sentinel://s1:0/m", "redis+sentinel://s1:65536/m", "redis+sentinel://s1:x/m",
        "redis+sentinel://s1,s2:70000/m", "redis+sentinel://s1/m/x", "redis+sentinel://s1/m/1/2",
        "redis+sentinel://s1/m%20m", "redis+sentinel://s1%20s2/m", "redis+sentinel://s1/m#f",
        "redis+sentinel://s1/m?db=1", "redis+sentinel://u:s3cret@s1,u@s2/m/x",
        "redis+sentinel://u@s1/m", "redis+sentinel://u:@s1/m",
        "redis+sentinel://s1/m?sentinel_user=u", "redis+sentinel://s1/m?sentinel_password",
        "redis+sentinel://s1/m?sentinel_password=", "redis+sentinel://s1/m?sentinel_user=",
        "redis+sentinel://s1/m?sentinel_password=s3cret&sentinel_password=s3cret",
        "redis+sentinel://./m", "redis+sentinel://s1,.s2/m",
        "redis+sentinel://s1/m/x?sentinel_password=s3cret", "redis+sentinel://a,u:s3cret@s2/m",
        "redis+sentinel://u:s3,cret@s1,s2/m", "redis+sentinel://s1 ,s2/m", "redis+sentinel//s1/m"));

struct flaw {
    const char* name;
    std::function<void(config&)> make;
};

void PrintTo(const flaw& f, std::ostream* os) { *os << f.name; }

class bad_sentinel_options : public testing::TestWithParam<flaw> {};

TEST_P(bad_sentinel_options, are_refused) {
    config c;
    c.sentinel.emplace();
    c.sentinel->master = "m";
    c.sentinel->addresses = {{"s1", 26379}};
    EXPECT_NO_THROW(conch::impl::check_config(c));
    GetParam().make(c);
    EXPECT_THROW(conch::impl::check_config(c), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(
    sentinel, bad_sentinel_options,
    testing::Values(
        flaw{"no_master", [](config& c) { c.sentinel->master = ""; }},
        flaw{"space_in_master", [](config& c) { c.sentinel->master = "a b"; }},
        flaw{"no_address", [](config& c) { c.sentinel->addresses.clear(); }},
        flaw{"no_host", [](config& c) { c.sentinel->addresses[0].host = ""; }},
        flaw{"bad_host", [](config& c) { c.sentinel->addresses[0].host = "a\n"; }},
        flaw{"dot_as_host", [](config& c) { c.sentinel->addresses[0].host = "."; }},
        flaw{"no_port", [](config& c) { c.sentinel->addresses[0].port = 0; }},
        flaw{"no_interval", [](config& c) { c.sentinel->scan_interval = 0s; }},
        flaw{"user_alone", [](config& c) { c.sentinel->username = "u"; }},
        flaw{"long_host",
             [](config& c) { c.sentinel->addresses.push_back({std::string(256, 'h'), 1}); }},
        flaw{"two_passwords",
             [](config& c) {
                 c.sentinel->password = "p";
                 c.sentinel->credentials = [] { return conch::credentials{}; };
             }},
        flaw{"unix_path", [](config& c) { c.unix_path = "/tmp/x"; }},
        flaw{"too_many", [](config& c) { c.sentinel->addresses.resize(1001, {"s", 1}); }}),
    [](const auto& i) { return std::string{i.param.name}; });

}  // namespace
