// SPDX-License-Identifier: BSL-1.0
// What is different where a latch is waited for, instead of the permits of a semaphore: nothing is
// taken, and one answer is for all who waited when the question was written.
#include "protocol/counter.hpp"
#include "wait/counter.hpp"
#include "wait/counters.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

namespace conch::lock {

const wire::call_type counter::count_type{
    .name = "count of a latch",
    .after_loss = wire::retry::replay,
    .order = wire::priority::normal,
    .encode = &counter::encode_count,
    .done = &counter::counted,
};

void counter::encode_count(wire::call& c, resp::writer& w) {
    counter& s = static_cast<asking&>(c).of;
    for (pending& p : s.queue_) {
        static_cast<counter_waiter&>(p).in_call = true;
    }
    protocol::encode_available(*s.spec, w);
}

void counter::counted(wire::call& c, const wire::outcome& o) {
    counter& s = static_cast<asking&>(c).of;
    const auto call = s.take_call();
    const auto count = o.answered() ? protocol::read_available(o.reply) : std::nullopt;
    const error_code why = o.lost()      ? errc::not_connected
                           : o.refused() ? wire::to_errc(o.reply.text())
                           : count       ? error_code{}
                                         : error_code{errc::wrong_type};
    if (!o.lost()) {
        s.all.env.timers.cancel(s.patience_);
    }
    const bool ends = why || count.value_or(0) <= 0;
    for (auto next = s.queue_.begin(); next != s.queue_.end();) {
        auto& w = static_cast<counter_waiter&>(*next++);
        if (!w.in_call) {
            continue;
        }
        w.in_call = false;
        if (ends) {
            s.end(w, why, !why);
        } else {
            s.refused(w);
        }
    }
    s.still_set();
    s.left();
}

// A waiter that came after the question was written needs a question of its own.
void counter::still_set() {
    if (queue_.empty()) {
        return;
    }
    const bool is_new = !vigil_.listening();
    vigil_.answered(false);
    if (is_new) {
        vigil_.begin(spec->channel());
    }
    if (is_new || std::any_of(queue_.begin(), queue_.end(), [](const pending& p) {
            return !static_cast<const counter_waiter&>(p).tried;
        })) {
        ask();
    }
}

// Each message says that the latch was open: it opened, or was set again, or deleted. So it was
// after the answers that came before, even if it is set again by now.
void counter::opened() {
    const std::string_view message = vigil_.message();
    if (message != "0" && message != "1") {
        return;
    }
    for (auto next = queue_.begin(); next != queue_.end();) {
        auto& w = static_cast<counter_waiter&>(*next++);
        if (w.tried) {
            w.in_call = false;
            end(w, {}, true);
        }
    }
}

}  // namespace conch::lock
