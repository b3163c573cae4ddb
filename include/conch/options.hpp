// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_OPTIONS_HPP
#define CONCH_OPTIONS_HPP

#include <conch/clock.hpp>
#include <conch/owner.hpp>

#include <chrono>
#include <optional>

namespace conch {

/// Which replicas an acquisition must have reached before it is granted: Redis' WAIT, in the same
/// write behind it. Trivially destructible.
///
/// This narrows what a failover may lose, and closes nothing: see src/doc/topologies.md. What is
/// acknowledged lies in a replica's memory; Sentinel, or a cluster, may promote another replica, if
/// not all have acknowledged. In a cluster the replicas are those of the master that has the lock.
struct replica_options {
    /// So many replicas must have acknowledged it, from 1 to 1,000; if fewer have in time, it is
    /// released again and ends as `errc::not_replicated`. Default: 0, none is asked for.
    unsigned at_least = 0;
    /// How long they have for it, from 1 ms to one minute, but no more than half of
    /// `config::response_timeout`, nor a quarter of any lease or `max_hold`. Less, where other
    /// locks that ask for replicas are renewed at that server: a quarter of the shortest of their
    /// leases. Default 100 ms.
    duration within = std::chrono::milliseconds{100};
};

/// What a mutex is, the same for each of its acquisitions.
struct mutex_options {
    /// Take a fencing token with each acquisition (`hold::fence()`), in the same script. Shares
    /// the token key with Redisson's RFencedLock. Default: off.
    bool fenced = false;
    /// The token key expires so long after the last acquisition by conch. Tokens grow nevertheless,
    /// as a new key starts at the server's time. `forever`: it never expires. That is needed where
    /// Redisson's `RFencedLock` uses the name too, as its tokens would start at 1 again; and it
    /// leaves a key for each name that was ever locked. Default: seven days.
    duration fence_ttl = std::chrono::days{7};
    /// Grant only what replicas have acknowledged. Such locks share a connection of their own (in a
    /// cluster one to each master), as the server does nothing else on it meanwhile: what they do
    /// waits for those before them for up to `within`, other locks don't. A renewal asks too; one
    /// that too few have acknowledged is counted (`stats::renewals_not_replicated`) and logged, and
    /// the hold goes on; an extension is such a renewal, and is answered before the replicas are.
    /// Releases and nested acquisitions ask nobody. All mutexes of a name should say the same:
    /// those that ask and those that don't wait for each other as two clients do. Default: off.
    replica_options replicas{};
};

/// How one acquisition waits and lives. Trivially destructible, so that GCC 12 does not destroy it
/// twice in an expression with co_await. Checked before anything is sent.
struct lock_options {
    /// How long the whole call takes at most, whether others hold the lock (`errc::timed_out`) or
    /// the server is away (`errc::not_connected`); who has had no answer by then gets 100 ms more.
    /// A server that is away ends the call after `config::operation_timeout`, if that is sooner.
    /// Zero: one try, for which the server gets `config::operation_timeout`. Not negative. Default:
    /// `forever` for `async_lock`, zero for `async_try_lock`.
    std::optional<duration> wait{};
    /// The lease: the key's time to live, counted from the sending of the command. From
    /// 10 ms (100 ms if `renew`) to one year, and at least four times `replica_options::within`
    /// where that is asked for. Default: `config::default_lease`.
    std::optional<duration> lease{};
    /// Renew the lease every third of it for as long as the hold lives. Default:
    /// `config::default_renew`. Off is Redisson's fixed `leaseTime`; every third of it the server
    /// is asked all the same whether the hold was taken away.
    std::optional<bool> renew{};
    /// The hold ends after so long, whatever renewal could do; it is then lost with
    /// `errc::max_hold_reached`. At least 10 ms, and four times `replica_options::within` where
    /// that is asked for. Default: `forever`.
    duration max_hold = forever;
    /// Renew only while the holder reports progress, by `hold::progress()`, at least so often; the
    /// grant counts as the first report. A renewal that is due when the last report is older is
    /// withheld; it is made up for soon after the next one: conch looks every thirtieth of the
    /// lease (20 ms at least), or every half of `progress_within` where that is shorter. If none
    /// comes any more, the hold is lost at its `valid_until()` with `errc::no_progress`:
    /// `progress_within` and one lease (or what `hold::async_extend` asked for) after the last
    /// report at the latest. 100 ms to 30 days, and only with `renew`. Default: zero, off.
    duration progress_within{};
    /// For `with_lock`: a hold that is going to be lost cancels the body so long before its
    /// `valid_until()`. From zero to half the lease, or half of `max_hold` where that is shorter.
    /// Default: a tenth of that.
    std::optional<duration> stop_before{};
    /// Acquisitions of the same owner nest: `lease`, `renew`, `max_hold`, `progress_within` and the
    /// fencing token of the outermost one are then those of all, and progress of each counts. By
    /// their owners `config::deadlock_detection` knows who waits for whom. Default: none; each
    /// acquisition excludes all others.
    const conch::owner* owner = nullptr;
};

/// How a client ends.
struct shutdown_options {
    /// So long may the owners of holds go on to release them by themselves, after their
    /// `async_wait_lost` told them. Renewal goes on meanwhile; a body of `with_lock` is cancelled
    /// shortly before the end, if it still runs. Default: zero.
    duration drain{};
};

/// How one wait for a counter goes. Trivially destructible.
struct wait_options {
    /// How long the whole call takes at most, the server away or not; who has had no answer by then
    /// gets 100 ms more. Zero: one try, for which the server gets `config::operation_timeout`.
    /// Not negative. Default: `forever`.
    duration wait = forever;
};

}  // namespace conch

#endif
