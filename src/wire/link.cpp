// SPDX-License-Identifier: BSL-1.0
#include "wire/link.hpp"

#include <algorithm>

namespace conch::wire {

link::link(connection& c, const duration& longest_pause, core::timer_heap& timers,
           core::random& jitter, const core::log& log, stats& counters, link_events events)
    : events_{events},
      connection_{c},
      pipeline_{c.calls()},
      delayed_{pipeline_, timers, jitter, c.now(), longest_pause, this, &link::on_resumed},
      replies_{*this, c, channels_, delayed_, events_, timers, log, counters} {
    c.tell({this, &link::on_ready, &link::on_said, &link::on_breaking, &link::on_broken,
            &link::on_lost, &link::on_address_needed, &link::on_changed});
}

void link::submit(call& c) {
    pipeline_.submit(c);
    use();
}

void link::repeat(call& c) {
    c.history.lost_at = connection_.now();
    c.ask = call::asking::no;
    pipeline_.submit_again(c);
}

void link::doubt(call& c) const noexcept {
    if (!c.history.in_doubt()) {
        c.history.lost_at = connection_.now();
    }
}

void link::adopt(call& c) {
    pipeline_.adopt(c);
    use();
}

void link::begin_anew_at(const address& to, bool at_once) {
    connection_.forget_failures();
    move_to(to, at_once);
}

void link::leave(const std::string& why) {
    connection_.remember_words(why);
    connection_.leave(why);
}

void link::took(duration d) noexcept {
    constexpr duration longest = std::chrono::seconds{1};
    const bool known = round_trip_ > duration::zero();
    round_trip_ = std::min({d, longest, known ? 2 * round_trip_ : longest});
}

void link::close() {
    replies_.close();
    connection_.close();
}

void link::on_ready(void* self) {
    link& l = *static_cast<link*>(self);
    l.events_.ready(l.events_.owner);
    l.channels_.connection_ready();
}

void link::on_said(void* self, const resp::value& message) {
    static_cast<link*>(self)->replies_.said(message);
}

void link::on_breaking(void* self) { static_cast<link*>(self)->delayed_.resume(); }

void link::on_broken(void* self) { static_cast<link*>(self)->channels_.connection_lost(); }

void link::on_lost(void* self, errc lasting_reason) {
    const link& l = *static_cast<const link*>(self);
    l.events_.lost(l.events_.owner, lasting_reason);
}

void link::on_address_needed(void* self, bool was_ready) {
    static_cast<const link*>(self)->events_.ask_for_address(was_ready);
}

void link::on_changed(void* self, const connection_change& c) {
    const link_events& e = static_cast<const link*>(self)->events_;
    if (e.changed) {
        e.changed(e.owner, c);
    }
}

void link::on_resumed(void* self) {
    link& l = *static_cast<link*>(self);
    if (l.events_.resumed) {
        l.events_.resumed(l.events_.owner);
    }
}

}  // namespace conch::wire
