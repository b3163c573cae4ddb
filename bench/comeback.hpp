// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_COMEBACK_HPP
#define CONCH_BENCH_COMEBACK_HPP

#include "event_loop.hpp"
#include "worker.hpp"

#include <conch/config.hpp>

#include <cstddef>
#include <cstdint>

namespace conch::bench {

inline constexpr const char* holder_name = "conch-bench-holder";
inline constexpr const char* waiter_name = "conch-bench-waiter";
inline constexpr const char* raw_name = "conch-bench-raw";

/// From a process that lost its connection, when all is as before.
struct comeback {
    steady::time_point first_grant{};  ///< of a lock that was asked for since the loss
    steady::time_point whole{};        ///< each hold was checked, each waiter waits and listens
    std::uint64_t lost = 0;            ///< holds
};

// Processes that say when they are ready, and then, for each order to be watchful, that they are,
// and how they came back from the next loss.

/// A client of conch with so many holds.
void hold_through(const config& server, std::size_t count, wire_end& parent);
/// A client of conch that waits for each of these.
void wait_through(const config& server, std::size_t count, wire_end& parent);
/// Both by hand, through one blocking socket: comes back as soon as it can, and then sends what
/// conch must send, encoded beforehand.
void come_back_by_hand(const config& server, std::size_t count, wire_end& parent);

}  // namespace conch::bench

#endif
