// SPDX-License-Identifier: BSL-1.0
#include "deployment/replica_group.hpp"

#include "support/rights.hpp"
#include "support/run.hpp"
#include "deployment/group_settings.hpp"
#include "deployment/replication.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace conch::test {
namespace {

}  // namespace

replica_group::replica_group(const std::optional<node_certificate>& shown) {
    while (servers_.size() < server_count) {
        add(shown);
    }
    asio::io_context io;
    if (!run_until(io, [&] { return replicated(0); }, start_limit)) {
        throw std::runtime_error{"the replicas did not join the master"};
    }
}

void replica_group::add(const std::optional<node_certificate>& shown) {
    cli::private_redis::options o{.tcp = !shown, .arguments = arguments_for_user()};
    std::vector<std::string>& all = o.arguments;
    all.insert(all.end(), {"--repl-diskless-sync-delay", "0"});
    const std::string host = shown ? shown->host : std::string{usual_host};
    if (!servers_.empty()) {
        all.insert(all.end(), {"--replicaof", host, std::to_string(port(0))});
    }
    if (host != usual_host) {
        all.insert(all.end(), {"--replica-announce-ip", host});
    }
    if (shown) {
        const auto tls = tls_arguments(*shown, tls_ports_.emplace_back().number());
        all.insert(all.end(), tls.begin(), tls.end());
    }
    servers_.emplace_back(std::move(o));
}

bool replica_group::replicated(std::size_t i) const {
    raw_client to = raw(i);
    return replicates(to, "written-to-be-replicated", server_count - 1);
}

config replica_group::settings(const std::string& client_name) const {
    config c = group_settings({}, client_name);
    c.unix_path = servers_.front().socket_path();
    c.response_timeout = 4s;
    return c;
}

}  // namespace conch::test
