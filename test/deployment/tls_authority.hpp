// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_DEPLOYMENT_TLS_AUTHORITY_HPP
#define CONCH_TEST_DEPLOYMENT_TLS_AUTHORITY_HPP

#include "support/certificates.hpp"
#include "deployment/tls_server.hpp"

#include <string>

namespace conch::test {

/// The CA of all servers of this program.
inline certificate_authority& authority() {
    static certificate_authority one;
    return one;
}

/// What servers show whose certificate is made for these names, such as "IP:127.0.0.1".
inline node_certificate certificate_for(const std::string& names) {
    const certificate c = authority().issue(names);
    return {.file = c.file, .key = c.key, .ca = authority().file()};
}

/// The same, of those who want to know whom they let in.
inline node_certificate demanding(const std::string& names) {
    node_certificate c = certificate_for(names);
    c.of_clients_too = true;
    return c;
}

/// A host name, as opposed to an address, that leads to 127.0.0.1 wherever that is: `inet_aton`
/// knows short forms, of which nobody who looks for an address in four parts makes one.
inline constexpr const char* host_name = "127.1";

/// What servers show that call each other by that name, for which alone their certificate is made.
inline node_certificate by_name() {
    node_certificate c = certificate_for(std::string{"DNS:"} + host_name);
    c.host = host_name;
    return c;
}

}  // namespace conch::test

#endif
