// SPDX-License-Identifier: BSL-1.0
// What an engine has just now, and what it counted.
#include "engine/inventory.hpp"

#include "engine/engine.hpp"

namespace conch::engine {

bool lock_engine::tends(std::uint64_t number) const noexcept {
    bool found = false;
    slots_.names.for_each_acquisition(
        [&](const lock::acquisition& a) { found = found || a.number == number; });
    return found;
}

inventory lock_engine::belongings() const noexcept {
    return {.pending = done_.unanswered(),
            .acquisitions = slots_.pool.live(),
            .levels = slots_.keeping.levels(),
            .waiters = slots_.waiters.live(),
            .watchers = slots_.keeping.watchers(),
            .extensions = slots_.keeping.extensions(),
            .level_changes = slots_.nesting.changes(),
            .downgrades = slots_.downgrading.on_their_way(),
            .notes = slots_.noting.on_their_way(),
            .watched_waits = slots_.watched(),
            .queries = queries_.live() + lookouts_.live() + questions_.live(),
            .permit_requests = limiters_.requests.live() + counters_.waiters.live(),
            .counter_changes = counters_.changing(),
            .slots = slots_.size(),
            .limiters = limiters_.size(),
            .counters = counters_.size(),
            .renewals = slots_.renewing.on_their_way(),
            .timers = env_.timers.size() + slots_.renewing.scheduled(),
            .input_room = servers_.input_room()};
}

void lock_engine::copy_counters(stats& s) const noexcept {
    s = env_.telemetry.counters;
    s.holds_now = slots_.keeping.levels();
    s.waiting_now = slots_.waiters.live() + limiters_.requests.live() + counters_.waiters.live();
    s.slots_now = slots_.size();
    s.subscriptions_now = servers_.subscriptions();
}

}  // namespace conch::engine
