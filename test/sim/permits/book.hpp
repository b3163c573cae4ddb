// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_PERMITS_BOOK_HPP
#define CONCH_TEST_SIM_PERMITS_BOOK_HPP

#include "sim/counters/debt.hpp"
#include "sim/world.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace conch::sim::permits {

/// How many permits of a semaphore there are to be in all, by what was done to it.
class book {
public:
    bool is_set() const noexcept { return set_; }
    std::int64_t total() const noexcept { return total_; }
    /// Somebody changed that, and left so many: fewer than none if more are out.
    void change(instant at, std::int64_t total, std::int64_t left) {
        set_ = true;
        total_ = total;
        debt_.owe(left);
        changes_.emplace_back(at, total);
    }
    /// The server does not know it any more; who has permits keeps them.
    void forget() noexcept { set_ = false; }
    counters::debt& owed() noexcept { return debt_; }
    const counters::debt& owed() const noexcept { return debt_; }
    /// So many may be out at most.
    std::int64_t limit() const noexcept { return total_ + debt_.now(); }
    bool changed_since(instant t) const noexcept {
        return !changes_.empty() && changes_.back().first >= t;
    }
    /// The least and the most that there were to be at any time since then.
    std::pair<std::int64_t, std::int64_t> range(instant since) const noexcept {
        std::pair all{total_, total_};
        for (auto it = changes_.rbegin(); it != changes_.rend(); ++it) {
            all = {std::min(all.first, it->second), std::max(all.second, it->second)};
            if (it->first < since) {
                break;
            }
        }
        return all;
    }

private:
    bool set_ = false;
    std::int64_t total_ = 0;
    counters::debt debt_{};
    std::vector<std::pair<instant, std::int64_t>> changes_{};
};

}  // namespace conch::sim::permits

#endif
