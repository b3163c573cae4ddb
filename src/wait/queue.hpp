// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WAIT_QUEUE_HPP
#define CONCH_SRC_WAIT_QUEUE_HPP

#include "core/timer_heap.hpp"
#include "wait/waiter.hpp"

#include <conch/clock.hpp>

#include <algorithm>
#include <iterator>

namespace conch::lock {

/// The waiters of one name: first come, first served, each for as long as it waits.
class queue {
public:
    bool empty() const noexcept { return all_.empty(); }
    waiter& head() noexcept { return static_cast<waiter&>(all_.front()); }
    const waiter& head() const noexcept { return static_cast<const waiter&>(all_.front()); }
    waiter& last() noexcept { return static_cast<waiter&>(all_.back()); }
    /// Who stands in front of it; null if nobody does.
    waiter* before(waiter& w) noexcept {
        const auto it = all_.iterator_to(w);
        return it == all_.begin() ? nullptr : static_cast<waiter*>(&*std::prev(it));
    }
    /// Who stands behind it; null if nobody does.
    waiter* after(waiter& w) noexcept {
        const auto it = std::next(all_.iterator_to(w));
        return it == all_.end() ? nullptr : static_cast<waiter*>(&*it);
    }
    /// None of them wants the lock for itself alone.
    bool all_share() const noexcept {
        return std::all_of(all_.begin(), all_.end(),
                           [](const pending& p) { return static_cast<const waiter&>(p).shared(); });
    }

    /// It comes last, and waits for so long.
    void join(waiter& w, duration wait, core::timer_heap& timers) {
        all_.push_back(w);
        if (!w.no_wait && wait != forever) {
            timers.set(w.deadline, core::after(w.since, wait));
        }
    }
    /// No-op for one that never joined.
    static void leave(waiter& w, core::timer_heap& timers) noexcept {
        timers.cancel(w.deadline);
        w.unlink();
    }
    /// Each may leave when its turn comes.
    template <typename Function>
    void for_each(Function f) {
        for (auto next = all_.begin(); next != all_.end();) {
            f(static_cast<waiter&>(*next++));
        }
    }

private:
    pending_list all_{};
};

}  // namespace conch::lock

#endif
