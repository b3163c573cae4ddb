// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_OBSERVER_HPP
#define CONCH_OBSERVER_HPP

#include <conch/clock.hpp>
#include <conch/error.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

namespace conch {

/// Where an observer may keep a number of a lock: 0 at first. Lives at least as long as the name in
/// the same span. Clients with different observers may share it. `metrics` keeps its class there:
/// an observer that forwards spans to a `metrics` must leave it alone.
using lock_memo = std::atomic<std::uint32_t>;

/// One acquire, from its call to its answer.
struct wait_span {
    /// The lock. Valid during the call of the observer only.
    std::string_view name;
    /// Whose, as `client::id()`. Valid during the call of the observer only.
    std::string_view client{};
    /// As in `hold_span`; 0 if none was granted.
    std::uint64_t number = 0;
    /// When the operation started.
    time_point began{};
    /// When it was answered.
    time_point ended{};
    /// Another holder, or another try of this client, kept it waiting.
    bool contended = false;
    /// Why it failed. No error and no number: `async_try_lock` found the lock busy.
    error_code result{};
    /// What `observer::caller_context` gave for it. Valid during the call of the observer only.
    const void* caller = nullptr;
    /// Of the lock, as long as the name; null where nobody keeps one. `metrics` keeps the class.
    lock_memo* memo = nullptr;
};

/// One hold, from its grant to its release or loss.
struct hold_span {
    /// The lock. Valid during the call of the observer only.
    std::string_view name;
    /// Whose, as `client::id()`. Valid during the call of the observer only.
    std::string_view client{};
    /// Of the acquisition, unique in this client. Nested holds, read holds that share one, and
    /// holds between which the lock passed with no word to the server have the number of the
    /// first. The holder that the server knows is `client`, a colon, and this number; of a
    /// writer of a `shared_mutex`, ":write" behind that.
    std::uint64_t number = 0;
    /// The fencing token; 0 if the mutex is not fenced.
    std::uint64_t fence = 0;
    /// When it was granted.
    time_point began{};
    /// When it was released, detached or lost.
    time_point ended{};
    /// How often its lease was renewed.
    std::uint64_t renewals = 0;
    /// Why it was lost; no error if it was released or detached.
    error_code reason{};
    /// As in `wait_span`.
    lock_memo* memo = nullptr;
};

/// One renewal of a lease that the server confirmed, or one extension (`hold::async_extend`).
struct renewal_span {
    /// The lock. Valid during the call of the observer only.
    std::string_view name;
    /// Whose, as `client::id()`. Valid during the call of the observer only.
    std::string_view client{};
    /// As in `hold_span`.
    std::uint64_t number = 0;
    /// How much later it was sent than it was due, a third of the lease after the one before it.
    /// Zero if it was in time, and where no renewal was due.
    duration late{};
};

/// One request to a rate limit, from its call to its answer.
struct rate_span {
    /// The rate limit. Valid during the call of the observer only.
    std::string_view name;
    /// Whose, as `client::id()`. Valid during the call of the observer only.
    std::string_view client{};
    /// So many were asked for.
    std::uint64_t permits = 0;
    /// When the operation started.
    time_point began{};
    /// When it was answered.
    time_point ended{};
    /// All of them were granted.
    bool granted = false;
    /// Why it failed. No error and not granted: a try was refused.
    error_code result{};
};

/// What a connection is good for just now.
enum class connection_state {
    unused,  ///< not wanted: nothing was ever asked of the server, or it has no hash slots any more
    down,    ///< wanted, and the server has not answered its greeting
    up,      ///< the server answers
};

/// A connection of a client to a server of its locks became something else. It begins and ends as
/// `unused`. There is one to each master of a cluster, and a second one where locks with
/// `mutex_options::replicas` are. Connections that only ask for masters, of sentinels or of a
/// cluster, are not told of: locks do without them, as long as a master is known. After a failover,
/// `server` is another one than before: so count connections by client, not by server.
struct connection_change {
    /// "host:port", or the path of a socket; empty while no sentinel or node has told where.
    /// Valid during the call of the observer only.
    std::string_view server;
    /// What it was.
    connection_state before{};
    /// What it is now.
    connection_state now{};
    /// Whose, as `client::id()`. Valid during the call of the observer only.
    std::string_view client{};
};

/// Told of every wait and every hold when it begins and when it ends, of renewals, of requests to
/// rate limits, and of connections: for traces, histograms and gauges (`config::observer`;
/// `metrics` is one). Each wait and each hold that began ends, and each connection becomes
/// `unused`, before its client is gone. Nested acquires wait for nobody and are holds only, unless
/// they queued before their owner had the lock.
///
/// But for `caller_context`: called on the client's strand, in the middle of its work (at the end
/// of the client or of its execution context: on the thread that destroys it): must not block or
/// throw. May start operations; must not wait for them. Must not own the client: each would keep
/// the other.
class observer {
public:
    virtual ~observer() = default;
    /// What the spans of an acquire are to know of its caller, such as the trace that it is part
    /// of: kept until the acquire is answered, and given to `wait_began` and `waited`. Called on
    /// the caller's thread, in the call that starts the acquire, perhaps by several threads at
    /// once. For the first acquire of `with_lock` and `guarded` it is called in their call, and if
    /// that gave null, once more when the result is awaited; for that of `once` and `leader`, as
    /// they begin.
    /// A `quorum_mutex` and a `multi_lock` acquire their members later, without this.
    virtual std::shared_ptr<const void> caller_context() noexcept { return nullptr; }
    /// An acquire began: its name and `began` are known.
    virtual void wait_began(const wait_span&) noexcept {}
    /// An acquire was answered.
    virtual void waited(const wait_span&) noexcept {}
    /// A hold began: its name, number, fence and `began` are known.
    virtual void hold_began(const hold_span&) noexcept {}
    /// A hold ended.
    virtual void held(const hold_span&) noexcept {}
    /// A lease was renewed or extended.
    virtual void renewed(const renewal_span&) noexcept {}
    /// A request to a rate limit was answered.
    virtual void rate_asked(const rate_span&) noexcept {}
    /// A connection came up, went down, was first wanted, or is not wanted any more.
    virtual void connection_changed(const connection_change&) noexcept {}
};

}  // namespace conch

#endif
