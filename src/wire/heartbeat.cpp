// SPDX-License-Identifier: BSL-1.0
#include "wire/heartbeat.hpp"

#include <algorithm>

namespace conch::wire {

std::optional<time_point> heartbeat::look(time_point now) {
    if (pipeline_.awaits_answer()) {
        const time_point overdue = core::after(heard_, settings_.response_timeout);
        return now >= overdue ? std::nullopt : std::optional{overdue};
    }
    const time_point soon = core::after(now, settings_.response_timeout);
    const time_point silent = core::after(heard_, settings_.ping_interval);
    if (now < silent) {
        return std::min(silent, soon);
    }
    if (ping_.where == call::state::idle) {
        pipeline_.submit(ping_);
    }
    return soon;
}

const call_type heartbeat::ping_type{
    .name = "ping",
    .after_loss = retry::never,
    .order = priority::urgent,
    .encode = [](call&, resp::writer& w) { w.command(1).arg("PING"); },
    .done = [](call&, const outcome&) {},
};

}  // namespace conch::wire
