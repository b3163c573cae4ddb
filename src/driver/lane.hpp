// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_LANE_HPP
#define CONCH_SRC_DRIVER_LANE_HPP

#include <mutex>
#include <utility>

namespace conch::impl {

/// Something that happened to a client: embedded in what it happened to.
struct event {
    using function = void (*)(event&);

    explicit event(function f) noexcept : run{f} {}
    event(const event&) = delete;
    event& operator=(const event&) = delete;

    function run;
    event* next = nullptr;
    bool queued = false;
};

/// Runs the events of a client one at a time, in the order of their coming, on whichever thread
/// brings one. A strand that needs no memory, and no detour through the executor where nothing else
/// goes on. An event that throws ends the program: half a turn would leave answers for the wrong
/// calls, and nothing armed.
class lane {
public:
    /// Runs `e` and what else has come by then; if another thread is running some, leaves it to
    /// that one. No-op for an event that is waiting already. The caller keeps the lane alive.
    void pass(event& e) noexcept {
        {
            const std::lock_guard guard{mutex_};
            if (e.queued) {
                return;
            }
            e.queued = true;
            e.next = nullptr;
            *last_ = &e;
            last_ = &e.next;
            if (std::exchange(busy_, true)) {
                return;
            }
        }
        while (event* const first = take()) {
            first->run(*first);
        }
    }

private:
    // The first that waits; none ends the run.
    event* take() noexcept {
        const std::lock_guard guard{mutex_};
        event* const e = first_;
        if (!e) {
            busy_ = false;
            return nullptr;
        }
        first_ = e->next;
        if (!first_) {
            last_ = &first_;
        }
        e->queued = false;
        return e;
    }

    std::mutex mutex_{};
    event* first_ = nullptr;
    event** last_ = &first_;
    bool busy_ = false;
};

}  // namespace conch::impl

#endif
