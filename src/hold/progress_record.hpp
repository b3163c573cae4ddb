// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_PROGRESS_RECORD_HPP
#define CONCH_SRC_HOLD_PROGRESS_RECORD_HPP

#include <conch/clock.hpp>

namespace conch::lock {

/// What is known of an acquisition whose holder has to report progress.
struct progress_record {
    duration within;
    time_point last{};      ///< as the levels that have ended said
    time_point withheld{};  ///< since when it is not renewed, for want of a report; else the epoch
    time_point asks_at{};   ///< and when the server is next asked whether the hold is there
};

}  // namespace conch::lock

#endif
