// SPDX-License-Identifier: BSL-1.0
#include "wire/delayed_calls.hpp"

#include <algorithm>

namespace conch::wire {
namespace {

constexpr duration shortest_pause = std::chrono::milliseconds{20};
/// What concerns a hold can't wait as long as others for a server that answered: a lease runs.
constexpr duration longest_urgent_pause = std::chrono::milliseconds{100};
constexpr unsigned most_doublings = 16;

bool is_urgent(const call& c) noexcept { return c.order == priority::urgent; }

}  // namespace

duration doubled(duration first, unsigned times, duration most) noexcept {
    return std::min(most, first * (std::int64_t{1} << std::min(times, most_doublings)));
}

delayed_calls::delayed_calls(pipeline& p, core::timer_heap& timers, core::random& jitter,
                             const time_point& now, const duration& most, void* owner,
                             void (*resumed)(void* owner)) noexcept
    : pipeline_{p},
      timers_{timers},
      jitter_{jitter},
      now_{now},
      most_{most},
      owner_{owner},
      resumed_{resumed} {}

// By then the key of one that was sent on may be anywhere: it is asked for without ASKING.
void delayed_calls::add(call& c, errc trouble) {
    c.ask = call::asking::no;
    c.trouble = trouble;
    c.where = call::state::waiting;
    calls_.push_back(c);
    if (!timer_.armed()) {
        all_at_ = core::after(now_, jitter_.jitter(doubled(shortest_pause, times_++, most_)));
        timers_.set(timer_, all_at_);
    }
    if (is_urgent(c)) {
        const time_point soon = core::after(now_, jitter_.jitter(longest_urgent_pause));
        timers_.set(timer_, std::min(timer_.at, soon));
    }
}

void delayed_calls::on_timer(void* self) {
    delayed_calls& d = *static_cast<delayed_calls*>(self);
    if (d.now_ >= d.all_at_) {
        d.resume();
    } else {
        d.resume_if(&is_urgent);
        if (!d.calls_.empty()) {
            d.timers_.set(d.timer_, d.all_at_);
        }
    }
    d.resumed_(d.owner_);
}

void delayed_calls::resume() noexcept {
    timers_.cancel(timer_);
    resume_if([](const call&) { return true; });
}

void delayed_calls::resume_if(bool (*which)(const call& c)) noexcept {
    // From the back: each goes to the head of what waits to be sent.
    for (auto it = calls_.end(); it != calls_.begin();) {
        call& c = *--it;
        if (which(c)) {
            it = calls_.erase(it);
            c.redirects = 0;
            pipeline_.submit_again(c);
        }
    }
}

}  // namespace conch::wire
