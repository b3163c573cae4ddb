// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_PROTOCOL_RATE_LIMIT_HPP
#define CONCH_SRC_PROTOCOL_RATE_LIMIT_HPP

#include "protocol/rate_spec.hpp"
#include "resp/value.hpp"
#include "resp/writer.hpp"
#include "wire/call.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace conch::protocol {

/// Asks for these numbers of permits, in this order, until the first that does not fit.
void encode_permits(const wire::call& c, const impl::rate_spec& spec,
                    std::span<const std::uint64_t> permits, resp::writer& w);

struct permits_answer {
    std::size_t granted;    ///< of the requests, from the first on
    std::uint64_t counted;  ///< permits in use now
    std::chrono::milliseconds retry_after;
    std::chrono::milliseconds reset_after;
};

/// None: it is no answer to so many requests.
std::optional<permits_answer> read_permits(const resp::value& reply, std::size_t requests);

}  // namespace conch::protocol

#endif
