// SPDX-License-Identifier: BSL-1.0
#include "protocol/replica_count.hpp"

namespace conch::protocol {

void encode_replica_count(std::uint16_t at_least, std::uint16_t within_ms, resp::writer& w) {
    w.command(3).arg("WAIT").arg(at_least).arg(within_ms);
}

std::optional<std::int64_t> read_replica_count(const resp::value& reply) {
    return reply.is_integer() ? std::optional{reply.integer()} : std::nullopt;
}

}  // namespace conch::protocol
