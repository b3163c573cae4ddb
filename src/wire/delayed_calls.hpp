// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WIRE_DELAYED_CALLS_HPP
#define CONCH_SRC_WIRE_DELAYED_CALLS_HPP

#include "core/random.hpp"
#include "core/timer_heap.hpp"
#include "wire/pipeline.hpp"

namespace conch::wire {

/// `first`, doubled so many times, but no more than `most`.
duration doubled(duration first, unsigned times, duration most) noexcept;

/// Calls that a server refused for now (it loads its data, it runs a slow script), or that servers
/// sent to each other too often: they are sent again after pauses that grow.
class delayed_calls {
public:
    /// `now`: read whenever it is asked for. `most`: the longest pause. `resumed(owner)`: after a
    /// pause calls are about to be sent again.
    delayed_calls(pipeline& p, core::timer_heap& timers, core::random& jitter,
                  const time_point& now, const duration& most, void* owner,
                  void (*resumed)(void* owner)) noexcept;
    ~delayed_calls() { timers_.cancel(timer_); }
    delayed_calls(const delayed_calls&) = delete;
    delayed_calls& operator=(const delayed_calls&) = delete;

    /// Precondition: it is nowhere else. `trouble`: what it waits for to pass.
    void add(call& c, errc trouble);
    /// All are sent again, in the order that they had.
    void resume() noexcept;
    /// Moves calls to `gone`, in their order, where `leaves` says so.
    template <typename Predicate>
    void take(call_list& gone, Predicate leaves) noexcept {
        pipeline::take_from(calls_, gone, leaves);
    }
    bool empty() const noexcept { return calls_.empty(); }
    /// The server answered: the next pause is a short one.
    void answered() noexcept { times_ = 0; }

private:
    static void on_timer(void* self);
    void resume_if(bool (*which)(const call& c)) noexcept;

    pipeline& pipeline_;
    core::timer_heap& timers_;
    core::random& jitter_;
    const time_point& now_;
    const duration& most_;
    void* owner_;
    void (*resumed_)(void* owner);
    call_list calls_{};
    unsigned times_ = 0;
    core::timer timer_{this, &delayed_calls::on_timer};
    time_point all_at_{};  // when all are sent again, and not only what is urgent
};

}  // namespace conch::wire

#endif
