// SPDX-License-Identifier: BSL-1.0
// Whether the other side of a connection is still there.
#include "wire/link.hpp"

#include <algorithm>

namespace conch::wire {

// Arms the timer for the next look at the connection's health: an answer that is overdue ends it,
// silence calls for a PING. The timer isn't moved for each command; it looks again when it fires.
void link::watch() {
    if (halted()) {
        unwatched_ = true;  // the answer may be in what was not looked at yet
        return;
    }
    if (pipeline_.awaits_answer()) {
        const time_point overdue = core::after(heard_, settings_.response_timeout);
        if (now_ >= overdue) {
            remember_words("the server didn't answer in time");
            down(last_words_);
            return;
        }
        timers_.set(timer_, overdue);
        return;
    }
    const time_point silent = core::after(heard_, settings_.ping_interval);
    if (now_ < silent) {
        timers_.set(timer_, std::min(silent, core::after(now_, settings_.response_timeout)));
        return;
    }
    if (ping_.where == call::state::idle) {
        pipeline_.submit(ping_);
    }
    timers_.set(timer_, core::after(now_, settings_.response_timeout));
}

void link::encode_ping(call&, resp::writer& w) { w.command(1).arg("PING"); }

void link::ping_done(call&, const outcome&) {}

const call_type link::ping_type{
    .name = "ping",
    .after_loss = retry::never,
    .order = priority::urgent,
    .is_script = false,
    .answered_by_push = false,
    .encode = &link::encode_ping,
    .done = &link::ping_done,
};

}  // namespace conch::wire
