// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_DEPLOYMENT_TLS_SERVER_HPP
#define CONCH_TEST_DEPLOYMENT_TLS_SERVER_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace conch::test {

inline constexpr const char* usual_host = "127.0.0.1";

/// What servers show to those who connect, and to each other: files.
struct node_certificate {
    std::string file{};
    std::string key{};
    std::string ca{};
    bool of_clients_too = false;   ///< those who connect must show one of this CA
    std::string host{usual_host};  ///< what servers and sentinels call each other
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
            c.of_clients_too ? "yes" : "no"};
}

}  // namespace conch::test

#endif
