// SPDX-License-Identifier: BSL-1.0
// TLS that can't be: each time the user is told why, at once but where the other side is silent.
#include "support/tls_test.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <fstream>
#include <functional>

namespace {

using namespace conch;
using namespace conch::test;
using tcp = asio::ip::tcp;

class tls_refused_test : public tls_test {
protected:
    /// The words of the constructor's refusal; empty if it accepts.
    std::string refusal(const config& settings) {
        try {
            const client c{io, settings};
            return {};
        } catch (const std::invalid_argument& e) {
            return e.what();
        }
    }
    void expect_refusal(const std::function<void(config&)>& mistake, const std::string& words) {
        config c = tls_settings();
        mistake(c);
        const std::string said = refusal(c);
        EXPECT_NE(said.find(words), std::string::npos) << '"' << said << "\" is not: " << words;
    }
    /// Whoever connects so waits in vain, and guesses why.
    void expect_guess(const config& c, const std::string& words) {
        client redis{io, c};
        run([&]() -> asio::awaitable<void> {
            const mutex m{redis, "refused"};
            const auto [ec, h] = co_await m.async_lock({}, as_result);
            EXPECT_EQ(ec, errc::not_connected);
        });
        EXPECT_NE(redis.last_server_error().find(words), std::string::npos)
            << redis.last_server_error();
    }
    std::string file_with(const std::string& text) {
        const std::string path = folder.path() + "/file";
        std::ofstream{path} << text;
        return path;
    }

    temporary_folder folder{};
};

TEST_F(tls_refused_test, a_certificate_for_another_name) {
    show(authority().issue("DNS:elsewhere,IP:127.0.0.2"));
    config c = tls_settings();
    expect_failure(c, "is not made for 127.0.0.1");
    c.host = "localhost";
    expect_failure(c, "is not made for localhost");
}

TEST_F(tls_refused_test, an_address_as_a_name_of_the_certificate) {
    show(authority().issue("DNS:127.0.0.1"));
    expect_failure(tls_settings(), "is not made for 127.0.0.1");
}

TEST_F(tls_refused_test, a_certificate_that_has_expired) {
    show(authority().issue("IP:127.0.0.1", long_ago));
    expect_failure(tls_settings(), "certificate has expired");
}

TEST_F(tls_refused_test, a_certificate_that_is_not_yet_valid) {
    show(authority().issue("IP:127.0.0.1", not_yet));
    expect_failure(tls_settings(), "certificate is not yet valid");
}

TEST_F(tls_refused_test, a_certificate_of_an_unknown_CA) {
    certificate_authority stranger;
    show(stranger.issue("IP:127.0.0.1"));
    config c = tls_settings();
    expect_failure(c, "unknown CA");
    c.tls = tls_options{};  // the system's, which know neither of them
    expect_failure(c, "unknown CA");
}

TEST_F(tls_refused_test, a_certificate_of_the_client_that_the_server_does_not_know) {
    certificate_authority stranger;
    const certificate own = stranger.issue("DNS:client");
    demand_certificates();
    config c = tls_settings();
    c.tls->certificate_file = own.file;
    c.tls->private_key_file = own.key;
    expect_failure(c, "does not know the CA of the client's certificate");
}

TEST_F(tls_refused_test, a_missing_certificate_of_the_client_in_tls_1_2) {
    demand_certificates();
    raw.must({"CONFIG", "SET", "tls-protocols", "TLSv1.2"});
    expect_failure(tls_settings(), "does it demand a certificate?");
}

TEST_F(tls_refused_test, what_waits_is_told_at_once_and_a_hold_is_kept) {
    client c{io, tls_settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex held{c, "held"};
        const mutex other{c, "other"};
        const hold h = co_await held.async_lock({.lease = 30s});
        show(authority().issue("DNS:elsewhere"));
        raw.kill_connections("conch");
        const auto [ec, none] = co_await other.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::tls_failed) << c.last_server_error();
        EXPECT_TRUE(h.owns_lock());
        show(server_certificate());
        const bool back = co_await when([&] { return c.stats().connects == 2; });
        EXPECT_TRUE(back);
        EXPECT_TRUE(h.owns_lock());
    });
}

// OpenSSL hangs up without a word.
TEST_F(tls_refused_test, a_server_that_wants_tls_is_suspected_by_a_client_without) {
    config c = tls_settings();
    c.tls.reset();
    c.operation_timeout = 300ms;
    expect_guess(c, "does it want TLS there, or does a proxy not know HELLO?");
}

TEST_F(tls_refused_test, a_redis_without_tls_is_told_when_the_time_is_up) {
    raw.must({"CONFIG", "SET", "tls-port", "0"});
    raw.must({"CONFIG", "SET", "port", std::to_string(server.port())});
    config c = tls_settings();
    c.connect_timeout = 300ms;
    c.operation_timeout = 500ms;
    expect_guess(c, "does it speak TLS");
}

/// Someone who says one thing to all who connect, and hangs up if told so.
class speaker {
public:
    speaker(asio::io_context& io, std::string text, bool hangs_up)
        : acceptor_{io, tcp::endpoint{asio::ip::address_v4::loopback(), 0}},
          text_{std::move(text)},
          hangs_up_{hangs_up} {
        accept();
    }
    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

private:
    void accept() {
        acceptor_.async_accept([this](error_code ec, tcp::socket peer) {
            if (ec) {
                return;
            }
            asio::write(peer, asio::buffer(text_), ec);
            if (!hangs_up_) {
                peers_.push_back(std::move(peer));
            }
            accept();
        });
    }

    tcp::acceptor acceptor_;
    std::string text_;
    bool hangs_up_;
    std::vector<tcp::socket> peers_{};
};

TEST_F(tls_refused_test, a_peer_that_speaks_plain_text) {
    speaker plain{io, "-ERR what is that?\r\n", false};
    config c = tls_settings();
    c.port = plain.port();
    expect_failure(c, "does not speak TLS on this port");
}

TEST_F(tls_refused_test, a_server_that_says_that_it_wants_tls_is_believed) {
    speaker server_of_tls{io, std::string{"\x15\x03\x01\0\x02\x02\x46", 7}, false};
    config c = tls_settings();
    c.tls.reset();
    c.port = server_of_tls.port();
    expect_failure(c, "the server wants TLS on this port (rediss://)");
}

TEST_F(tls_refused_test, a_peer_that_hangs_up_is_tried_again) {
    speaker silent{io, "", true};
    config c = tls_settings();
    c.port = silent.port();
    c.operation_timeout = 300ms;
    client redis{io, c};
    run([&]() -> asio::awaitable<void> {
        const mutex m{redis, "hung-up"};
        const auto [ec, h] = co_await m.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::not_connected);
        co_await redis.async_shutdown();
    });
    const std::string words = redis.last_server_error();
    EXPECT_TRUE(words == "TLS: the server closed the connection" ||
                words == "Connection reset by peer")
        << words;
}

/// The program `openssl s_server`, on a port that it chose.
class openssl_server {
public:
    explicit openssl_server(const certificate& shown, std::vector<std::string> more)
        : program_{words(shown, std::move(more))} {
        const std::string label = "ACCEPT 127.0.0.1:";
        const std::string& said = program_.wait_for(label);
        port_ = static_cast<std::uint16_t>(std::stoi(said.substr(said.find(label) + label.size())));
    }
    std::uint16_t port() const noexcept { return port_; }
    bool says(const std::string& text) {
        return program_.wait_for(text).find(text) != std::string::npos;
    }

private:
    static std::vector<std::string> words(const certificate& shown, std::vector<std::string> more) {
        std::vector<std::string> all{"/usr/bin/env", "openssl",     "s_server",
                                     "-accept",      "127.0.0.1:0", "-cert",
                                     shown.file,     "-key",        shown.key};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }

    program program_;
    std::uint16_t port_ = 0;
};

TEST_F(tls_refused_test, a_peer_that_speaks_nothing_newer_than_tls_1_1) {
    openssl_server old{server_certificate(), {"-tls1_1", "-cipher", "ALL:@SECLEVEL=0"}};
    config c = tls_settings();
    c.port = old.port();
    expect_failure(c, "does not speak TLS 1.2 or newer");
}

TEST_F(tls_refused_test, a_server_of_several_names_is_asked_for_the_right_one) {
    const certificate named = authority().issue("DNS:redis.test");
    openssl_server server_of_two{
        server_certificate(),
        {"-servername", "redis.test", "-cert2", named.file, "-key2", named.key}};
    config c = tls_settings();
    c.port = server_of_two.port();
    c.tls->server_name = "redis.test";
    client redis{io, c};
    const mutex m{redis, "unanswered"};
    m.async_lock([](error_code, hold) {});
    // It is no Redis, but shows what came: the greeting, which follows a good handshake only.
    EXPECT_TRUE(run_until(io, [&] { return redis.stats().bytes_sent > 0; }))
        << redis.last_server_error();
    EXPECT_TRUE(server_of_two.says("Hostname in TLS extension: \"redis.test\""));
}

TEST_F(tls_refused_test, the_name_that_is_asked_for_is_the_hosts_unless_another_is_set) {
    const certificate named = authority().issue("DNS:localhost");
    openssl_server server_of_two{
        server_certificate(),
        {"-servername", "localhost", "-cert2", named.file, "-key2", named.key}};
    config c = tls_settings();
    c.host = "localhost";
    c.port = server_of_two.port();
    c.tls->server_name.clear();
    client redis{io, c};
    const mutex m{redis, "unanswered"};
    m.async_lock([](error_code, hold) {});
    EXPECT_TRUE(run_until(io, [&] { return redis.stats().bytes_sent > 0; }))
        << redis.last_server_error();
    EXPECT_TRUE(server_of_two.says("Hostname in TLS extension: \"localhost\""));
}

TEST_F(tls_refused_test, a_file_that_cannot_be_used_is_named_by_the_constructor) {
    const certificate own = authority().issue("DNS:client");
    const certificate other = authority().issue("DNS:other");
    expect_refusal([](config& c) { c.tls->ca_file = "/nowhere/ca.crt"; },
                   "tls.ca_file \"/nowhere/ca.crt\": No such file or directory");
    expect_refusal([&](config& c) { c.tls->ca_file = folder.path(); }, "Is a directory");
    expect_refusal([&](config& c) { c.tls->ca_file = file_with("no certificate"); }, "tls.ca_file");
    expect_refusal([&](config& c) { c.tls->ca_path = own.file; }, "Not a directory");
    expect_refusal(
        [&](config& c) {
            c.tls->certificate_file = file_with("nothing");
            c.tls->private_key_file = own.key;
        },
        "tls.certificate_file");
    expect_refusal(
        [&](config& c) {
            c.tls->certificate_file = own.file;
            c.tls->private_key_file = other.key;
        },
        "key values mismatch");
}

TEST_F(tls_refused_test, a_key_that_is_encrypted_is_refused_and_nobody_asked_for_its_password) {
    const certificate own = authority().issue("DNS:client");
    const std::string locked = folder.path() + "/locked.key";
    program encrypt{{"/usr/bin/env", "openssl", "pkey", "-in", own.key, "-out", locked, "-aes128",
                     "-passout", "pass:word"}};
    ASSERT_EQ(encrypt.finish().status, 0);
    expect_refusal(
        [&](config& c) {
            c.tls->certificate_file = own.file;
            c.tls->private_key_file = locked;
        },
        "tls.private_key_file");
}

TEST_F(tls_refused_test, settings_that_contradict_each_other) {
    expect_refusal([](config& c) { c.tls->certificate_file = "a"; }, "only one of them is set");
    expect_refusal([](config& c) { c.tls->private_key_file = "a"; }, "only one of them is set");
    expect_refusal([](config& c) { c.unix_path = "/a"; }, "tls and unix_path");
    expect_refusal([](config& c) { c.tls->server_name = "two words"; }, "tls.server_name");
    expect_refusal([](config& c) { c.tls->server_name = "."; }, "tls.server_name");
    expect_refusal([](config& c) { c.tls->server_name = ".example.org"; }, "tls.server_name");
    expect_refusal([](config& c) { c.host = "."; }, "host");
    expect_refusal([](config& c) { c.tls->server_name = std::string(256, 'a'); }, "255");
    expect_refusal([](config& c) { c.host = std::string(256, 'a'); }, "255");
    expect_refusal([](config& c) { c.tls->ca_file = std::string{"a\0b", 3}; }, "zero byte");
    EXPECT_EQ(refusal(tls_settings()), "");
}

}  // namespace
