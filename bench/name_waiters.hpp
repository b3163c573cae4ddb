// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_NAME_WAITERS_HPP
#define CONCH_BENCH_NAME_WAITERS_HPP

#include "event_loop.hpp"

#include <conch/conch.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace conch::bench {

/// A client that waits for many locks at once, each held elsewhere. Handlers are plain functions,
/// so that nothing but conch's own memory grows with the number of waiters.
class name_waiters {
public:
    /// The names are `prefix` and a number. `server.max_poll_interval` must be longer than all of
    /// it takes: tries are counted to know when each waiter waits.
    name_waiters(event_loop& loop, const config& server, std::string prefix, std::size_t count);

    /// Asks for all locks; returns when each was asked for twice in vain, the second time after its
    /// subscription.
    void park_all();
    /// Waits until all are granted.
    void await_grants();
    void release_all();

    const client& redis() const noexcept { return client_; }
    std::size_t granted() const noexcept { return granted_; }

private:
    void ask_for_all();

    event_loop& loop_;
    client client_;
    std::string prefix_;
    std::vector<hold> holds_;
    std::size_t granted_ = 0;
};

}  // namespace conch::bench

#endif
