// SPDX-License-Identifier: BSL-1.0
// Servers and sentinels that speak TLS alone, to each other too.
#include "deployment/sentinel_test.hpp"
#include "deployment/tls_authority.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace {

using namespace conch;
using namespace conch::test;

class sentinel_tls : public sentinel_test {
protected:
    sentinel_tls() : sentinel_tls{certificate_for("IP:127.0.0.1")} {}
    explicit sentinel_tls(node_certificate shown) : sentinel_test{std::move(shown)} {}
};

TEST_F(sentinel_tls, slow_a_hold_outlives_its_master) {
    run([&]() -> asio::awaitable<void> {
        const mutex m{a, "m"};
        hold h = co_await m.async_lock({.lease = 60s});
        EXPECT_TRUE(group.raw(0).exists("m"));
        EXPECT_TRUE(group.replicated(0));
        group.server(0).kill();
        const std::size_t now = co_await next_master(0);
        const bool back = co_await when([&] { return a.stats().connects == 2; }, long_patience);
        EXPECT_TRUE(back) << a.last_server_error();
        EXPECT_TRUE(h.owns_lock());
        EXPECT_TRUE(group.raw(now).exists("m"));
        co_await h.async_unlock();
        EXPECT_FALSE(group.raw(now).exists("m"));
    });
}

// What the server is called by default is the address that a sentinel named.
class sentinel_tls_elsewhere : public sentinel_tls {
protected:
    sentinel_tls_elsewhere() : sentinel_tls{certificate_for("DNS:elsewhere.example")} {}
};

TEST_F(sentinel_tls_elsewhere, slow_one_name_is_that_of_all_of_them) {
    config c = group.settings();
    client wary{io, c};
    c.tls->server_name = "elsewhere.example";
    client told{io, c};
    run([&]() -> asio::awaitable<void> {
        const auto [ec, none] = co_await mutex{wary, "m"}.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::tls_failed) << ec.message() << ": " << wary.last_server_error();
        hold h = co_await mutex{told, "m"}.async_lock();
        EXPECT_TRUE(group.raw(0).exists("m"));
        co_await h.async_unlock();
    });
    EXPECT_EQ(wary.stats().connects, 0u);
}

class sentinel_tls_both_ways : public sentinel_tls {
protected:
    sentinel_tls_both_ways() : sentinel_tls{demanding("IP:127.0.0.1")} {}
};

TEST_F(sentinel_tls_both_ways, slow_a_client_shows_its_certificate_to_all_of_them) {
    config c = group.settings();
    client stranger{io, c};
    const certificate own = authority().issue("DNS:client");
    c.tls->certificate_file = own.file;
    c.tls->private_key_file = own.key;
    client known{io, c};
    run([&]() -> asio::awaitable<void> {
        const auto [ec, none] = co_await mutex{stranger, "m"}.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::tls_failed) << ec.message() << ": " << stranger.last_server_error();
        hold h = co_await mutex{known, "m"}.async_lock({.lease = 60s});
        EXPECT_TRUE(group.raw(0).exists("m"));
        EXPECT_TRUE(group.replicated(0));
        group.server(0).kill();
        const std::size_t now = co_await next_master(0);
        co_await h.async_unlock();
        EXPECT_FALSE(group.raw(now).exists("m"));
    });
    EXPECT_EQ(stranger.stats().connects, 0u);
    EXPECT_EQ(known.stats().connects, 2u);
}

class sentinel_tls_by_name : public sentinel_tls {
protected:
    sentinel_tls_by_name() : sentinel_tls{by_name()} {}
};

TEST_F(sentinel_tls_by_name, slow_a_server_is_who_it_is_called) {
    run([&]() -> asio::awaitable<void> {
        hold h = co_await mutex{a, "m"}.async_lock({.lease = 60s});
        EXPECT_TRUE(group.replicated(0));
        group.server(0).kill();
        const std::size_t now = co_await next_master(0);
        co_await h.async_unlock();
        EXPECT_FALSE(group.raw(now).exists("m"));
    });
    EXPECT_EQ(a.stats().connects, 2u) << a.last_server_error();
}

}  // namespace
