// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_PROTOCOL_PERMITS_HPP
#define CONCH_SRC_PROTOCOL_PERMITS_HPP

#include "resp/value.hpp"
#include "resp/writer.hpp"
#include "wire/call.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// How many permits of a semaphore are left and out, where each that is out has a lease.
namespace conch::protocol {

/// The key of those that are out.
std::string permits_out_key(std::string_view name);

void encode_count_permits(const wire::call& c, std::string_view name, resp::writer& w);

struct permit_counts {
    std::int64_t left;
    std::int64_t out;
    bool set;  ///< somebody has set their number
};

/// None: it is no such answer.
std::optional<permit_counts> read_permit_counts(const resp::value& reply);

}  // namespace conch::protocol

#endif
