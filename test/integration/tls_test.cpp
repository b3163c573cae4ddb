// SPDX-License-Identifier: BSL-1.0
// Locks over TLS, with a server that can be trusted.
#include "support/tls_test.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

/// Set while this is there.
class environment_variable {
public:
    environment_variable(std::string name, const std::string& value) : name_{std::move(name)} {
        ::setenv(name_.c_str(), value.c_str(), 1);
    }
    ~environment_variable() { ::unsetenv(name_.c_str()); }
    environment_variable(const environment_variable&) = delete;
    environment_variable& operator=(const environment_variable&) = delete;

private:
    std::string name_;
};

bool warns_of_files(const std::vector<std::string>& lines) {
    return std::ranges::any_of(lines, [](const std::string& line) {
        return line.starts_with("warning: TLS: the former certificates stay in use");
    });
}

TEST_F(tls_test, a_server_is_known_by_its_address) { expect_success(tls_settings()); }

TEST_F(tls_test, a_server_is_known_by_its_name) {
    config c = tls_settings();
    c.host = "localhost";
    expect_success(c);
    c.tls->server_name = "localhost.";  // a certificate has no such dot
    expect_success(c);
}

TEST_F(tls_test, a_server_is_known_by_a_name_that_is_not_where_it_is_found) {
    show(authority().issue("DNS:redis.test"));
    config c = tls_settings();
    expect_failure(c, "is not made for 127.0.0.1");
    c.tls->server_name = "redis.test";
    expect_success(c);
}

TEST_F(tls_test, a_folder_of_CAs_is_trusted) {
    config c = tls_settings();
    c.tls = tls_options{.ca_path = authority().hashed_folder()};
    expect_success(c);
}

TEST_F(tls_test, the_CAs_of_the_system_are_trusted_if_no_others_are_named) {
    config c = tls_settings();
    c.tls = tls_options{};
    expect_failure(c, "unknown CA");
    const environment_variable system{"SSL_CERT_FILE", authority().file()};
    expect_success(c);
}

TEST_F(tls_test, a_url_says_all_of_it) {
    const certificate own = authority().issue("DNS:client");
    demand_certificates();
    const std::string base = "rediss://conch:" + std::string{conch_password} +
                             "@localhost:" + std::to_string(server.port()) +
                             "/?cacert=" + authority().file();
    config c = config::from_url(base);
    expect_failure(c, "demands a certificate");
    c = config::from_url(base + "&cert=" + own.file + "&key=" + own.key + "&sni=127.0.0.1");
    EXPECT_EQ(c.tls->server_name, "127.0.0.1");
    expect_success(c);
}

TEST_F(tls_test, a_client_shows_its_certificate) {
    demand_certificates();
    const certificate own = authority().issue("DNS:client");
    config c = tls_settings();
    expect_failure(c, "demands a certificate of the client");
    c.tls->certificate_file = own.file;
    c.tls->private_key_file = own.key;
    expect_success(c);
}

TEST_F(tls_test, a_connection_has_tls_1_2_at_least_and_1_2_will_do) {
    for (const char* protocol : {"TLSv1.2", "TLSv1.3"}) {
        raw.must({"CONFIG", "SET", "tls-protocols", protocol});
        expect_success(tls_settings());
    }
}

TEST_F(tls_test, without_verification_anybody_is_trusted_and_one_warning_is_logged) {
    certificate_authority stranger;
    show(stranger.issue("DNS:elsewhere", long_ago));
    config c = tls_settings();
    c.tls = tls_options{.verify = false};
    const auto lines = listen_to(c);
    client redis{io, c};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(redis);
        raw.kill_connections("conch");
        const bool back = co_await when([&] { return redis.stats().connects == 2; });
        EXPECT_TRUE(back);
        co_await redis.async_shutdown();
    });
    EXPECT_EQ(std::count(lines->begin(), lines->end(),
                         "warning: TLS: the server's certificate is not verified"),
              1);
}

TEST_F(tls_test, holds_outlive_a_lost_connection) {
    client c{io, tls_settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "held", {.fenced = true}};
        hold h = co_await m.async_lock({.lease = 600ms});
        for (std::uint64_t i = 1; i <= 3; ++i) {
            EXPECT_EQ(raw.kill_connections("conch"), 1u);
            const bool back = co_await when([&] { return c.stats().connects == i + 1; });
            EXPECT_TRUE(back);
        }
        const std::uint64_t before = c.stats().renewals;
        const bool renewed = co_await when([&] { return c.stats().renewals >= before + 3; });
        EXPECT_TRUE(renewed);
        EXPECT_TRUE(h.owns_lock());
        const auto [ec] = co_await h.async_unlock(as_result);
        EXPECT_FALSE(ec) << ec.message();
    });
}

TEST_F(tls_test, ten_thousand_locks_are_taken_and_released) {
    client c{io, tls_settings()};
    constexpr std::size_t count = 10'000;
    run(
        [&]() -> asio::awaitable<void> {
            // All are held at one time, so that answers and commands fill many records.
            std::vector<hold> held(count);
            task_group group{io.get_executor()};
            const auto take = [&](std::size_t i) -> asio::awaitable<void> {
                const mutex m{c, "many:" + std::to_string(i)};
                held[i] = co_await m.async_lock();
            };
            for (std::size_t i = 0; i < count; ++i) {
                group.spawn(take(i));
            }
            co_await group.join();
            EXPECT_EQ(raw.dbsize(), static_cast<std::int64_t>(count));
            EXPECT_TRUE(
                std::all_of(held.begin(), held.end(), [](const hold& h) { return h.owns_lock(); }));
            held.clear();
            const bool released = co_await when([&] { return raw.dbsize() == 0; });
            EXPECT_TRUE(released);
        },
        60s);
    EXPECT_EQ(c.stats().connects, 1u);
}

TEST_F(tls_test, waiters_hear_of_a_release) {
    config patient = tls_settings("first");
    patient.max_poll_interval = 60s;
    client first{io, patient};
    patient.client_name = "second";
    client second{io, patient};
    run([&]() -> asio::awaitable<void> {
        const mutex of_first{first, "passed"};
        const mutex of_second{second, "passed"};
        hold h = co_await of_first.async_lock();
        task_group group{io.get_executor()};
        const auto wait = [&]() -> asio::awaitable<void> {
            const hold next = co_await of_second.async_lock();
            EXPECT_TRUE(next.owns_lock());
        };
        group.spawn(wait());
        const bool waits = co_await when([&] { return listening("passed"); });
        EXPECT_TRUE(waits);
        co_await h.async_unlock();
        co_await group.join();
    });
}

TEST_F(tls_test, renewed_files_are_used_from_the_next_connection_on) {
    demand_certificates();
    const std::string file = authority().folder() + "/current.crt";
    const std::string key = authority().folder() + "/current.key";
    const auto put = [&](const certificate& c) {
        std::filesystem::copy_file(c.file, file, std::filesystem::copy_options::overwrite_existing);
        std::filesystem::copy_file(c.key, key, std::filesystem::copy_options::overwrite_existing);
    };
    put(authority().issue("DNS:client", long_ago));
    config c = tls_settings();
    c.tls->certificate_file = file;
    c.tls->private_key_file = key;
    const auto lines = listen_to(c);
    client redis{io, c};
    run([&]() -> asio::awaitable<void> {
        const mutex m{redis, "renewed"};
        const auto [refused, none] = co_await m.async_lock({}, as_result);
        EXPECT_EQ(refused, errc::tls_failed);
        EXPECT_NE(redis.last_server_error().find("certificate expired"), std::string::npos)
            << redis.last_server_error();
        std::ofstream{key} << "half a key";
        const bool warned = co_await when([&] { return warns_of_files(*lines); });
        EXPECT_TRUE(warned);
        put(authority().issue("DNS:client"));
        const bool there = co_await when([&] { return redis.stats().connects == 1; });
        EXPECT_TRUE(there);
        co_await redis.async_shutdown();
    });
}

// As after a change of the rights to read it, which shows in neither its size nor its time.
TEST_F(tls_test, a_file_that_could_not_be_used_is_read_again_though_it_looks_the_same) {
    namespace fs = std::filesystem;
    demand_certificates();
    const certificate good = authority().issue("DNS:client");
    const certificate old = authority().issue("DNS:client", long_ago);
    const std::string key = authority().folder() + "/same.key";
    const std::string file = authority().folder() + "/same.crt";
    fs::copy_file(old.key, key);
    fs::copy_file(old.file, file);
    config c = tls_settings();
    c.tls->certificate_file = file;
    c.tls->private_key_file = key;
    const auto lines = listen_to(c);
    client redis{io, c};
    run([&]() -> asio::awaitable<void> {
        const auto [refused, none] = co_await mutex{redis, "same"}.async_lock({}, as_result);
        EXPECT_EQ(refused, errc::tls_failed);
        fs::copy_file(good.file, file, fs::copy_options::overwrite_existing);
        std::ofstream{key} << std::string(fs::file_size(good.key), '?');
        const fs::file_time_type then = fs::last_write_time(key);
        const bool warned = co_await when([&] { return warns_of_files(*lines); });
        EXPECT_TRUE(warned);
        fs::copy_file(good.key, key, fs::copy_options::overwrite_existing);
        fs::last_write_time(key, then);
        const bool there = co_await when([&] { return redis.stats().connects == 1; });
        EXPECT_TRUE(there) << redis.last_server_error();
        co_await redis.async_shutdown();
    });
}

TEST_F(tls_test, a_frozen_server_holds_nobody_up_at_the_end) {
    {
        client c{io, tls_settings()};
        run([&]() -> asio::awaitable<void> { co_await warm_up(c); });
        server.freeze();
    }
    run_to_end(io);
    server.thaw();
}

TEST_F(tls_test, a_client_that_ends_says_so_to_the_server) {
    client c{io, tls_settings()};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(c);
        co_await c.async_shutdown();
    });
    EXPECT_TRUE(run_until(io, [&] { return raw.connections("conch").empty(); }));
}

// A context that goes away in each state of a connection: what it left must be gone with it.
TEST_F(tls_test, the_context_may_be_destroyed_after_any_handler) {
    for (std::size_t handlers = 0; handlers < 40; ++handlers) {
        auto context = std::make_unique<asio::io_context>();
        client c{*context, tls_settings("doomed")};
        const mutex m{c, "doomed"};
        m.async_lock([](error_code, hold) {});
        step(*context, handlers);
        context.reset();
    }
    EXPECT_TRUE(run_until(io, [&] { return raw.connections("doomed").empty(); }));
}

// The same for a client whose end comes in each of them; the context then runs out of work.
TEST_F(tls_test, a_client_may_be_destroyed_after_any_handler) {
    for (std::size_t handlers = 0; handlers < 40; ++handlers) {
        asio::io_context context;
        {
            client c{context, tls_settings("doomed")};
            const mutex m{c, "doomed:" + std::to_string(handlers)};
            m.async_lock([](error_code, hold) {});
            step(context, handlers);
        }
        run_to_end(context);
    }
    EXPECT_TRUE(run_until(io, [&] { return raw.connections("doomed").empty(); }));
}

}  // namespace
