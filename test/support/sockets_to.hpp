// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_SOCKETS_TO_HPP
#define CONCH_TEST_SUPPORT_SOCKETS_TO_HPP

#include <cstdint>
#include <vector>

namespace conch::test {

/// The sockets of this process that have a connection, over IPv4, to this port.
std::vector<int> sockets_to(std::uint16_t port);

}  // namespace conch::test

#endif
