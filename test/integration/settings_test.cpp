// SPDX-License-Identifier: BSL-1.0
// Settings whose effect only a real server or a real socket shows. (Time and patience:
// engine_settings_test; who logs in: hostile_server_test; names and databases: wire_format_test.)
#include "integration/with_lock_fixture.hpp"
#include "support/sockets_to.hpp"

#include <sys/socket.h>

#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

using settings_test = redis_test;

TEST_F(settings_test, default_lease_and_renew_are_those_of_acquisitions_that_name_none) {
    config c = settings();
    c.default_lease = 300s;
    client redis{io, c};
    run([&]() -> asio::awaitable<void> {
        const mutex m{redis, "plain"};
        const hold h = co_await m.async_lock();
        EXPECT_GT(raw.pttl("plain"), 200'000);
        auto job = guarded(redis, "guarded", [&]() -> asio::awaitable<void> {
            EXPECT_GT(raw.pttl("guarded"), 200'000);
            co_return;
        });
        co_await job();
        const mutex own{redis, "own"};
        const hold short_one = co_await own.async_lock({.lease = 20s});
        EXPECT_LE(raw.pttl("own"), 20'000);
    });
}

TEST_F(settings_test, default_renew_off_lets_a_lease_end) {
    config c = settings();
    c.default_lease = 200ms;
    c.default_renew = false;
    client redis{io, c};
    run([&]() -> asio::awaitable<void> {
        const mutex m{redis, "m"};
        const hold h = co_await m.async_lock();
        const auto [why] = co_await h.async_wait_lost(as_result);
        EXPECT_EQ(why, errc::lease_expired);
    });
}

TEST_F(settings_test, with_lock_cancels_by_the_default_lease) {
    config c = settings();
    c.default_lease = 1s;
    c.default_renew = false;
    client redis{io, c};
    duration left = forever;
    run([&]() -> asio::awaitable<void> {
        const mutex m{redis, "m"};
        const error_code ec = co_await failure(m, {}, [&](hold& h) -> asio::awaitable<void> {
            bool cancelled = false;
            try {
                co_await until_cancelled(&cancelled);
            } catch (const system_error&) {
                left = h.remaining();
                throw;
            }
        });
        EXPECT_EQ(ec, errc::lock_lost);
        EXPECT_LT(left, 300ms) << "a tenth of it, not of 30 s";
    });
}

TEST_F(settings_test, retry_attempts_end_a_wait_for_a_server_that_is_not_there) {
    config c = settings();
    c.retry_attempts = 3;
    c.operation_timeout = 10min;
    c.unix_path += ".none";
    client redis{io, c};
    run([&]() -> asio::awaitable<void> {
        const mutex m{redis, "m"};
        const auto [ec, h] = co_await m.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::not_connected);
        const rate_limiter limiter{redis, "r", {}};
        const auto [limited, v] = co_await limiter.async_acquire(as_result);
        EXPECT_EQ(limited, errc::not_connected);
        const auto [asked, status] = co_await m.async_status(as_result);
        EXPECT_EQ(asked, errc::not_connected);
    });
}

TEST_F(settings_test, retry_attempts_end_a_wait_for_sentinels_or_nodes_that_are_not_there) {
    for (const char* const url : {"redis+sentinel://127.0.0.1:1,127.0.0.1:2/m",
                                  "redis+cluster://127.0.0.1:1,127.0.0.1:2"}) {
        SCOPED_TRACE(url);
        config c = config::from_url(url);
        c.retry_attempts = 3;
        c.operation_timeout = 10min;
        client redis{io, c};
        run([&]() -> asio::awaitable<void> {
            const mutex m{redis, "m"};
            const auto [ec, h] = co_await m.async_lock({}, as_result);
            EXPECT_EQ(ec, errc::not_connected);
            const auto [asked, status] = co_await m.async_status(as_result);
            EXPECT_EQ(asked, errc::not_connected);
        });
    }
}

TEST_F(settings_test, a_server_that_comes_back_is_found_after_the_retry_attempts) {
    config c = settings();
    c.retry_attempts = 1;
    c.operation_timeout = 10min;
    server.kill();
    client redis{io, c};
    run([&]() -> asio::awaitable<void> {
        const mutex m{redis, "m"};
        const auto [ec, h] = co_await m.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::not_connected);
        server.start();
        bool there = false;
        while (!there) {
            const auto [again, granted] = co_await m.async_lock({}, as_result);
            there = !again;
        }
    });
}

class tcp_settings_test : public redis_test {
protected:
    tcp_settings_test() : redis_test{cli::private_redis::options{.tcp = true}} {}

    config tcp_settings() const {
        config c = settings();
        c.unix_path.clear();
        c.port = server.port();
        return c;
    }

    /// SO_KEEPALIVE of each connection of this process to the server.
    std::vector<bool> kept_alive() const {
        std::vector<bool> out;
        for (const int fd : sockets_to(server.port())) {
            int on = 0;
            socklen_t size = sizeof on;
            if (::getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, &size) == 0) {
                out.push_back(on != 0);
            }
        }
        return out;
    }
};

TEST_F(tcp_settings_test, keep_alive_is_an_option_of_the_socket) {
    for (const bool wanted : {true, false}) {
        config c = tcp_settings();
        c.keep_alive = wanted;
        client redis{io, c};
        run([&]() -> asio::awaitable<void> {
            co_await warm_up(redis);
            EXPECT_EQ(kept_alive(), std::vector<bool>{wanted});
            co_await redis.async_shutdown();
        });
    }
    EXPECT_TRUE(config{}.keep_alive);
}

TEST_F(tcp_settings_test, ping_interval_keeps_an_idle_connection_alive) {
    config c = tcp_settings();
    c.ping_interval = 20ms;
    client redis{io, c};
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(redis);
        raw.reset_calls();
        const bool probed = co_await when([&] { return raw.calls("ping") >= 2; });
        EXPECT_TRUE(probed);
        EXPECT_EQ(redis.stats().connects, 1u);
    });
}

}  // namespace
