// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_OPTIONS_HPP
#define CONCH_OPTIONS_HPP

#include <conch/clock.hpp>
#include <conch/owner.hpp>

#include <chrono>
#include <optional>

namespace conch {

/// What a mutex is, the same for each of its acquisitions.
struct mutex_options {
    /// Take a fencing token with each acquisition (`hold::fence()`), in the same script. Shares
    /// the token key with Redisson's RFencedLock. Default: off.
    bool fenced = false;
    /// The token key expires so long after the last acquisition; tokens grow nevertheless, as
    /// they start at the server's time. Default: never expires, as Redisson's.
    std::optional<duration> fence_ttl{};
};

/// How one acquisition waits and lives. Trivially destructible, so that GCC 12 does not destroy it
/// twice in an expression with co_await. Checked before anything is sent.
struct lock_options {
    /// How long to wait for *other holders*; at least one try is made and its answer awaited.
    /// Not negative. Default: `forever` for `async_lock`, zero for `async_try_lock`.
    std::optional<duration> wait{};
    /// The lease: the key's time to live, counted from the sending of the command. From
    /// 10 ms (100 ms if `renew`) to one year. Default: `config::default_lease`.
    std::optional<duration> lease{};
    /// Renew the lease every third of it for as long as the hold lives. Default:
    /// `config::default_renew`. Off is Redisson's fixed `leaseTime`; every third of it the server
    /// is asked all the same whether the hold was taken away.
    std::optional<bool> renew{};
    /// The hold ends after so long, whatever renewal could do; it is then lost with
    /// `errc::max_hold_reached`. At least 10 ms. Default: `forever`.
    duration max_hold = forever;
    /// For `with_lock`: a hold that is going to be lost cancels the body so long before its
    /// `valid_until()`. From zero to half the lease, or half of `max_hold` where that is shorter.
    /// Default: a tenth of that.
    std::optional<duration> stop_before{};
    /// Acquisitions of the same owner nest: `lease`, `renew`, `max_hold` and the fencing token of
    /// the outermost one are then those of all. Default: none; each acquisition excludes all
    /// others.
    const conch::owner* owner = nullptr;
};

/// How a client ends.
struct shutdown_options {
    /// So long may the owners of holds go on to release them by themselves, after their
    /// `async_wait_lost` told them. Renewal goes on meanwhile; a body of `with_lock` is cancelled
    /// shortly before the end, if it still runs. Default: zero.
    duration drain{};
};

}  // namespace conch

#endif
