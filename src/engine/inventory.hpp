// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_ENGINE_INVENTORY_HPP
#define CONCH_SRC_ENGINE_INVENTORY_HPP

#include <cstddef>

namespace conch::engine {

/// How much of everything an engine keeps just now. All of it is zero when nobody wants anything
/// and nothing is held, but for the memory that waits for input.
struct inventory {
    std::size_t pending = 0;  ///< operations that `max_pending` counts
    std::size_t acquisitions = 0;
    std::size_t levels = 0;
    std::size_t waiters = 0;
    std::size_t watchers = 0;
    std::size_t extensions = 0;
    std::size_t level_changes = 0;
    std::size_t downgrades = 0;
    std::size_t notes = 0;
    std::size_t watched_waits = 0;  ///< for deadlocks; and commands about them
    std::size_t queries = 0;
    std::size_t permit_requests = 0;
    std::size_t counter_changes = 0;
    std::size_t slots = 0;
    std::size_t limiters = 0;
    std::size_t counters = 0;
    std::size_t renewals = 0;    ///< scripts, on their way
    std::size_t timers = 0;      ///< two of them are the link's
    std::size_t input_room = 0;  ///< in bytes
};

}  // namespace conch::engine

#endif
