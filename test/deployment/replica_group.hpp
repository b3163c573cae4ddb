// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_DEPLOYMENT_REPLICA_GROUP_HPP
#define CONCH_TEST_DEPLOYMENT_REPLICA_GROUP_HPP

#include "cli/private_redis.hpp"
#include "support/raw_client.hpp"
#include "deployment/cluster_node.hpp"

#include <conch/config.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace conch::test {

/// A master and two replicas of it, each a process of its own.
class replica_group {
public:
    static constexpr std::size_t server_count = 3;

    /// Returns when the replicas have joined.
    replica_group() : replica_group{std::nullopt} {}
    /// The same; clients need TLS, as do replicas.
    explicit replica_group(const std::optional<node_certificate>& shown);

    /// Settings of a client of the master, impatient enough for a test.
    config settings(const std::string& client_name = "conch") const;

    /// The first is the master at first.
    cli::private_redis& server(std::size_t i) { return servers_[i]; }
    const cli::private_redis& server(std::size_t i) const { return servers_[i]; }
    /// Its TCP port, of TLS or not.
    std::uint16_t port(std::size_t i) const {
        return tls_ports_.empty() ? servers_[i].port() : tls_ports_[i].number();
    }
    /// A connection of the test's own; made anew by each call.
    raw_client raw(std::size_t i) const { return raw_client{servers_[i].socket_path()}; }

    /// All replicas of server `i` have what it has: what was written before is safe.
    bool replicated(std::size_t i) const;

private:
    void add(const std::optional<node_certificate>& shown);

    std::deque<reserved_port> tls_ports_{};
    std::deque<cli::private_redis> servers_{};
};

}  // namespace conch::test

#endif
