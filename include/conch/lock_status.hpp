// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_LOCK_STATUS_HPP
#define CONCH_LOCK_STATUS_HPP

#include <conch/clock.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace conch {

/// What the server said of a lock at one moment. It may have changed since.
struct lock_status {
    /// The key exists.
    bool locked = false;
    /// `<client uuid>:<number>`; empty if not locked.
    std::string holder{};
    /// Nesting depth of the holder.
    std::uint64_t depth = 0;
    /// Time to live of the key; empty if not locked, or locked without expiry.
    std::optional<duration> ttl{};
    /// The last fencing token taken; 0 if none was, or the mutex is not fenced.
    std::uint64_t fence = 0;
};

}  // namespace conch

#endif
