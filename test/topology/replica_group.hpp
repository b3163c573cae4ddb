// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_TOPOLOGY_REPLICA_GROUP_HPP
#define CONCH_TEST_TOPOLOGY_REPLICA_GROUP_HPP

#include "cli/private_redis.hpp"
#include "support/raw_client.hpp"

#include <conch/config.hpp>

#include <cstddef>
#include <deque>
#include <string>

namespace conch::test {

/// A master and two replicas of it, each a process of its own.
class replica_group {
public:
    static constexpr std::size_t server_count = 3;

    /// Returns when the replicas have joined.
    replica_group();

    /// Settings of a client of the master, impatient enough for a test.
    config settings(const std::string& client_name = "conch") const;

    /// The first is the master at first.
    cli::private_redis& server(std::size_t i) { return servers_[i]; }
    const cli::private_redis& server(std::size_t i) const { return servers_[i]; }
    /// A connection of the test's own; made anew by each call.
    raw_client raw(std::size_t i) const { return raw_client{servers_[i].socket_path()}; }

    /// All replicas of server `i` have what it has: what was written before is safe.
    bool replicated(std::size_t i) const;

private:
    std::deque<cli::private_redis> servers_{};
};

}  // namespace conch::test

#endif
