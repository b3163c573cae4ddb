// SPDX-License-Identifier: BSL-1.0
#include "topology/servers.hpp"

namespace conch::topology {
namespace {

wire::destination start_of(const config& c) {
    if (c.sentinel) {
        return {{}, wire::role::master};
    }
    return {wire::address::of(c), wire::role::any};
}

}  // namespace

servers::servers(const config& settings, core::timer_heap& timers, core::random& jitter,
                 const core::log& log, stats& counters, const time_point& now,
                 wire::link_events events)
    : events_{events},
      main_{settings,
            start_of(settings),
            timers,
            jitter,
            log,
            counters,
            {this, &servers::on_ready, &servers::on_lost, &servers::on_astray}} {
    if (settings.sentinel) {
        sentinel_.emplace(settings, timers, jitter, log, now, main_, events_);
    }
}

void servers::set_now(time_point now) noexcept {
    main_.set_now(now);
    if (sentinel_) {
        sentinel_->link().set_now(now);
    }
}

void servers::close() {
    main_.close();
    if (sentinel_) {
        sentinel_->close();
    }
}

void servers::on_ready(void* self) {
    const auto& s = *static_cast<servers*>(self);
    s.events_.ready(s.events_.owner);
}

void servers::on_lost(void* self, errc lasting_reason) {
    const auto& s = *static_cast<servers*>(self);
    s.events_.lost(s.events_.owner, lasting_reason);
}

void servers::on_astray(void* self, bool was_ready) {
    auto& s = *static_cast<servers*>(self);
    if (s.sentinel_) {
        if (!was_ready) {
            s.sentinel_->not_there(s.main_.target());
        }
        s.sentinel_->ask();
    }
}

}  // namespace conch::topology
