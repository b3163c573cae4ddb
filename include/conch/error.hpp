// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_ERROR_HPP
#define CONCH_ERROR_HPP

#include <conch/impl/language.hpp>

#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

#include <type_traits>

namespace conch {

/// What operations complete with.
using error_code = boost::system::error_code;
/// What a completion token throws for it.
using system_error = boost::system::system_error;

/// What can go wrong, each cause apart. Where the server itself refused, its own words are in
/// `client::last_server_error()`.
enum class errc {
    /// The lock was not granted within `lock_options::wait`. Nothing is held.
    timed_out = 1,
    /// The hold is empty, or was moved from, detached, or never granted.
    not_owner,
    /// This hold was released before.
    already_released,
    /// The lease ended before a renewal was confirmed. Another client may hold the lock.
    lease_expired,
    /// The server refused the renewals for good until the lease ended (see
    /// `client::last_server_error()`). Refusals that may pass by themselves: `lease_expired`.
    renewal_refused,
    /// The server no longer knows this hold: forced release, deleted key, or data lost in a
    /// restart.
    lock_lost,
    /// `lock_options::max_hold` was reached.
    max_hold_reached,
    /// No server answered within `lock_options::wait` or `config::operation_timeout`.
    not_connected,
    /// The client was shut down or destroyed.
    client_closed,
    /// The command was written, its answer never came, and it must not be sent twice.
    /// For operations that count; no lock operation ends in it.
    outcome_unknown,
    /// The rate limit of a function made by `rate_limited` is reached.
    rate_limited,
    /// Too many operations are pending in this client (`config::max_pending`).
    overloaded,

    /// `lock_options::wait` is negative, or the time for `hold::async_wait_lost`.
    invalid_wait,
    /// `lock_options::lease` is under 10 ms (100 ms with renewal on), under four times
    /// `replica_options::within`, or above one year.
    invalid_lease,
    /// `lock_options::max_hold` is under 10 ms, or under four times `replica_options::within`.
    invalid_max_hold,
    /// `lock_options::stop_before` is negative, or above half the lease or half of `max_hold`.
    invalid_stop_before,
    /// No permits, or more than the limit; of a semaphore, more than it has in all, or would have
    /// more than 2,147,483,647; of a latch, a count out of its range.
    invalid_permits,
    /// `lock_options::owner` is set for a `quorum_mutex`, whose acquisitions do not nest.
    invalid_owner,

    /// The server refused with an error that has no code of its own here.
    server_error,
    /// User name or password refused, or missing.
    authentication_failed,
    /// The server does not speak RESP3 (Redis before 6.0).
    server_too_old,
    /// The user may not run a command or touch a key that the lock needs (ACL), or nobody from
    /// elsewhere may (protected mode).
    permission_denied,
    /// The server is a read-only replica.
    read_only,
    /// The server is out of memory (`maxmemory`).
    out_of_memory,
    /// The server is loading its data, busy in a script, without its master or replicas, can't save
    /// its data (`MISCONF`), or has no room for another connection (`maxclients`). This may pass by
    /// itself, so an operation is repeated until its time is over.
    server_unavailable,
    /// The key of this name holds something else: no lock, or not this rate limit's count.
    wrong_type,
    /// What came over the connection is not RESP3, or exceeds the limits of this client.
    protocol_error,
    /// No sentinel knows a master of the name `sentinel_options::master`.
    unknown_master,
    /// The server that took over in a failover, or that was started again, doesn't have the hold.
    /// Another client may hold the lock.
    lost_in_failover,
    /// TLS failed in a way that will not pass: a certificate that is not trusted, expired or made
    /// for another name, one that the server demands, or a peer that answers in plain text.
    tls_failed,
    /// Fewer than `replica_options::at_least` replicas acknowledged the acquisition in time.
    /// Nothing is held: it is released again.
    not_replicated,
    /// The client, or the hold, was made by the process that this one was forked from: it is of use
    /// there alone. Nothing was sent.
    forked,
    /// Only a hold of a `shared_mutex` for writing can be downgraded, and this is none; it is as it
    /// was. Nothing was sent.
    not_a_writer,
    /// Another hold of the same owner is nested with this one, and may rely on it: release that
    /// first. Nothing was sent.
    nested_hold,
    /// `once::async_set_done` was given a time before 1970, or one more than a period after the
    /// present time of the server. Nothing is noted.
    invalid_planned_time,
    /// The body of a `once` has come to its end, but that can't be noted, for a reason that the
    /// exception's text tells. The job may be run again: calling once more does so.
    not_noted,
    /// The holder reported no progress for `lock_options::progress_within`, so that the lease was
    /// not renewed, and it ended. Another client may hold the lock.
    no_progress,
    /// `lock_options::progress_within` is not from 100 ms to 30 days, or goes with `renew` off.
    invalid_progress_within,
    /// The wait would never have ended: the holder of the lock waits for a lock that this owner
    /// holds, or for one whose holder does so, and so on (`config::deadlock_detection`). Nothing is
    /// held that was not held before: whoever is told so releases what it holds, and tries again.
    /// `client::last_deadlock()` tells the cycle in words.
    deadlock,
};

/// The category of `errc`: name "conch".
const boost::system::error_category& conch_category() noexcept;

/// Makes `errc` convert to `error_code`.
error_code make_error_code(errc e) noexcept;

}  // namespace conch

namespace boost::system {
template <>
struct is_error_code_enum<conch::errc> : std::true_type {};
}  // namespace boost::system

#endif
