// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_PROTOCOL_CLIENT_LIST_HPP
#define CONCH_SRC_PROTOCOL_CLIENT_LIST_HPP

#include "protocol/spec.hpp"
#include "resp/value.hpp"
#include "resp/writer.hpp"

#include <conch/lock_status.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

// What a server knows of the clients that wait for a lock, or hold it.
namespace conch::protocol {

/// Asks how many clients wait: of those that have places in a line, for how many places there are;
/// of others, for how many listen to the lock's channel.
void encode_waiting(const impl::lock_spec& spec, bool sharded, resp::writer& w);
/// None: it is no such answer.
std::optional<std::uint64_t> read_waiting(const resp::value& reply);

void encode_client_list(resp::writer& w);
/// Looks for `s.holder` in the answer to CLIENT LIST, one line for each connection, and writes to
/// `s` where that client is. The name of a conch client's connection ends in
/// ":HOST:PID:BEGINNING-OF-ITS-ID", as `impl::client_name` makes it.
void locate_holder(lock_status& s, std::string_view client_list);

}  // namespace conch::protocol

#endif
