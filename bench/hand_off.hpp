// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_HAND_OFF_HPP
#define CONCH_BENCH_HAND_OFF_HPP

#include "direct_access.hpp"
#include "event_loop.hpp"
#include "support/child_process.hpp"
#include "worker.hpp"

#include <conch/config.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <random>

namespace conch::bench {

inline constexpr std::size_t most_passes = 10'000;

/// One pass of the lock from one process to the other. The clock is the same in both.
struct pass {
    steady::time_point unlocked{};  ///< when the one that has it begins to unlock
    steady::time_point told{};      ///< raw: when the message has come to the other
    steady::time_point granted{};   ///< when the other has it
    bool by_message = false;        ///< a message ended the other's waiting
};

/// Those of one slice, in memory that both processes share.
struct pass_log {
    std::array<pass, most_passes> passes;
};

/// Rung by who was granted the lock. Who unlocked it waits for that before it asks again: it would
/// win the race.
using bell = bool;

/// To the two processes: pass the lock on so often, by turns, after holding it for once to twice
/// the shortest time. The first has it before, and is the one that is told `take`; the other is
/// told `begin`, as it must listen before a message is sent.
struct pass_order {
    enum class kind { begin, take, play } what = kind::play;
    std::size_t count = 0;
    std::chrono::nanoseconds shortest_hold{};
};

/// How long a process holds the lock.
class hold_times {
public:
    explicit hold_times(std::size_t seed) : random_{seed} {}

    std::chrono::nanoseconds next(std::chrono::nanoseconds shortest) {
        std::uniform_int_distribution<std::chrono::nanoseconds::rep> more{0, shortest.count()};
        return shortest + std::chrono::nanoseconds{more(random_)};
    }

private:
    std::mt19937_64 random_;
};

/// What one of two processes does, 0 or 1, with a client of conch. It hears the other's bell in the
/// event loop of that client. `fair`: the lock is a `fair_mutex`.
void pass_through_conch(const config& server, bool fair, pass_log& log, std::size_t me,
                        wire_end& parent, wire_end& other);

/// The same with two blocking sockets in each process, one of which is subscribed: the release
/// script, the message, and, unless the lock is fair, the acquire script, encoded beforehand.
void pass_by_hand(const direct_access& to, bool fair, pass_log& log, std::size_t me,
                  wire_end& parent, wire_end& other);

}  // namespace conch::bench

#endif
