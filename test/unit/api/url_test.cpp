// SPDX-License-Identifier: BSL-1.0
#include "driver/tls.hpp"

#include <conch/config.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

// A single server, by URL.
namespace {

using namespace conch;

class url_test : public ::testing::TestWithParam<std::string> {};

TEST_P(url_test, a_malformed_url_is_refused_without_repeating_the_password) {
    try {
        const config c = config::from_url(GetParam());
        ADD_FAILURE() << "accepted: host " << c.host << ", path " << c.unix_path;
    } catch (const std::invalid_argument& e) {
        EXPECT_NE(std::string{e.what()}, "");
        EXPECT_EQ(std::string{e.what()}.find("s3cret"), std::string::npos) << e.what();
    }
}

INSTANTIATE_TEST_SUITE_P(
    malformed, url_test,
    ::testing::Values(
        "", "redis", "localhost:6379", "http://localhost", "redis:localhost", "redis://",
        "redis://:s3cret@", "redis://user:s3cret@host:port", "redis://user:s3cret@host:65536",
        "redis://user:s3cret@host:0", "redis://user:s3cret@host/first",
        "redis://user:s3cret@host/-1", "redis://user:s3cret@host/1/2",
        "redis://user:s3cret@host/99999999999999", "redis://user:s3cret@host/0?timeout=5",
        "redis://user:s3cret@host/0#x", "redis://user:s3cret%zz@host", "redis://user:s3cret@ho st",
        "redis://user:s3cret@[::1", "redis://user:s3cret@host@5", "unix:run/redis.sock",
        "unix://:s3cret@@/run/redis.sock", "unix://", "unix:///", "unix://host/path",
        "unix:///a?db=x", "unix:///a?db=-1", "unix:///a?db=", "unix:///a?port=1",
        "unix:///a?db=1&db=1", "unix://user:s3cret@/tmp/x?db=no", "rediss//user:s3cret@host",
        "rediss://", "rediss://user:s3cret@host/?db=1", "rediss://user:s3cret@host/?cacert=",
        "rediss://user:s3cret@host/?cacert", "rediss://user:s3cret@host/?cacert=a&cacert=b",
        "rediss://user:s3cret@host/?cert=a", "rediss://user:s3cret@host/?key=a",
        "rediss://user:s3cret@host/?insecure=yes", "rediss://user:s3cret@host/?insecure",
        "rediss://user:s3cret@host/?sni=a%20b", "rediss://user:s3cret@host/?cacert=%00",
        "rediss://user:s3cret@host/?insecure=false&insecure=true", "redis://user:s3cret@.",
        "redis://user:s3cret@.host:1", "rediss://user:s3cret@./",
        "rediss://user:s3cret@host/?sni=.", "rediss://user:s3cret@host/?sni=.host",
        "rediss://user:s3cret@host/?sni=" + std::string(256, 'a'),
        "rediss://:s3cret@" + std::string(256, 'a')));

TEST(good_url_test, every_part_of_a_tcp_url_is_read) {
    const config c = config::from_url("redis://al%40ice:p%3Aw%2F%25@example.org:7000/5");
    EXPECT_EQ(c.host, "example.org");
    EXPECT_EQ(c.port, 7000);
    EXPECT_EQ(c.username, "al@ice");
    EXPECT_EQ(c.password, "p:w/%");
    EXPECT_EQ(c.database, 5u);
    EXPECT_EQ(c.unix_path, "");
}

TEST(good_url_test, the_parts_that_are_absent_keep_their_defaults) {
    const config c = config::from_url("redis://example.org");
    EXPECT_EQ(c.host, "example.org");
    EXPECT_EQ(c.port, 6379);
    EXPECT_EQ(c.username, "");
    EXPECT_EQ(c.password, "");
    EXPECT_EQ(c.database, 0u);
    EXPECT_EQ(config::from_url("redis://example.org/").database, 0u);
}

TEST(good_url_test, a_password_may_come_without_a_user) {
    const config c = config::from_url("redis://:s3cret@localhost:1");
    EXPECT_EQ(c.username, "");
    EXPECT_EQ(c.password, "s3cret");
    EXPECT_EQ(c.port, 1);
}

TEST(good_url_test, an_address_of_version_6_is_read_without_its_brackets) {
    const config c = config::from_url("redis://[::1]:6380/2");
    EXPECT_EQ(c.host, "::1");
    EXPECT_EQ(c.port, 6380);
    EXPECT_EQ(c.database, 2u);
}

TEST(good_url_test, tls_is_another_scheme_and_its_files_are_queries) {
    if (!impl::has_tls()) {
        GTEST_SKIP() << "built without TLS";
    }
    const config plain = config::from_url("rediss://u:p@example.org:7000/5");
    EXPECT_EQ(plain.tls, tls_options{});
    EXPECT_EQ(plain.host, "example.org");
    EXPECT_EQ(plain.port, 7000);
    EXPECT_EQ(plain.username, "u");
    EXPECT_EQ(plain.database, 5u);
    const config full = config::from_url(
        "rediss://example.org?cacert=/a%20b&cacertdir=/c&cert=d&key=e&sni=f.org&insecure=true");
    EXPECT_EQ(full.tls, (tls_options{false, "/a b", "/c", "d", "e", "f.org"}));
    EXPECT_EQ(full.port, 6379);
    EXPECT_EQ(config::from_url("rediss://example.org?cacert=/c++/ca%2B.pem").tls->ca_file,
              "/c++/ca+.pem");
    EXPECT_FALSE(config::from_url("redis://example.org").tls);
    EXPECT_TRUE(config::from_url("rediss://example.org?insecure=false").tls->verify);
}

TEST(good_url_test, a_unix_socket_has_a_path_and_a_database) {
    const config plain = config::from_url("unix:///run/redis.sock");
    EXPECT_EQ(plain.unix_path, "/run/redis.sock");
    EXPECT_EQ(plain.database, 0u);
    const config full = config::from_url("unix:///tmp/my%20redis.sock?db=7");
    EXPECT_EQ(full.unix_path, "/tmp/my redis.sock");
    EXPECT_EQ(full.database, 7u);
}

TEST(good_url_test, a_socket_may_want_a_password) {
    const config c = config::from_url("unix://:p%40ss@/run/redis.sock?db=1");
    EXPECT_EQ(c.unix_path, "/run/redis.sock");
    EXPECT_EQ(c.password, "p@ss");
    EXPECT_EQ(c.database, 1u);
    EXPECT_EQ(config::from_url("unix:///run/a@b").unix_path, "/run/a@b");
    EXPECT_EQ(config::from_url("unix:/run/redis.sock?db=2").unix_path, "/run/redis.sock");
}

TEST(good_url_test, an_address_of_version_6_may_have_a_zone) {
    EXPECT_EQ(config::from_url("redis://[fe80::1%25eth0]").host, "fe80::1%eth0");
    const config c = config::from_url("redis://u:p@[fe80::1%25eth0.1]:6380/2");
    EXPECT_EQ(c.host, "fe80::1%eth0.1");
    EXPECT_EQ(c.password, "p");
    EXPECT_EQ(c.port, 6380);
    EXPECT_EQ(c.database, 2u);
    const config many = config::from_url("redis+sentinel://[fe80::1%251]:1,[fe80::2%252],s/m");
    const std::vector<server_address> all{{"fe80::1%1", 1}, {"fe80::2%2", 26379}, {"s", 26379}};
    EXPECT_EQ(many.sentinel->addresses, all);
}

struct mistake {
    const char* url;
    const char* advice;
};

class url_mistake : public testing::TestWithParam<mistake> {};

TEST_P(url_mistake, is_told_with_what_to_write) {
    try {
        config::from_url(GetParam().url);
        ADD_FAILURE() << "accepted";
    } catch (const std::invalid_argument& e) {
        const std::string text = e.what();
        EXPECT_NE(text.find(GetParam().advice), text.npos) << text;
        EXPECT_EQ(text.find("s3c"), text.npos) << text;
        EXPECT_EQ(text.find("ret"), text.npos) << text;
    }
}

constexpr const char* brackets = "an IPv6 address stands in brackets, as in redis://[::1]:6379";
constexpr const char* zone = "the zone of an IPv6 address is written as in [fe80::1%25eth0]";

INSTANTIATE_TEST_SUITE_P(
    usual, url_mistake,
    testing::Values(
        mistake{"redis://:s3c@ret@h", "\"@\" that must be percent-encoded, as %40"},
        mistake{"redis://:s3c/ret@h", "\"/\" that must be percent-encoded, as %2F"},
        mistake{"redis://:12/ret@h", "\"/\" that must be percent-encoded, as %2F"},
        mistake{"redis://u:12/3@h", "\"/\" that must be percent-encoded, as %2F"},
        mistake{"redis://:s3c%ret@h", "\"%\" that must be percent-encoded, as %25"},
        mistake{"redis://:s3c%@h", "\"%\" that must be percent-encoded, as %25"},
        mistake{"redis://:s3c[ret@h", "\"[\" that must be percent-encoded, as %5B"},
        mistake{"redis://:s3c?ret@h", "\"?\" that must be percent-encoded, as %3F"},
        mistake{"redis://:s3c#ret@h", "\"#\" that must be percent-encoded, as %23"},
        mistake{"redis://:s3c ret@h", "a character that must be percent-encoded, as %20"},
        mistake{"redis://:s3c\xC3\xA9ret@h", "a character that must be percent-encoded, as %C3"},
        mistake{"rediss://:s3c@ret@h/?sni=a", "\"@\" that must be percent-encoded, as %40"},
        mistake{"unix://:s3c/ret@/run/redis.sock", "\"/\" that must be percent-encoded, as %2F"},
        mistake{"redis+sentinel://:s3c@ret@a,b/m", "\"@\" that must be percent-encoded, as %40"},
        mistake{"redis+cluster://:s3c/ret@a,b", "\"/\" that must be percent-encoded, as %2F"},
        mistake{"redis+cluster://:s3c,ret@a,b", "a comma in them is written %2C"},
        mistake{"redis+sentinel://a/m?sentinel_password=s3c%ret",
                "%\" that must be percent-encoded, as %25"},
        mistake{"redis+sentinel://a/m?sentinel_user=u&sentinel_password=s3c ret",
                "must be percent-encoded, as %20"},
        mistake{"rediss://:s3cret@h?cacert=/a%b", "percent-encoded, as %25"},
        mistake{"unix:///a%b", "percent-encoded, as %25"},
        mistake{"redis+sentinel://a/m?sentinel_password=s3c#ret",
                "\"#\" that must be percent-encoded, as %23"},
        mistake{"redis://::1:6379", brackets}, mistake{"redis://:s3c@::1/2", brackets},
        mistake{"redis://fe80::1%25eth0:6379", brackets},
        mistake{"redis+sentinel://a,::1:26379/m", brackets},
        mistake{"redis://[fe80::1%eth0]", zone}, mistake{"redis://[fe80::1%25]", zone},
        mistake{"redis://a,b", "several hosts are those of a redis+sentinel:// or a"},
        mistake{"unix://:s3c@/run/a@b?port=1", "the only query of a unix:// URL is db"},
        mistake{"rediss://u:s3c@h/?cacert=/a@b&port=1", "the queries of a rediss:// URL are"},
        mistake{"redis+sentinel://h:26379/m?sentinel_password=s3c@r&db=1",
                "the only queries of a redis+sentinel:// URL"},
        mistake{"rediss://h:6379/?cacert=/a@b&port=1", "the queries of a rediss:// URL are"},
        mistake{"redis://h:1?x=a@b", "a redis:// URL has no query"},
        mistake{"redis://u:s3c@h/x@y", "must be percent-encoded, as %40"}));

TEST(url_for_messages, is_where_the_server_is_and_no_secret) {
    for (const std::string url :
         {"redis://h:1", "redis://h:6379/2", "redis://[::1]:6379", "redis://[fe80::1%25eth0]:6379",
          "rediss://h:1/2", "unix:///run/redis.sock", "unix:///run/redis.sock?db=3",
          "redis+sentinel://a:1,[::1]:2,[fe80::1%25eth0]:3/m", "redis+sentinel://a:1/m/4",
          "rediss+sentinel://a:1/m", "redis+cluster://a:1,[fe80::1%25eth0]:2",
          "rediss+cluster://a:1"}) {
        if (url.starts_with("rediss") && !impl::has_tls()) {
            continue;
        }
        std::string given = url;
        given.insert(given.find("://") + 3, "user:s3cret@");
        EXPECT_EQ(config::from_url(given).url(), url);
    }
    EXPECT_EQ(config{}.url(), "redis://127.0.0.1:6379");
}

// Each with characters that have a meaning in a URL.
TEST(url_for_messages, is_read_as_the_same_server) {
    config by_host;
    by_host.host = "a%/?#[@b";
    by_host.database = 3;
    config by_socket;
    by_socket.unix_path = "/tmp/a%20 ?b#/[c]\xC3\xA9;@";
    by_socket.database = 3;
    config by_sentinel;
    by_sentinel.sentinel.emplace().addresses = {{"fe80::1%eth0", 1}, {"a,b", 2}};
    by_sentinel.sentinel->master = "m/%?#[1]";
    config by_cluster;
    by_cluster.cluster.emplace().addresses = {{"fe80::1%1", 1}, {"b%2C", 2}};
    for (const config& c : {by_host, by_socket, by_sentinel, by_cluster}) {
        const config read = config::from_url(c.url());
        EXPECT_EQ(read.host, c.host);
        EXPECT_EQ(read.unix_path, c.unix_path);
        EXPECT_EQ(read.database, c.database);
        EXPECT_EQ(read.sentinel.has_value(), c.sentinel.has_value());
        EXPECT_EQ(read.cluster.has_value(), c.cluster.has_value());
        if (c.sentinel && read.sentinel) {
            EXPECT_EQ(read.sentinel->addresses, c.sentinel->addresses);
            EXPECT_EQ(read.sentinel->master, c.sentinel->master);
        }
        if (c.cluster && read.cluster) {
            EXPECT_EQ(read.cluster->addresses, c.cluster->addresses);
        }
    }
}

TEST(url_for_messages, has_nothing_that_a_terminal_obeys) {
    config c;
    c.unix_path = "/tmp/\x1b[2J";
    EXPECT_EQ(c.url(), "unix:///tmp/%1B%5B2J");
}

}  // namespace
