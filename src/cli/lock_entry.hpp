// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_LOCK_ENTRY_HPP
#define CONCH_SRC_CLI_LOCK_ENTRY_HPP

#include "cli/client_places.hpp"

#include <conch/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace conch::cli {

/// What a key is to conch.
enum class entry_kind : std::uint8_t {
    mutex,      ///< also a fair one that nobody waits for: their keys are the same
    fair,       ///< has a line of waiters
    reading,    ///< a read-write lock, held for reading
    writing,    ///< the same, for writing
    semaphore,  ///< permits with leases
    plain,      ///< a string with a token
    counter,    ///< a counting semaphore or a latch: their keys are the same
    rate_limit,
};

/// "mutex", "rw read" and so on.
std::string_view text_of(entry_kind kind) noexcept;
/// Of a semaphore: "2 permits are out", "1 of 3 permits is out".
std::string permits_out(std::uint64_t out, std::optional<std::int64_t> in_all);
/// In words, that somebody holds it: "fair mutex, locked", "read-write lock, read by 2". `held_by`:
/// how many do. `permits`: a counter's number; in all, of a semaphore.
std::string headline_of(entry_kind kind, std::uint64_t held_by,
                        std::optional<std::int64_t> permits);

/// What a holder waits for.
struct holder_wait {
    std::string name{};  ///< of a lock
    duration so_long{};  ///< by the clocks of its host and of the server
    bool reads = false;  ///< a read-write lock
};

/// Somebody who holds a lock, or waits in line for it.
struct lock_holder {
    std::string field{};  ///< "<client uuid>:<number>", a token, or a permit's id in hexadecimal
    std::optional<client_place> place{};  ///< none: it is no conch client that is connected
    std::vector<holder_wait> waits{};     ///< where its client tells them
};

/// A lock that one of the holders before it waits for.
struct wait_step {
    enum class state : std::uint8_t {
        held,
        free,           ///< by now; or it is no lock
        unknown,        ///< the server refused to tell, or is not there
        behind_writer,  ///< it is read, and only a writer that waits keeps this reader out
        closes_cycle,   ///< it stands before in the chain, or is the lock itself
    };

    holder_wait wait{};
    std::size_t by = 0;  ///< which of those holders
    state is = state::free;
    std::vector<lock_holder> holders{};
};

/// What the server tells of a lock.
struct lock_entry {
    std::string name{};
    entry_kind kind{};
    std::vector<lock_holder> holders{};      ///< some of them, if there are very many
    std::uint64_t held_by = 0;               ///< how many there are
    std::uint64_t depth = 0;                 ///< of nesting
    std::optional<duration> ttl{};           ///< none: it has no end, or `hides_end`
    bool hides_end = false;                  ///< the server refuses to tell when it ends
    std::uint64_t fence = 0;                 ///< 0: none
    std::optional<duration> held{};          ///< for how long, by the fence
    std::optional<std::uint64_t> waiting{};  ///< clients, or places in line
    std::optional<duration> longest_wait{};  ///< that a holder of another listed lock tells
    std::optional<std::int64_t> permits{};   ///< a counter's number; in all, of a semaphore

    // Where `conch who` asks.

    std::vector<lock_holder> line{};  ///< the first in line
    std::vector<wait_step> chain{};   ///< what a holder waits for, what its holder waits for, ...
};

// The shapes of what is on the server.

/// "<uuid>:<number>", and of a writer ":write" behind it.
bool is_lock_field(std::string_view text) noexcept;
/// It may be what programs that know nothing of conch write into a plain lock.
bool is_token(std::string_view text) noexcept;
/// The semaphore whose permits that are out this key has: "{NAME}:timeout". Empty: it is no such.
std::string semaphore_of(std::string_view key);
std::string key_of_permits_out(std::string_view name);
/// As Redisson derives the name of a key or channel: "prefix:{NAME}", but "prefix:NAME" if that has
/// a brace.
std::string derived_key(std::string_view prefix, std::string_view name);
/// A string's kind, by what it says and whether it ends.
std::optional<entry_kind> kind_of_string(std::string_view value, bool ends) noexcept;
/// How long ago this token was taken, in the server's microseconds; a fence that somebody counted
/// otherwise (Redisson's begin at 1) tells nothing.
std::optional<duration> age_of_fence(std::uint64_t fence, std::int64_t now_us) noexcept;

}  // namespace conch::cli

#endif
