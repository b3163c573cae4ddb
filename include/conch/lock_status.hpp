// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_LOCK_STATUS_HPP
#define CONCH_LOCK_STATUS_HPP

#include <conch/clock.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace conch {

/// What `mutex::async_status` asks for.
struct status_options {
    /// Also where the holder is and how many clients wait, by two more commands. The second, CLIENT
    /// LIST, costs the server time for each of its connections. With more than about 40,000 of
    /// them the answer is too long: it is left out, and the client connects anew.
    bool clients = false;
};

/// What the server said of a lock at one moment. It may have changed since.
struct lock_status {
    /// The key exists.
    bool locked = false;
    /// `<client uuid>:<number>`; empty if not locked.
    std::string holder{};
    /// Nesting depth of the holder; 1 of a writer of a `shared_mutex`.
    std::uint64_t depth = 0;
    /// Time to live of the key; empty if not locked, or locked without expiry.
    std::optional<duration> ttl{};
    /// The last fencing token taken; 0 if none was, or the mutex is not fenced.
    std::uint64_t fence = 0;
    /// Host of the holder, with `status_options::clients`. Empty if unknown: the holder is no conch
    /// client with a `config::client_name`, has no connection to this server, or this client may
    /// not see the list of connections.
    std::string holder_host{};
    /// Its `config::service`; empty if it has none, or unknown.
    std::string holder_service{};
    /// Process of the holder on that host; 0 if unknown.
    std::int64_t holder_pid = 0;
    /// The other end of the holder's connection, "10.0.0.7:51234", as the server sees it; empty if
    /// unknown.
    std::string holder_address{};
    /// Of a `shared_mutex`: it is locked for reading. `holder` names the read holds at the server,
    /// with blanks between, and `depth` is their number: readers of a client may share one, and one
    /// may be of a reader that crashed. A writer's ends in ":write".
    bool shared = false;
    /// Of a `semaphore`: how many permits it has in all, if that was ever set. `holder` names the
    /// ids of those that are out, with blanks between, the first 1,000 to end; `depth` is their
    /// number, and `ttl` tells when the next lease ends.
    std::optional<std::int64_t> permits{};
    /// How many clients listen for the release, with `status_options::clients`; empty if unknown. A
    /// client listens once for all of its waiters.
    std::optional<std::uint64_t> waiting_clients{};
};

}  // namespace conch

#endif
