// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_ONCE_NOTE_HPP
#define CONCH_IMPL_ONCE_NOTE_HPP

#include <conch/clock.hpp>

#include <cstdint>
#include <optional>

// The note of `conch::once`: when the latest run was planned that is done.
namespace conch::impl {

/// What the holder of the lock asks, or has done.
struct once_note {
    std::optional<std::int64_t> done_ms{};  ///< when that was planned, since 1970; none: only asks
    std::int64_t period_ms = 1;             ///< of the schedule
    std::int64_t at_ms = 0;
    time_point came{};  ///< when the caller came, before it waited for the lock

    /// Lua counts in doubles.
    bool is_in_range() const noexcept {
        return !done_ms || (*done_ms > 0 && *done_ms < (std::int64_t{1} << 53) - 1);
    }
    /// So long the note stays.
    std::int64_t keep_ms() const noexcept { return 4 * period_ms; }
};

/// Times since 1970.
struct once_answer {
    std::int64_t now_ms = 0;   ///< by the server's clock
    std::int64_t done_ms = 0;  ///< when the latest run was planned that is done; 0: none is
    bool held = false;         ///< else nothing was noted
    time_point sent{};         ///< the question, by this machine's clock
};

}  // namespace conch::impl

#endif
