// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_KIND_NAMES_HPP
#define CONCH_BENCH_KIND_NAMES_HPP

#include "event_loop.hpp"

#include <conch/conch.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace conch::bench {

/// What is waited for.
enum class name_kind {
    mutex,
    fair,     ///< fair_mutex
    reader,   ///< shared_mutex for reading, held by a writer
    permit,   ///< semaphore
    counter,  ///< counting_semaphore
    latch,
    multi_lock,  ///< of two mutexes, one of which is held
};
inline constexpr std::size_t name_kinds = 7;

/// A client and its names of one kind. One blocks them all and lets them go; another waits for all.
/// Handlers are plain functions, so that nothing but conch's own memory grows with the waiters.
class kind_names {
public:
    kind_names(event_loop& loop, const config& server, std::string prefix, std::size_t count,
               name_kind kind);

    void block_all();
    void let_all_go();

    /// Returns at once.
    void ask_for_all();
    void await_grants();
    /// What was granted.
    void release_all();

private:
    using done = std::function<void(error_code)>;

    /// Begins one for each name, and returns when all are answered.
    void for_each(const std::function<void(std::size_t, done)>& begin);
    std::string name(std::size_t i) const { return prefix_ + std::to_string(i); }
    mutex lock(std::size_t i, bool blocks) const;
    done answered(std::size_t& open);

    event_loop& loop_;
    client client_;
    std::string prefix_;
    name_kind kind_;
    std::vector<hold> holds_;
    std::size_t open_ = 0;
};

}  // namespace conch::bench

#endif
