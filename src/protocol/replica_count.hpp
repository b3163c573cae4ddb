// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_PROTOCOL_REPLICA_COUNT_HPP
#define CONCH_SRC_PROTOCOL_REPLICA_COUNT_HPP

#include "resp/value.hpp"
#include "resp/writer.hpp"

#include <cstdint>
#include <optional>

namespace conch::protocol {

/// Asks how many replicas have all that was written before it on its connection. The server answers
/// once `at_least` of them do, or when the time is over.
void encode_replica_count(std::uint16_t at_least, std::uint16_t within_ms, resp::writer& w);
/// None: it is no such answer.
std::optional<std::int64_t> read_replica_count(const resp::value& reply);

}  // namespace conch::protocol

#endif
