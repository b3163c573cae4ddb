// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_PROTOCOL_ONCE_HPP
#define CONCH_SRC_PROTOCOL_ONCE_HPP

#include "protocol/lock_protocol.hpp"

#include <conch/impl/once_note.hpp>

#include <optional>

// `conch::once`: beside the lock, a note of the latest run that is done.
namespace conch::protocol {

void encode_once(const wire::call& c, const impl::lock_spec& spec, const field& holder,
                 const impl::once_note& n, resp::writer& w);
/// None: it is no answer to that.
std::optional<impl::once_answer> read_once(const resp::value& reply);

}  // namespace conch::protocol

#endif
