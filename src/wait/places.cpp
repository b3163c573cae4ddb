// SPDX-License-Identifier: BSL-1.0
// A waiter that has a place at the server.
#include "wait/slot.hpp"
#include "wait/slots.hpp"

#include <algorithm>
#include <optional>

namespace conch::lock {

std::string slot::channel() {
    return protocol::has_places(*spec)
               ? protocol::channel_of(*spec, field_of(acquisition_to_try(queue_.head())))
               : spec->channel().text();
}

// Whoever released the lock has given it to the waiter. A message may be of any age, over a
// cluster's bus or from a master that was replaced. It names the try by which the waiter got its
// place: if that is the last try, the gift came after it, and the lease runs from then at the
// earliest. Otherwise, if the lease is nearly over, or a try is on its way, the server is asked.
bool slot::take_gift(std::string_view message) {
    const auto read = spec->protocol().read_gift;
    const std::optional<protocol::gift> given = read ? read(*spec, message) : std::nullopt;
    if (given && given->lease == duration{}) {
        return true;
    }
    if (!given || trying() || !has_waiters() || spec->replicas()) {
        return false;
    }
    acquisition& a = acquisition_to_try(queue_.head());
    const duration lease = std::min(given->lease, a.acquiring->lease);
    const time_point sent = a.extended;
    if (!a.in_line || given->try_number != a.tries ||
        core::lease_end(sent, lease) - env().now < lease / 3) {
        return false;
    }
    ++env().telemetry.counters.wakes_by_message;
    all().wanted.note(name(), env().now);
    a.fence = given->fence;
    a.given = true;
    a.was_seen();
    client.keeping.set_deadline(a, sent, lease);
    begin_hold(a);
    tell(wake::nobody);
    return true;
}

// Until its next try only its place is known of it, and when the last one left.
void slot::stand_in_line(acquisition& a) {
    a.in_line = a.in_line || a.acquiring->gets_place();
    a.extended = a.acquiring->history.last_sent;
    a.extended_by = a.acquiring->lasts();
    env().timers.cancel(a.timer);
    client.pool.end_attempt(a);
}

// Nobody waits for its place any more, if it has one. What is on its way gives it back itself.
void slot::leave_line() {
    if (!protocol::has_places(*spec) || has_waiters() || acquisitions_.empty()) {
        return;
    }
    acquisition& a = acquisitions_.first();
    if (a.now == acquisition::phase::trying) {
        client.releasing.end_untaken(a);
    }
}

}  // namespace conch::lock
