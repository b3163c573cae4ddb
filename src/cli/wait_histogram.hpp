// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_WAIT_HISTOGRAM_HPP
#define CONCH_SRC_CLI_WAIT_HISTOGRAM_HPP

#include <conch/clock.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace conch::cli {

/// Durations in buckets of 1/32 of a power of two (3 % wide), up to 18 minutes; longer ones count
/// as that. One process writes, others may read meanwhile: it lives in shared memory.
class wait_histogram {
public:
    void add(duration d) noexcept {
        const auto ns = static_cast<std::uint64_t>(std::clamp<duration::rep>(d.count(), 0, most));
        auto& bucket = buckets_[index_of(ns)];
        bucket.store(bucket.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }

    void add(const wait_histogram& other) noexcept {
        for (std::size_t i = 0; i < buckets_.size(); ++i) {
            buckets_[i] += other.buckets_[i].load(std::memory_order_relaxed);
        }
    }

    /// The middle of the bucket that holds this part of all durations (0 to 1); zero if empty.
    duration quantile(double part) const noexcept {
        double left = part * static_cast<double>(total());
        for (std::size_t i = 0; i < buckets_.size(); ++i) {
            const auto count = buckets_[i].load(std::memory_order_relaxed);
            left -= static_cast<double>(count);
            if (count != 0 && left <= 0) {
                return duration{static_cast<duration::rep>(middle_of(i))};
            }
        }
        return {};
    }

private:
    static constexpr unsigned step_bits = 5;
    static constexpr std::uint64_t steps = 1U << step_bits;
    static constexpr duration::rep most = (duration::rep{1} << 40U) - 1;

    static std::size_t index_of(std::uint64_t ns) noexcept {
        const auto width = static_cast<unsigned>(std::bit_width(ns));
        const unsigned shift = width > step_bits + 1 ? width - step_bits - 1 : 0;
        return static_cast<std::size_t>(shift * steps + (ns >> shift));
    }
    static std::uint64_t middle_of(std::size_t index) noexcept {
        const std::uint64_t shift = index < 2 * steps ? 0 : index / steps - 1;
        const std::uint64_t low = (index - shift * steps) << shift;
        return low + ((std::uint64_t{1} << shift) >> 1U);
    }
    std::uint64_t total() const noexcept {
        std::uint64_t sum = 0;
        for (const auto& bucket : buckets_) {
            sum += bucket.load(std::memory_order_relaxed);
        }
        return sum;
    }

    std::array<std::atomic<std::uint64_t>, (40 - step_bits + 1) * steps> buckets_{};
};

}  // namespace conch::cli

#endif
