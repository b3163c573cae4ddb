// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_DEPLOYMENT_SENTINEL_GROUP_HPP
#define CONCH_TEST_DEPLOYMENT_SENTINEL_GROUP_HPP

#include "cli/private_redis.hpp"
#include "support/raw_client.hpp"
#include "deployment/replica_group.hpp"

#include <conch/config.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace conch::test {

/// A master, two replicas and three sentinels that watch them, each a process of its own. The
/// sentinels hold a silent master for dead after half a second.
class sentinel_group {
public:
    static constexpr std::size_t server_count = replica_group::server_count;
    static constexpr std::size_t sentinel_count = 3;

    /// Returns when the replicas have joined and the sentinels know each other.
    sentinel_group() : sentinel_group{std::nullopt} {}
    /// The same; all of them need TLS.
    explicit sentinel_group(std::optional<node_certificate> shown);

    /// Settings of a client that asks these sentinels, impatient enough for a test.
    config settings(const std::string& client_name = "conch") const;
    std::string url() const;

    /// The first is the master at first.
    cli::private_redis& server(std::size_t i) { return servers_.server(i); }
    cli::private_redis& sentinel(std::size_t i) { return sentinels_[i]; }
    /// Their TCP ports, of TLS or not.
    std::uint16_t port(std::size_t i) const { return servers_.port(i); }
    std::uint16_t sentinel_port(std::size_t i) const {
        return shown_ ? tls_ports_[i].number() : sentinels_[i].port();
    }
    /// A connection of the test's own; made anew by each call.
    raw_client raw(std::size_t i) const { return servers_.raw(i); }

    /// The server that sentinel `i` takes for the master; `server_count` if it names none of them.
    std::size_t master_by(std::size_t i) const;
    /// The sentinels agree on a master that is one, and has a replica.
    bool calm() const;
    /// All replicas of server `i` have what it has: what was written before is safe.
    bool replicated(std::size_t i) const { return servers_.replicated(i); }

    /// What it says of its role; nothing where a sentinel that changes it cuts the connection.
    reply role(std::size_t i) const;

private:
    bool complete() const;

    std::optional<node_certificate> shown_;
    replica_group servers_;
    std::deque<reserved_port> tls_ports_{};
    std::deque<cli::private_redis> sentinels_{};
};

}  // namespace conch::test

#endif
