// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_PAIR_LOOP_HPP
#define CONCH_BENCH_PAIR_LOOP_HPP

#include "event_loop.hpp"
#include "lock_mix.hpp"
#include "slice.hpp"

#include <conch/conch.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace conch::bench {

/// The name of the lock of a coroutine.
std::string own_name(std::size_t coroutine);

/// What each coroutine has of its own, and takes whole.
struct own_locks {
    std::size_t permits = 0;  ///< of a semaphore; 0: mutexes
    std::size_t locks = 1;    ///< mutexes at once
};

/// conch's side: one client, one thread, and coroutines that lock and unlock as fast as they can.
class pair_loop {
public:
    pair_loop(const config& server, std::size_t coroutines, const own_locks& each = {});
    /// All want this lock: a mutex, or a read-write lock that is only read in so many cases of a
    /// hundred.
    pair_loop(const config& server, std::size_t coroutines, const std::string& name,
              const mutex_options& what, std::size_t readers_percent = 0);

    /// Runs until the end, then until each lock is released again.
    slice run(const slice_length& length);

    const client& redis() const noexcept { return client_; }

private:
    asio::awaitable<void> lock_and_unlock(lock_mix& locks);

    event_loop loop_;
    client client_;
    std::vector<lock_mix> locks_{};
    steady::time_point end_{};
    std::size_t pairs_left_ = 0;
    std::vector<double> latencies_us_;
    std::size_t last_count_ = 0;
};

}  // namespace conch::bench

#endif
