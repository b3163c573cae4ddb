// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_MULTI_LOCK_HPP
#define CONCH_MULTI_LOCK_HPP

#include <conch/mutex.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <span>

namespace conch {

/// Several locks as one: all are held, or none. `std::lock` for locks that processes share, of
/// Redisson's `RedissonMultiLock` without its dead ends.
///
/// In all else a `mutex`: its operations, options and errors, `with_lock`, and the same `hold`. The
/// differences:
///
/// - The locks may be of any kind (but no `quorum_mutex`, and no `multi_lock`), of one client or of
///   several, of one server or of several. Whoever locks one of them alone excludes this, and the
///   reverse.
/// - All are asked for at once, in one round trip where they are of one client. If one is busy, the
///   others are given back, and that one is waited for; who gets it waits for the others, for 50 ms
///   at most. So there is no deadlock, in whatever order others lock them. No order is kept: who
///   needs several locks that are always busy may wait for ever.
/// - A try without wait finds the lock busy if one of its locks is, for a moment only too.
/// - `hold::valid_until()` is the earliest of all. The hold is lost when one of them is lost; the
///   others are released then.
/// - An unlock and an extension are confirmed when each lock has confirmed them.
/// - `errc::not_connected`: one of the servers did not answer. A try gives each server one second
///   for its answer, or `config::operation_timeout` of the first client if that is shorter.
/// - Acquisitions do not nest: `lock_options::owner` is refused with `errc::invalid_owner`.
/// - `hold::fence()` is 0.
/// - `async_status()`: `locked` says that not all are free; `holder` lists their holders, each
///   once; `depth` and `ttl` are the greatest. `async_force_unlock()` takes all away.
/// - `name()` is those of all, in the order in which they are asked: that of their servers, then of
///   their names.
/// - Its own work, and handlers without an executor, run on the executor of that first lock's
///   client. If the clients have several execution contexts, that one must be destroyed last.
///
/// Thread safety: safe from any thread, one object too. Copies are the same lock.
class multi_lock : public mutex {
public:
    /// So many locks at most.
    static constexpr std::size_t max_locks = 31;

    /// `locks`: from 1 to `max_locks`. They, and their clients, may be destroyed before this. Sends
    /// nothing. Throws `std::invalid_argument` for no lock, too many, one that is itself of
    /// several, or one name twice with one client. One name twice on one server, with two clients,
    /// is not noticed: it is always busy.
    explicit multi_lock(std::span<const std::reference_wrapper<const mutex>> locks);
    /// The same: `multi_lock m{a, b, c}`.
    template <std::derived_from<mutex>... More>
    multi_lock(const mutex& first, const mutex& second, const More&... more)
        : multi_lock{std::span<const std::reference_wrapper<const mutex>>{
              std::array{std::cref(first), std::cref(second), std::cref<mutex>(more)...}}} {}
};

/// Locks all of these, as `multi_lock` does: `hold h = co_await async_lock_all({.wait = 2s}, a,
/// b)`. All as `mutex::async_lock`, with the default token.
template <std::derived_from<mutex>... More>
[[nodiscard]] auto async_lock_all(const lock_options& options, const mutex& first,
                                  const mutex& second, const More&... more) {
    return multi_lock{first, second, more...}.async_lock(options);
}

/// The same with the default options.
template <std::derived_from<mutex>... More>
[[nodiscard]] auto async_lock_all(const mutex& first, const mutex& second, const More&... more) {
    return async_lock_all(lock_options{}, first, second, more...);
}

}  // namespace conch

#endif
