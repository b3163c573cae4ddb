// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_QUORUM_MUTEX_HPP
#define CONCH_QUORUM_MUTEX_HPP

#include <conch/client.hpp>
#include <conch/mutex.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>

namespace conch {

/// What a quorum is, the same for each of its acquisitions. No `fenced`: tokens that independent
/// servers count form no one order, and two majorities may share a single server, whose count is
/// not the greatest. `hold::fence()` is 0: protect the resource in another way. No `replicas`
/// either: the servers are independent, and the majority is what keeps the lock over a death.
struct quorum_options {
    /// How long one server may take to answer one try before it counts as dead for this time. Much
    /// less than the lease, more than a round trip, and a connection's beginning where the first
    /// acquisition has to make it. From 1 ms to one minute.
    duration answer_timeout = std::chrono::milliseconds{50};
};

/// A lock on a majority of several independent Redis servers: it is granted, renewed and kept while
/// a minority of them is dead, slow or without its data (Redlock, of the Redis page on distributed
/// locks). Independent means no replicas of each other.
///
/// In all else a `mutex`, which it is on each of the servers, by the same name: its operations,
/// options and errors, `with_lock`, and the same `hold`. The differences:
///
/// - All servers are asked at once. The lock is granted as soon as a majority has granted it and
///   the earliest end of these leases, less the drift of clocks, is still ahead; if not, it is
///   released on all of them, also where no answer came. A slow or dead server delays no grant; a
///   refused `async_try_lock()` hears the first one for up to `answer_timeout`, see below.
/// - `hold::valid_until()` is the time until which a majority of its servers keeps it; it goes back
///   where one of them lost the lock. Each is renewed by its own client; a server that was late,
///   dead or lost the lock is asked for it anew in the background, every third of the lease; where
///   the lock was taken away, after half of the lease, when all have told whether it was there too.
///   The hold is lost when no majority is left: at once when that is said, at `valid_until()` at
///   the latest.
/// - A refused try waits at the first server, in the order given, that has answered, and is woken
///   from there by push; after half a second, or ten times `quorum_options::answer_timeout` if that
///   is longer, at the latest it asks all again. A tie between contenders is broken in the same
///   order, then by pauses of random length; between those that do not wait, too: who has got the
///   first server is given up to twice `answer_timeout` more, and nobody is refused before that
///   one has answered, or `answer_timeout` is over. There is no queue: no contender has a right to
///   be the next.
/// - A grant, a release and an extension are confirmed when a majority has confirmed them.
/// - Acquisitions do not nest: `lock_options::owner` is refused with `errc::invalid_owner`.
/// - `errc::not_connected`: no majority has answered, to a try without wait in `answer_timeout`, at
///   the end of `lock_options::wait`, or for `config::operation_timeout` of the first client.
///   `errc::server_unavailable` instead, if that was the last answer. Another error comes from so
///   many servers that no majority is left.
/// - `async_status()`: `locked` says that no majority is known to be free; `holder` lists those of
///   the servers that have answered, each once, in the order given and separated by blanks; `depth`
///   and `ttl` are the greatest. Once a majority has decided it, the others have as long again, or
///   10 ms, and never more than `answer_timeout`. `errc::not_connected` if no majority has answered
///   in that time.
/// - `async_force_unlock()` takes the lock away on all servers that answer in `answer_timeout`; it
///   waits for them so long. A holder that gets a server back at that moment may keep its majority:
///   `async_status()` tells, and a second call takes that too.
/// - A hold counts as one pending operation of each client. It may be watched
///   (`hold::async_wait_lost()`) as often as `config::max_pending` of the first client says; one
///   more fails with `errc::overloaded`.
/// - Its own work, and handlers without an executor, run on the first client's executor. If the
///   clients have several execution contexts, that one must be destroyed last. `stats`, observer
///   and log of each client tell of its own server.
///
/// What it does not promise: exclusion rests on servers that forget no lock within its lease. One
/// that restarts without its data, or with data some time old (`appendfsync everysec`), may grant
/// again what a majority of others never released. Start it again only when the longest lease has
/// passed since it died, or persist with `appendfsync always`. As with one server, a paused process
/// can't be told that its hold is over.
///
/// Thread safety: safe from any thread, one object too. Copies are the same lock; so are others of
/// its name, which may be of other clients of the same servers.
class quorum_mutex : public mutex {
public:
    /// So many servers at most.
    static constexpr std::size_t max_clients = 31;

    /// `clients`: one of each server, from 1 to `max_clients`; those of other executors are called
    /// there. An odd number is best: four servers survive no more deaths than three. They may be
    /// destroyed before this, as with a `mutex`. `name`: as of `mutex`. Sends nothing.
    /// Throws `std::invalid_argument` for no client, too many, one client twice, a bad name or
    /// option. Two clients of one server are not noticed: these votes exclude each other.
    quorum_mutex(std::span<const std::reference_wrapper<const client>> clients,
                 std::string_view name, const quorum_options& options = {});
    /// The same: `quorum_mutex m{{a, b, c}, "name"}`.
    quorum_mutex(std::initializer_list<std::reference_wrapper<const client>> clients,
                 std::string_view name, const quorum_options& options = {})
        : quorum_mutex{std::span{clients.begin(), clients.size()}, name, options} {}
};

}  // namespace conch

#endif
