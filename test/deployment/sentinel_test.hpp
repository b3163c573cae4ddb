// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_DEPLOYMENT_SENTINEL_TEST_HPP
#define CONCH_TEST_DEPLOYMENT_SENTINEL_TEST_HPP

#include "support/sockets_to.hpp"
#include "deployment/sentinel_group.hpp"
#include "deployment/two_clients_test.hpp"

#include <cstddef>
#include <string>

namespace conch::test {

/// Servers and sentinels of its own for each test, and two clients that ask these.
class sentinel_test : public two_clients_test<sentinel_group> {
protected:
    using two_clients_test::two_clients_test;

    /// Another one than before is the master, and says so.
    asio::awaitable<std::size_t> next_master(std::size_t before) {
        std::size_t now = before;
        const bool moved = co_await when(
            [&] {
                now = group.master_by(0);
                return now != before && now < sentinel_group::server_count;
            },
            long_patience);
        EXPECT_TRUE(moved) << "no failover";
        co_return now;
    }
    /// This process has no connection to a server that is frozen, and so ends none itself.
    asio::awaitable<void> leaves(std::size_t server) const {
        const bool left = co_await when([&] { return sockets_to(group.port(server)).empty(); });
        EXPECT_TRUE(left) << "the old connection is still open";
    }
    /// The client `b` listens at this server for releases of a lock that is held, and was told so
    /// since: what it had sent before the second of these locks was given back, is answered.
    asio::awaitable<void> listens(std::size_t server, const std::string& name) const {
        const bool heard = co_await when(
            [&] { return group.raw(server).subscribers(channel_of(name)) == 1; }, long_patience);
        EXPECT_TRUE(heard) << "nobody listens for " << name;
        for (int i = 0; i < 2; ++i) {
            hold aside = co_await mutex{b, "aside"}.async_lock();
            co_await aside.async_unlock();
        }
    }
    /// A release is heard by the client `b`, by nothing but its message.
    asio::awaitable<void> wakes(hold& h, task_group& waiting) const {
        const stats before = b.stats();
        co_await h.async_unlock();
        co_await waiting.join();
        const stats after = b.stats();
        if (after.connection_losses == before.connection_losses) {  // no other failover
            EXPECT_EQ(after.wakes_by_message, before.wakes_by_message + 1);
            EXPECT_EQ(after.wakes_by_poll, before.wakes_by_poll);
        }
    }

};

}  // namespace conch::test

#endif
