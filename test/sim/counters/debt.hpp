// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_COUNTERS_DEBT_HPP
#define CONCH_TEST_SIM_COUNTERS_DEBT_HPP

#include <algorithm>
#include <cstdint>

namespace conch::sim::counters {

/// What a semaphore lacks, so that fewer than none are left, since somebody took permits away.
class debt {
public:
    /// Somebody did, and left so many.
    void owe(std::int64_t left) noexcept {
        now_ = std::max<std::int64_t>(-left, 0);
        deepest_ = std::max(deepest_, now_);
    }
    /// So many are left: what is missing may only become less. False: more are missing.
    bool explains(std::int64_t left) noexcept {
        const bool good = -left <= now_;
        now_ = std::min(now_, std::max<std::int64_t>(-left, 0));
        return good;
    }
    std::int64_t now() const noexcept { return now_; }
    /// The most that it ever was.
    std::int64_t deepest() const noexcept { return deepest_; }

private:
    std::int64_t now_ = 0;
    std::int64_t deepest_ = 0;
};

}  // namespace conch::sim::counters

#endif
