// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_API_AGE_COUNTS_HPP
#define CONCH_SRC_API_AGE_COUNTS_HPP

#include <conch/clock.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>

namespace conch::impl {

/// How many of those that began lately have not ended: a count for each of the last few units of
/// time, in which they began. Of what ends later than that, nothing needs to be known here.
/// Thread safety: safe.
class age_counts {
public:
    /// Those younger than this are `young`.
    static constexpr std::int64_t units = 60;

    explicit age_counts(duration unit) noexcept : unit_{unit} {}

    void began(time_point at) {
        const std::int64_t t = unit_of(at);
        std::int64_t clean = clean_.load(std::memory_order_acquire);
        if (t >= clean) {
            clean = clean_until(t);
        }
        if (clean - 1 - t < kept) {  // else told very late
            count_of(t).fetch_add(1, std::memory_order_relaxed);
        }
    }
    void ended(time_point began, duration age) noexcept {
        if (age < kept_for_) {
            count_of(unit_of(began)).fetch_sub(1, std::memory_order_relaxed);
        }
    }
    /// That many began less than `units` ago and have not ended.
    std::int64_t young(time_point now) const noexcept {
        const std::int64_t last =
            std::min(unit_of(now), clean_.load(std::memory_order_acquire) - 1);
        std::int64_t sum = 0;
        for (std::int64_t t = unit_of(now) - units + 1; t <= last; ++t) {
            sum += counts_[place_of(t)].load(std::memory_order_relaxed);
        }
        return sum;
    }

private:
    static constexpr std::size_t places = 128;
    /// Nobody writes to the count of a unit that is so old: its place may be another's soon.
    static constexpr std::int64_t kept = 100;

    static std::size_t place_of(std::int64_t t) noexcept {
        return static_cast<std::size_t>(t) % places;
    }
    std::int64_t unit_of(time_point at) const noexcept { return at.time_since_epoch() / unit_; }
    std::atomic<std::int64_t>& count_of(std::int64_t t) noexcept { return counts_[place_of(t)]; }

    // The places of these units still have what began a round before. Gives what `clean_` is now.
    // Apart from who calls it at each event: that needs no registers for this.
    [[gnu::noinline]] std::int64_t clean_until(std::int64_t t) {
        const std::scoped_lock lock{cleaning_};
        const std::int64_t from = std::max(clean_.load(std::memory_order_relaxed),
                                           t - static_cast<std::int64_t>(places) + 1);
        for (std::int64_t u = from; u <= t; ++u) {
            count_of(u).store(0, std::memory_order_relaxed);
        }
        const std::int64_t clean = std::max(from, t + 1);
        clean_.store(clean, std::memory_order_release);
        return clean;
    }

    const duration unit_;
    const duration kept_for_ = kept * unit_;
    std::array<std::atomic<std::int64_t>, places> counts_{};
    /// All before this have a place of their own.
    std::atomic<std::int64_t> clean_{std::numeric_limits<std::int64_t>::min() + 1};
    std::mutex cleaning_;
};

}  // namespace conch::impl

#endif
