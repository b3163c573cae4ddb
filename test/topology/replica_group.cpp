// SPDX-License-Identifier: BSL-1.0
#include "topology/replica_group.hpp"

#include "support/run.hpp"
#include "topology/replication.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace conch::test {
namespace {

constexpr auto start_limit = std::chrono::seconds{60};

std::vector<std::string> arguments_of_replica(const cli::private_redis& master) {
    return {"--replicaof", "127.0.0.1", std::to_string(master.port()), "--repl-diskless-sync-delay",
            "0"};
}

}  // namespace

replica_group::replica_group() {
    servers_.emplace_back(
        cli::private_redis::options{.tcp = true, .arguments = {"--repl-diskless-sync-delay", "0"}});
    while (servers_.size() < server_count) {
        servers_.emplace_back(cli::private_redis::options{
            .tcp = true, .arguments = arguments_of_replica(servers_.front())});
    }
    asio::io_context io;
    if (!run_until(io, [&] { return replicated(0); }, start_limit)) {
        throw std::runtime_error{"the replicas did not join the master"};
    }
}

bool replica_group::replicated(std::size_t i) const {
    raw_client to = raw(i);
    return replicates(to, "written-to-be-replicated", server_count - 1);
}

config replica_group::settings(const std::string& client_name) const {
    config c;
    c.unix_path = servers_.front().socket_path();
    c.client_name = client_name;
    c.connect_timeout = 2s;
    c.response_timeout = 4s;
    c.operation_timeout = 2min;
    c.reconnect_delay_min = 2ms;
    c.reconnect_delay_max = 100ms;
    return c;
}

}  // namespace conch::test
