// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_STATS_HPP
#define CONCH_STATS_HPP

#include <conch/clock.hpp>

#include <cstdint>

namespace conch {

/// Counters since the client was made, unless a field says "now".
struct stats {
    std::uint64_t acquisitions = 0;        ///< holds granted, nested ones too
    std::uint64_t contended = 0;           ///< acquisitions that another holder kept waiting
    std::uint64_t waits = 0;               ///< acquires ended: granted, busy, failed or cancelled
    duration wait_time{};                  ///< all of their waiting together
    duration longest_wait{};               ///< the longest of them
    std::uint64_t busy = 0;                ///< tries answered "busy"
    std::uint64_t timeouts = 0;            ///< acquires that ended busy or timed out
    std::uint64_t deadlocks = 0;           ///< acquires that would have waited for ever
    std::uint64_t cancelled = 0;           ///< acquires cancelled by their caller
    std::uint64_t releases = 0;            ///< holds released: confirmed, or passed on
    std::uint64_t compensations = 0;       ///< acquires granted to nobody and released again
    std::uint64_t not_replicated = 0;      ///< of these: too few replicas acknowledged them
    std::uint64_t hand_offs = 0;           ///< locks passed to a local waiter
    std::uint64_t wakes_by_message = 0;    ///< tries made because a release message came
    std::uint64_t wakes_by_poll = 0;       ///< tries made because no message came in time
    std::uint64_t wakes_by_subscribe = 0;  ///< tries made with or after a (re)subscription
    std::uint64_t renewals = 0;            ///< leases renewed
    std::uint64_t renewal_batches = 0;     ///< renewal scripts sent
    std::uint64_t renewal_failures = 0;    ///< renewals answered with an error, then retried
    /// Renewals that too few replicas acknowledged.
    std::uint64_t renewals_not_replicated = 0;
    duration renewal_lateness{};          ///< how late the renewals left, all together
    duration latest_renewal{};            ///< the latest of them
    std::uint64_t lost_expired = 0;       ///< holds lost: lease ended unrenewed
    std::uint64_t lost_refused = 0;       ///< holds lost: the server refused the renewals
    std::uint64_t lost_taken = 0;         ///< holds lost: not the server's holder any more
    std::uint64_t lost_max_hold = 0;      ///< holds ended by `max_hold`
    std::uint64_t lost_no_progress = 0;   ///< holds lost: not renewed, see `progress_within`
    /// Requests granted by a rate limit or semaphore, and waits for a latch that found it open.
    std::uint64_t permits_granted = 0;
    std::uint64_t permits_refused = 0;  ///< refused, or not granted in time
    /// Requests to a semaphore or latch that were given up with an unknown outcome: permits may be
    /// lost, or a count too high.
    std::uint64_t permits_in_doubt = 0;
    std::uint64_t script_calls = 0;       ///< scripts sent, repeated ones too
    std::uint64_t connects = 0;           ///< connections made
    std::uint64_t connection_losses = 0;  ///< connections that broke after they were made
    std::uint64_t in_doubt = 0;           ///< commands whose answer a broken connection took along
    std::uint64_t redirections = 0;       ///< calls that a server of a cluster sent to another
    std::uint64_t old_fenced = 0;  ///< old connections that can do no more (CLIENT KILL answered)
    std::uint64_t unknown_pushes = 0;     ///< pushes that no subscription wanted
    std::uint64_t bytes_sent = 0;         ///< to the server
    std::uint64_t bytes_received = 0;     ///< from the server
    std::uint64_t holds_now = 0;          ///< now: holds granted and not yet released
    std::uint64_t waiting_now = 0;        ///< now: acquires not yet answered
    std::uint64_t slots_now = 0;          ///< now: lock names with any state in this client
    std::uint64_t subscriptions_now = 0;  ///< now: channels with listeners
};

}  // namespace conch

#endif
