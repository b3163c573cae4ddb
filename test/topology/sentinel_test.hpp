// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_TOPOLOGY_SENTINEL_TEST_HPP
#define CONCH_TEST_TOPOLOGY_SENTINEL_TEST_HPP

#include "support/run.hpp"
#include "topology/sentinel_group.hpp"

#include <conch/conch.hpp>

#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <utility>

namespace conch::test {

/// Servers and sentinels of its own for each test, and two clients that ask these.
class sentinel_test : public testing::Test {
protected:
    static constexpr std::chrono::seconds long_patience{60};

    sentinel_test() = default;
    explicit sentinel_test(node_certificate shown) : group{std::move(shown)} {}

    template <typename Body>
    void run(Body&& body) {
        run_test(io, body(), long_patience);
    }
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

    sentinel_group group{};
    asio::io_context io{};
    client a{io, group.settings("a")};
    client b{io, group.settings("b")};
};

}  // namespace conch::test

#endif
