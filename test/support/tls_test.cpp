// SPDX-License-Identifier: BSL-1.0
#include "support/tls_test.hpp"

namespace conch::test {

certificate_authority& tls_test::authority() {
    static certificate_authority one;
    return one;
}

const certificate& tls_test::server_certificate() {
    static const certificate one = authority().issue("DNS:localhost,IP:127.0.0.1");
    return one;
}

tls_test::tls_test()
    : redis_test{{.tcp = true,
                  .arguments = {"--tls-cert-file", server_certificate().file, "--tls-key-file",
                                server_certificate().key, "--tls-ca-cert-file", authority().file(),
                                "--tls-auth-clients", "no"}}} {
    raw.must({"CONFIG", "SET", "port", "0"});
    raw.must({"CONFIG", "SET", "tls-port", std::to_string(server.port())});
}

void tls_test::show(const certificate& c) {
    raw.must({"CONFIG", "SET", "tls-cert-file", c.file, "tls-key-file", c.key});
}

void tls_test::demand_certificates() { raw.must({"CONFIG", "SET", "tls-auth-clients", "yes"}); }

config tls_test::tls_settings(const std::string& client_name) const {
    config c = settings(client_name);
    c.unix_path.clear();
    c.host = "127.0.0.1";
    c.port = server.port();
    c.connect_timeout = 10s;
    c.tls = tls_options{.ca_file = authority().file()};
    return c;
}

tls_outcome tls_test::try_one(const config& settings) {
    tls_outcome out;
    config s = settings;
    s.operation_timeout = 60s;
    client c{io, s};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "tried"};
        auto [ec, h] = co_await m.async_lock({}, as_result);
        if (!ec) {
            const auto [of_release] = co_await h.async_unlock(as_result);
            ec = of_release;
        }
        out = {ec, c.last_server_error(), c.stats()};
        co_await c.async_shutdown();
    });
    return out;
}

void tls_test::expect_failure(const config& settings, const std::string& words) {
    const tls_outcome o = try_one(settings);
    EXPECT_EQ(o.ec, errc::tls_failed) << o.ec.message() << ": " << o.words;
    EXPECT_NE(o.words.find(words), std::string::npos) << o.words;
    EXPECT_EQ(o.counted.connects, 0u);
}

void tls_test::expect_success(const config& settings) {
    const tls_outcome o = try_one(settings);
    EXPECT_FALSE(o.ec) << o.ec.message() << ": " << o.words;
    EXPECT_EQ(o.counted.connects, 1u);
}

std::shared_ptr<std::vector<std::string>> tls_test::listen_to(config& settings) {
    auto lines = std::make_shared<std::vector<std::string>>();
    settings.least_log_level = log_level::debug;
    settings.log = [lines](log_level level, std::string_view line) {
        lines->push_back((level == log_level::warning ? "warning: " : "") + std::string{line});
    };
    return lines;
}

}  // namespace conch::test
