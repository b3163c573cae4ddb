// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_REPORT_TIME_HPP
#define CONCH_SRC_CORE_REPORT_TIME_HPP

#include <conch/clock.hpp>

#include <atomic>

namespace conch::core {

/// When a holder last reported progress. Any thread may use it.
class report_time {
public:
    explicit report_time(time_point t = {}) noexcept : last_{t.time_since_epoch().count()} {}

    time_point get() const noexcept {
        return time_point{duration{last_.load(std::memory_order_relaxed)}};
    }
    void set(time_point t) noexcept {
        last_.store(t.time_since_epoch().count(), std::memory_order_relaxed);
    }
    /// Of several threads that report, the latest time stays.
    void raise(time_point t) noexcept {
        const duration::rep mine = t.time_since_epoch().count();
        duration::rep last = last_.load(std::memory_order_relaxed);
        while (last < mine && !last_.compare_exchange_weak(last, mine, std::memory_order_relaxed)) {
        }
    }

private:
    std::atomic<duration::rep> last_;
};

}  // namespace conch::core

#endif
