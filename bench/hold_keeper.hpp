// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_HOLD_KEEPER_HPP
#define CONCH_BENCH_HOLD_KEEPER_HPP

#include "event_loop.hpp"

#include <conch/conch.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace conch::bench {

/// A client that takes many locks and keeps them renewed. Handlers are plain functions, so that
/// nothing but conch's own memory grows with the number of holds.
class hold_keeper {
public:
    /// The names are `prefix` and a number.
    hold_keeper(event_loop& loop, const config& server, std::string prefix, std::size_t count,
                duration lease);

    /// Takes a lock and releases it: from then on only holds need memory, not the connection.
    void warm_up();
    void take_all();
    void release_all();

    const std::vector<hold>& holds() const noexcept { return holds_; }
    const client& redis() const noexcept { return client_; }

private:
    void take_next();
    void release_next();
    void one_done();

    event_loop& loop_;
    client client_;
    std::string prefix_;
    duration lease_;
    std::vector<hold> holds_;
    std::size_t next_ = 0;
    std::size_t done_ = 0;
};

}  // namespace conch::bench

#endif
