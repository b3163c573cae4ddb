// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_ENVIRONMENT_HPP
#define CONCH_SRC_CORE_ENVIRONMENT_HPP

#include "core/random.hpp"
#include "core/run_queue.hpp"
#include "core/telemetry.hpp"
#include "core/timer_heap.hpp"

#include <conch/clock.hpp>
#include <conch/config.hpp>

#include <cstdint>
#include <string_view>

namespace conch::core {

/// What everything in one client shares: its settings, the time of this turn, what is to happen
/// later, and what the client tells of itself. One thread at a time.
struct environment {
    environment(const config& c, std::string_view client_id, std::uint64_t seed)
        : settings{c}, jitter{seed}, telemetry{c, client_id, timers, now} {}
    environment(const environment&) = delete;
    environment& operator=(const environment&) = delete;

    const config& settings;
    random jitter;
    timer_heap timers{};
    run_queue awake{};
    time_point now{};
    core::telemetry telemetry;
    duration wall_clock{};  ///< how far that is ahead of `now`; only for comparisons with others
    bool closing = false;   ///< nobody new is let in
};

}  // namespace conch::core

#endif
