// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WIRE_OUTAGE_HPP
#define CONCH_SRC_WIRE_OUTAGE_HPP

#include "core/time.hpp"

#include <conch/error.hpp>

namespace conch::wire {

/// Since when a link has no connection, and why.
struct outage {
    time_point since{};
    time_point tried_at{};     ///< when it last began to connect
    unsigned pauses = 0;       ///< since the server last answered as it should
    unsigned attempts = 0;     ///< to connect that failed since one succeeded
    errc failure{};            ///< of the last connections; none once a command was answered
    errc lasting{};            ///< why the next attempt would fail as the last did, if it would
    bool met_replica = false;  ///< at the last attempt, where a master is wanted

    /// What to tell who waited in vain for a connection.
    errc why() const noexcept { return failure != errc{} ? failure : errc::not_connected; }
    void trying(time_point now) noexcept {
        tried_at = now;
        lasting = {};
        met_replica = false;
    }
    /// What failed was another server's fault.
    void forget_failures() noexcept {
        pauses = attempts = 0;
        failure = {};
    }
};

}  // namespace conch::wire

#endif
