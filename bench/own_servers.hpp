// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_OWN_SERVERS_HPP
#define CONCH_BENCH_OWN_SERVERS_HPP

#include "cli/private_redis.hpp"
#include "server.hpp"
#include "support/certificates.hpp"
#include "deployment/cluster_group.hpp"
#include "deployment/cluster_node.hpp"
#include "deployment/sentinel_group.hpp"

#include <string>
#include <variant>

namespace conch::bench {

/// A server that is reached over TCP by TLS, with a certificate of its own, and without.
class tls_server {
public:
    tls_server();

    std::string url() const;
    std::string plain_url() const { return server_.tcp_url(); }

private:
    test::certificate_authority authority_{};
    test::certificate certificate_ = authority_.issue("IP:127.0.0.1");
    test::reserved_port port_{};
    cli::private_redis server_;
};

/// Servers of one topology on free ports of 127.0.0.1, that end with this object: one; one with
/// TLS; a master with two replicas and three sentinels; three masters with a replica each. None is
/// held for dead because this machine is busy.
class own_servers {
public:
    /// Starts them, in some seconds.
    explicit own_servers(topology of);

    /// Of all, as conch wants it.
    std::string url() const;
    /// The same, without TLS.
    std::string plain_url() const;

private:
    using any = std::variant<std::monostate, cli::private_redis, tls_server, test::sentinel_group,
                             test::cluster_group>;
    any all_{};
};

}  // namespace conch::bench

#endif
