// SPDX-License-Identifier: BSL-1.0
// Servers and sentinels that speak TLS alone, to each other too.
#include "support/certificates.hpp"
#include "topology/sentinel_test.hpp"

#include <cstddef>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

certificate_authority& authority() {
    static certificate_authority one;
    return one;
}

node_certificate certificate_for(const std::string& names) {
    const certificate c = authority().issue(names);
    return {.file = c.file, .key = c.key, .ca = authority().file()};
}

class sentinel_tls : public sentinel_test {
protected:
    explicit sentinel_tls(const std::string& names = "IP:127.0.0.1")
        : sentinel_test{certificate_for(names)} {}
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
    sentinel_tls_elsewhere() : sentinel_tls{"DNS:elsewhere.example"} {}
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

}  // namespace
