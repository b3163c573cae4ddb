// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_RELEASE_HPP
#define CONCH_SRC_HOLD_RELEASE_HPP

#include "hold/attempt.hpp"
#include "hold/pending.hpp"

#include <cstdint>
#include <optional>

namespace conch::lock {

/// Waits for the answer to a release.
struct unlock : pending {
    explicit unlock(caller c) noexcept : pending{own_kind, c} {}

    static const pending_kind own_kind;
};

/// The release of an acquisition, and its caller.
struct release : wire::call {
    explicit release(acquisition& a) noexcept;

    acquisition& of;
    std::optional<lost_copies> acquires{};  ///< of its acquire
    attempt* replaced_by = nullptr;         ///< the acquire of the next: one script does both
    std::uint32_t rounds = 0;               ///< answered, but not the last
    unlock unlocking{caller{}};
};

}  // namespace conch::lock

#endif
