// SPDX-License-Identifier: BSL-1.0
// What a program may get wrong is refused clearly, and before anything is sent.
#include "driver/tls.hpp"
#include "support/redis_test.hpp"

#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

using bad_input_test = redis_test;

TEST_F(bad_input_test, a_name_has_1_byte_to_64_kib) {
    client c{io, settings()};
    EXPECT_THROW((mutex{c, ""}), std::invalid_argument);
    EXPECT_THROW((mutex{c, std::string(65'537, 'n')}), std::invalid_argument);
    EXPECT_NO_THROW((mutex{c, "n"}));
    run([&]() -> asio::awaitable<void> {
        const std::string longest(65'536, 'n');
        const mutex m{c, longest};
        hold h = co_await m.async_lock();
        EXPECT_TRUE(raw.exists(longest));
        co_await h.async_unlock();
    });
}

TEST_F(bad_input_test, a_token_key_that_expires_at_once_is_refused) {
    client c{io, settings()};
    EXPECT_THROW((mutex{c, "n", {.fenced = true, .fence_ttl = 0s}}), std::invalid_argument);
    EXPECT_THROW((mutex{c, "n", {.fenced = true, .fence_ttl = -1s}}), std::invalid_argument);
}

struct bad_option {
    lock_options options;
    errc expected;
};

TEST_F(bad_input_test, bad_options_have_a_code_of_their_own_and_send_nothing) {
    const std::vector<bad_option> all{
        {{.wait = -1ns}, errc::invalid_wait},
        {{.wait = -1h}, errc::invalid_wait},
        {{.lease = 0s}, errc::invalid_lease},
        {{.lease = -5s}, errc::invalid_lease},
        {{.lease = 99ms}, errc::invalid_lease},
        {{.lease = 0s, .renew = false}, errc::invalid_lease},
        {{.lease = 24h * 366}, errc::invalid_lease},
        {{.lease = 24h * 366, .renew = false}, errc::invalid_lease},
        {{.lease = duration::max()}, errc::invalid_lease},
        {{.max_hold = 0s}, errc::invalid_max_hold},
        {{.max_hold = -1s}, errc::invalid_max_hold},
    };
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "refused"};
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto [ec, h] = co_await m.async_lock(all[i].options, as_result);
            EXPECT_EQ(ec, all[i].expected) << "case " << i << ": " << ec.message();
            EXPECT_FALSE(h);
            const auto [tried, none] = co_await m.async_try_lock(all[i].options, as_result);
            EXPECT_EQ(tried, all[i].expected) << "case " << i << ": " << tried.message();
            EXPECT_FALSE(none);
        }
        EXPECT_EQ(c.stats().connects, 0u);
        EXPECT_EQ(c.stats().script_calls, 0u);
        EXPECT_EQ(raw.calls("evalsha"), 0u);
    });
}

TEST_F(bad_input_test, options_at_their_limits_are_accepted) {
    const std::vector<lock_options> all{
        {.wait = 0s},
        {.wait = forever},
        {.lease = 100ms},
        {.lease = 20ms, .renew = false},
        {.lease = 24h * 365},
        {.lease = 24h * 365, .max_hold = forever},
        {.lease = 30s, .max_hold = 10ms},
    };
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        for (std::size_t i = 0; i < all.size(); ++i) {
            const mutex m{c, "limit:" + std::to_string(i)};
            const auto [ec, h] = co_await m.async_try_lock(all[i], as_result);
            EXPECT_FALSE(ec) << "case " << i << ": " << ec.message();
        }
    });
}

TEST_F(bad_input_test, settings_out_of_range_are_refused_by_the_constructor) {
    const std::vector<std::function<void(config&)>> mistakes{
        [](config& s) { s.connect_timeout = 0s; },
        [](config& s) { s.response_timeout = -1s; },
        [](config& s) { s.ping_interval = 0s; },
        [](config& s) { s.reconnect_delay_min = -1s; },
        [](config& s) { s.reconnect_delay_max = -1s; },
        [](config& s) { s.operation_timeout = 0s; },
        [](config& s) { s.max_poll_interval = 0s; },
        [](config& s) { s.max_passes = 0; },
        [](config& s) { s.max_pass_time = 0s; },
        [](config& s) { s.max_pending = 0; },
        [](config& s) { s.client_name = "two words"; },
        [](config& s) { s.client_name = "two\nlines"; },
        [](config& s) { s.retry_attempts = 0; },
        [](config& s) { s.database = 1'000'001; },
        [](config& s) { s.host = "two words"; },
        [](config& s) { s.unix_path += std::string{"\0x", 2}; },
        [](config& s) { s.default_lease = 99ms; },
        [](config& s) { s.default_lease = 24h * 365 + 1ns; },
        [](config& s) {
            s.default_lease = 9ms;
            s.default_renew = false;
        },
        [](config& s) { s.reconnect_delay_max = s.reconnect_delay_min - 1ns; },
        [](config& s) { s.reconnect_delay_max = 24h + 1ns; },
        [](config& s) { s.password.clear(); },
        [](config& s) { s.credentials = [] { return credentials{"u", "p"}; }; },
        [](config& s) { s.unix_path = std::string(108, '/'); },
        [](config& s) {
            s.unix_path.clear();
            s.host.clear();
        },
        [](config& s) {
            s.unix_path.clear();
            s.port = 0;
        },
    };
    for (std::size_t i = 0; i < mistakes.size(); ++i) {
        config s = settings();
        mistakes[i](s);
        EXPECT_THROW((client{io, s}), std::invalid_argument) << "case " << i;
    }
    run_to_end(io);
}

TEST_F(bad_input_test, settings_at_their_limits_are_accepted) {
    const std::vector<std::function<void(config&)>> extremes{
        [](config& s) { s.connect_timeout = s.response_timeout = s.operation_timeout = forever; },
        [](config& s) { s.ping_interval = s.max_poll_interval = forever; },
        [](config& s) { s.connect_timeout = 1ns; },
        [](config& s) { s.reconnect_delay_min = s.reconnect_delay_max = 24h; },
        [](config& s) { s.retry_attempts = 1; },
        [](config& s) { s.retry_attempts = std::numeric_limits<unsigned>::max(); },
        [](config& s) { s.default_lease = 100ms; },
        [](config& s) { s.default_lease = 24h * 365; },
        [](config& s) {
            s.default_lease = 10ms;
            s.default_renew = false;
        },
        [](config& s) { s.client_name.clear(); },
        [](config& s) { s.unix_path = std::string(107, '/'); },
    };
    for (std::size_t i = 0; i < extremes.size(); ++i) {
        config s = settings();
        extremes[i](s);
        EXPECT_NO_THROW((client{io, s})) << "case " << i;
    }
    run_to_end(io);
}

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

TEST_F(bad_input_test, a_client_works_from_the_url_of_its_server) {
    client c{io, config::from_url(url() + "?db=1")};
    run([&]() -> asio::awaitable<void> { co_await warm_up(c); });
}

}  // namespace
