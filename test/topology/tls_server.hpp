// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_TOPOLOGY_TLS_SERVER_HPP
#define CONCH_TEST_TOPOLOGY_TLS_SERVER_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace conch::test {

/// What servers show to those who connect, and to each other: files.
struct node_certificate {
    std::string file{};
    std::string key{};
    std::string ca{};
};

/// Arguments of a server, or of a sentinel, that speaks TLS alone on this port, and to others.
inline std::vector<std::string> tls_arguments(const node_certificate& c, std::uint16_t port) {
    return {"--port",
            "0",
            "--tls-port",
            std::to_string(port),
            "--tls-replication",
            "yes",
            "--tls-cert-file",
            c.file,
            "--tls-key-file",
            c.key,
            "--tls-ca-cert-file",
            c.ca,
            "--tls-auth-clients",
            "no"};
}

}  // namespace conch::test

#endif
