// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_LOCK_MIX_HPP
#define CONCH_BENCH_LOCK_MIX_HPP

#include <conch/conch.hpp>

#include <cstddef>
#include <utility>

namespace conch::bench {

/// The locks that one coroutine wants, one after the other: a mutex each time, or a read-write
/// lock, of which it is a reader in so many cases of a hundred.
class lock_mix {
public:
    explicit lock_mix(mutex m) : often_{m}, rarely_{std::move(m)} {}
    /// `turn`: where it begins, so that not all write at the same time.
    lock_mix(const shared_mutex& m, std::size_t readers_percent, std::size_t turn)
        : often_{m.reader()},
          rarely_{m.writer()},
          writers_percent_{100 - readers_percent},
          turn_{turn * 37} {}

    const mutex& next() noexcept {
        return ++turn_ * writers_percent_ % 100 < writers_percent_ ? rarely_ : often_;
    }

private:
    mutex often_;
    mutex rarely_;
    std::size_t writers_percent_ = 0;
    std::size_t turn_ = 0;
};

}  // namespace conch::bench

#endif
