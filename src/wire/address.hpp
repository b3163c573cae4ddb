// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WIRE_ADDRESS_HPP
#define CONCH_SRC_WIRE_ADDRESS_HPP

#include <conch/config.hpp>

#include <cstdint>
#include <string>

namespace conch::wire {

/// Where a server is reached; nowhere, if it has neither a host nor a path.
struct address {
    std::string host{};
    std::uint16_t port = 0;
    std::string unix_path{};

    static address of(const config& c) { return {c.host, c.port, c.unix_path}; }
    bool known() const noexcept { return !host.empty() || !unix_path.empty(); }
    /// For the log.
    std::string text() const {
        const bool ipv6 = host.find(':') != std::string::npos;
        return !unix_path.empty() ? unix_path
                                  : (ipv6 ? '[' + host + ']' : host) + ':' + std::to_string(port);
    }
    friend bool operator==(const address&, const address&) = default;
};

/// What a server must be, and so how it is greeted.
enum class role : std::uint8_t {
    any,        ///< whatever answers at this address
    master,     ///< no replica
    sentinel,   ///< knows masters, runs no scripts
    discovery,  ///< a node of a cluster that is asked for its masters, and for nothing else
};

}  // namespace conch::wire

#endif
