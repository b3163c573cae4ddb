// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_STRAND_QUEUE_HPP
#define CONCH_SRC_DRIVER_STRAND_QUEUE_HPP

#include <atomic>
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
    std::atomic<bool> queued{false};
};

/// Runs the events of a client one at a time, in the order of their coming (of those that no two
/// threads bring at once), on whichever thread brings one. A strand that needs no memory, and no
/// detour through the executor where nothing else goes on. An event that throws ends the program:
/// half a turn would leave answers for the wrong calls, and nothing armed.
class strand_queue {
public:
    /// Runs `e` and what else has come by then; if another thread is running some, leaves it to
    /// that one. No-op for an event that is waiting already. The caller keeps the queue alive.
    void pass(event& e) noexcept {
        event* idle = nullptr;
        if (last_.compare_exchange_strong(idle, &nothing_, std::memory_order_acquire)) {
            e.run(e);
            run_waiting();
        } else if (!e.queued.exchange(true, std::memory_order_acq_rel) && leave_waiting(e)) {
            run_waiting();
        }
    }

private:
    // Whether nobody runs any now, so that the caller has to.
    bool leave_waiting(event& e) noexcept {
        event* last = last_.load(std::memory_order_relaxed);
        do {
            e.next = last ? last : &nothing_;
        } while (!last_.compare_exchange_weak(last, &e, std::memory_order_acq_rel));
        return !last;
    }

    void run_waiting() noexcept {
        event* none = &nothing_;
        while (!last_.compare_exchange_strong(none, nullptr, std::memory_order_acq_rel)) {
            none = &nothing_;
            event* e = in_order(last_.exchange(&nothing_, std::memory_order_acquire));
            while (e != &nothing_) {
                event& first = *std::exchange(e, e->next);
                first.queued.exchange(false, std::memory_order_acq_rel);
                first.run(first);
            }
        }
    }

    // From the first to the last, as they came.
    event* in_order(event* last) noexcept {
        event* first = &nothing_;
        while (last != &nothing_) {
            event* const before = std::exchange(last->next, first);
            first = std::exchange(last, before);
        }
        return first;
    }

    event nothing_{nullptr};
    /// The last of those that wait, each with the one that came before it as its next. None: no
    /// thread runs any; `nothing_`: one does, and none waits.
    std::atomic<event*> last_{nullptr};
};

}  // namespace conch::impl

#endif
