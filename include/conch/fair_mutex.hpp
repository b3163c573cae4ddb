// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_FAIR_MUTEX_HPP
#define CONCH_FAIR_MUTEX_HPP

#include <conch/mutex.hpp>

#include <string_view>

namespace conch {

/// A lock that its waiters get in the order in which their first tries reached the server, whatever
/// process or machine they are of. Redisson's `RFairLock` on the wire, so a Java service with the
/// same name stands in the same line, excludes this one and wakes it, and vice versa.
///
/// In all else a `mutex`: its operations, options, holds, renewal and loss, and what takes a
/// `mutex` takes this. The differences:
///
/// - Each waiter has its own place in line. The place lasts for three poll intervals
///   (`config::max_poll_interval`) after the waiter last asked the server, so it outlives a
///   connection that is made again by then; who comes back later, or gives up, has lost it. Waiters
///   of Redisson keep theirs as Redisson says: for five minutes by default.
/// - Whoever releases the lock gives it to the next in line with the same script, and tells it with
///   a message. The lease counts from when the waiter last asked. A waiter whose connection is
///   closed has the lock no longer than its place would have lasted.
/// - It doesn't pass from waiter to waiter of one client without the server: as fair as this is, it
///   is slower than a `mutex` whose waiters are of few clients. Who has an `owner` nests as ever.
/// - A try without wait asks the server in any case. It is busy if anybody stands in line.
/// - `lock_status::waiting_clients` counts the waiters.
///
/// A `mutex` or `RLock` of the same name excludes this one and is excluded by it, but takes a free
/// lock past the line, and its release tells nobody in line: that is noticed at the next poll.
class fair_mutex : public mutex {
public:
    /// As `mutex::mutex`. With `mutex_options::replicas`, who is given the lock asks the server
    /// once more, for the replicas to confirm.
    fair_mutex(const client& redis, std::string_view name, const mutex_options& options = {});
};

}  // namespace conch

#endif
