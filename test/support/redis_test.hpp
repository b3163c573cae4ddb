// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_REDIS_TEST_HPP
#define CONCH_TEST_SUPPORT_REDIS_TEST_HPP

#include "cli/private_redis.hpp"
#include "support/raw_client.hpp"
#include "support/rights.hpp"
#include "support/run.hpp"

#include <conch/conch.hpp>

#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conch::test {

/// Options of a server that knows this user.
cli::private_redis::options with_conch_user(cli::private_redis::options o);

/// Settings for a server on this socket, impatient enough for a test.
config settings_for(const std::string& socket_path, const std::string& client_name = "conch");

/// The URL of a server that knows conch's user, with that user.
std::string url_for(const cli::private_redis& server);

/// A test with a real server of its own, a raw connection to it, and an `io_context`.
class redis_test : public ::testing::Test {
protected:
    redis_test() : redis_test(cli::private_redis::options{}) {}
    explicit redis_test(cli::private_redis::options o)
        : server{with_conch_user(std::move(o))}, raw{server.socket_path()} {}

    /// What conch needs is what its user may do: the server has refused nothing.
    void TearDown() override;

    config settings(const std::string& client_name = "conch") const {
        return settings_for(server.socket_path(), client_name);
    }

    /// The server's URL with this user.
    std::string url() const { return url_for(server); }

    /// Waiters hear of a release by its message, or not at all.
    config push_only(const std::string& client_name = "conch") const {
        config c = settings(client_name);
        c.max_poll_interval = std::chrono::seconds{60};
        return c;
    }

    /// Runs a coroutine, given as a function without arguments, to its end.
    template <typename Body>
    void run(Body&& body, std::chrono::milliseconds limit = patience) {
        run_test(io, body(), limit);
    }

    /// So many connections listen for releases of this lock: each has waiters, whose second try
    /// left together with the subscription.
    bool listening(const std::string& name, std::int64_t connections = 1) {
        return raw.subscribers(channel_of(name)) == connections;
    }

    /// The server comes back at the same address without its data.
    void restart_empty() {
        server.kill();
        server.start();
        raw.reconnect();
    }

    cli::private_redis server;
    raw_client raw;
    asio::io_context io{};
    bool may_refuse = false;  ///< the test is about a user with fewer rights, or a wrong password
};

/// Connects, so that a test may count what comes after.
asio::awaitable<void> warm_up(client& c);

/// Runs the context until the server has let a lease of this length end that nobody renewed: a
/// shorter or equal one that somebody renews would have been renewed by then. False if it never
/// did.
bool lease_passes(asio::io_context& io, raw_client& raw, std::chrono::milliseconds lease);

/// As Redisson names an owner.
inline const std::string owner_of_redisson = "5c1e0a8e-0000-4000-8000-000000000001:1";

/// Someone who is not conch holds the lock: a hash of one field, as Redisson's.
void take_as_stranger(raw_client& raw, const std::string& name,
                      std::chrono::milliseconds lease = std::chrono::seconds{30});

}  // namespace conch::test

#endif
