// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_DEPLOYMENT_TWO_CLIENTS_TEST_HPP
#define CONCH_TEST_DEPLOYMENT_TWO_CLIENTS_TEST_HPP

#include "support/run.hpp"
#include "deployment/tls_server.hpp"

#include <conch/conch.hpp>

#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace conch::test {

/// A group of servers of its own for each test, and two clients of it.
template <typename Group>
class two_clients_test : public testing::Test {
protected:
    static constexpr std::chrono::seconds long_patience{60};

    two_clients_test() = default;
    explicit two_clients_test(node_certificate shown) : group{std::move(shown)} {}

    template <typename Body>
    void run(Body&& body) {
        run_test(io, body(), 2 * long_patience);
    }
    /// Waiters hear of a release by its message, or not at all.
    config push_only(const std::string& client_name) const {
        config c = group.settings(client_name);
        c.max_poll_interval = 2 * long_patience;
        return c;
    }

    Group group{};
    asio::io_context io{};
    client a{io, group.settings("a")};
    client b{io, push_only("b")};
};

}  // namespace conch::test

#endif
