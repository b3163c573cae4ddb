// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_PROTOCOL_COUNTER_HPP
#define CONCH_SRC_PROTOCOL_COUNTER_HPP

#include "protocol/count_spec.hpp"
#include "resp/value.hpp"
#include "resp/writer.hpp"
#include "wire/call.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

// The permits of a semaphore, and the count of a latch: how they are taken, changed and looked at.
// Each request that changes something has a key of its own, which keeps the answer: a repeated one
// finds it there.
namespace conch::protocol {

/// Redisson counts in 32 bits.
inline constexpr std::int64_t most_permits = std::numeric_limits<std::int32_t>::max();

/// So long the server keeps what a request did.
inline constexpr std::chrono::milliseconds request_kept{60'000};
/// So long after its first copy was written a request is repeated: what is still on its way then
/// has as long again to arrive.
inline constexpr std::chrono::milliseconds request_repeated = request_kept / 2;

/// One request among all of all clients: never used again.
struct request_id {
    std::string_view prefix;  ///< of the client
    std::uint64_t number;
};

/// Asks for these numbers of permits, in this order, until the first that does not fit. Of a
/// repeated call no earlier copy that runs later takes more. Not `wanted`: nobody waits for the
/// answer any more; what no earlier copy took, none takes later.
void encode_acquire_permits(const wire::call& c, const impl::count_spec& spec, request_id id,
                            bool wanted, std::span<const std::int64_t> permits, resp::writer& w);

/// How many of so many requests were granted. None: it is no such answer.
std::optional<std::size_t> read_acquired(const resp::value& reply, std::size_t requests);

/// The last two are of a latch: `arm` sets its count, if that is 0; `count_down` ends at 0.
enum class count_change : std::uint8_t { add, set, try_set, drain, arm, count_down };

/// Not `wanted`: as `encode_acquire_permits`.
void encode_change(const wire::call& c, const impl::count_spec& spec, request_id id, bool wanted,
                   count_change what, std::int64_t permits, bool sharded, resp::writer& w);

struct change_answer {
    enum class kind : std::uint8_t {
        done,
        not_done,  ///< it was set before
        too_many,  ///< the number would be more than can be counted
    };
    kind what;
    std::int64_t before;  ///< the number that was
};

/// None: it is no such answer.
std::optional<change_answer> read_change(const resp::value& reply);

void encode_available(const impl::count_spec& spec, resp::writer& w);

/// The number, 0 without a key. None: the key holds something else.
std::optional<std::int64_t> read_available(const resp::value& reply);

}  // namespace conch::protocol

#endif
