// SPDX-License-Identifier: BSL-1.0
#include "wait/vigil.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace conch::lock {
namespace {

/// Without messages, a waiter asks more often.
constexpr duration poll_unheard = std::chrono::milliseconds{100};

}  // namespace

vigil::vigil(core::environment& e, topology::servers& s, std::uint16_t hash_slot, void* owner,
             function how) noexcept
    : env_{e}, servers_{s}, owner_{owner}, ask_{how}, hash_slot_{hash_slot} {}

void vigil::begin(std::string_view channel) {
    if (!listening()) {
        servers_.serving(hash_slot_).channels().add(listener_, channel);
        ++env_.telemetry.counters.wakes_by_subscribe;
    }
}

void vigil::end() noexcept {
    env_.timers.cancel(poll_);
    wire::subscriptions::leave(listener_);
}

// What comes over a cluster's bus may be as old as it likes.
std::string_view vigil::message() const noexcept {
    const bool in_order = !servers_.clustered() || servers_.sharded();
    return in_order && listening() ? wire::subscriptions::message(listener_) : std::string_view{};
}

void vigil::asking() noexcept {
    env_.timers.cancel(poll_);
    wakeup_.try_began();
    asked_ = true;
    moved_ = false;
}

void vigil::answered(bool stale) {
    asked_ = false;
    wakeup_.try_was_busy(stale || moved_);
    if (!listening()) {
        return;
    }
    if (wakeup_.pending()) {
        ask(wakeup_.first());
        return;
    }
    const duration most = env_.settings.max_poll_interval;
    const bool hears = wire::subscriptions::works(listener_);
    env_.timers.set(
        poll_,
        core::after(env_.now, env_.jitter.jitter(hears ? most : std::min(most, poll_unheard))));
}

void vigil::regrouped() {
    wire::subscriptions& there = servers_.serving(hash_slot_).channels();
    if (listening() && !there.has(listener_)) {
        const std::string channel{listener_.to->channel()};
        wire::subscriptions::leave(listener_);
        there.add(listener_, channel);
        moved_ = true;
        heard(wake::news);
    }
}

void vigil::heard(wake why) {
    wakeup_.add(why);
    if (!asked_ || why == wake::message) {
        ask(why);
    }
}

void vigil::ask(wake why) {
    stats& c = env_.telemetry.counters;
    c.wakes_by_message += why == wake::message && !asked_ ? 1 : 0;
    c.wakes_by_subscribe += why == wake::news ? 1 : 0;
    c.wakes_by_poll += why == wake::deadline ? 1 : 0;
    ask_(owner_, why);
}

void vigil::on_news(void* self, wire::news what) {
    static_cast<vigil*>(self)->heard(what == wire::news::message ? wake::message : wake::news);
}

void vigil::on_poll(void* self) { static_cast<vigil*>(self)->ask(wake::deadline); }

}  // namespace conch::lock
