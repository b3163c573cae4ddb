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
                 wire::link_events events, wire::link_events durable_events)
    : events_{events},
      durable_events_{durable_events},
      main_{settings,
            start_of(settings),
            timers,
            jitter,
            log,
            counters,
            {this, &servers::on_ready, &servers::on_lost, &servers::on_astray}},
      durable_{settings,
               start_of(settings),
               timers,
               jitter,
               log,
               counters,
               {this, &servers::on_durable_ready, &servers::on_durable_lost,
                &servers::on_durable_astray}} {
    if (settings.sentinel) {
        sentinel_.emplace(settings, timers, jitter, log, now, main_, durable_,
                          wire::link_events{this, nullptr, &servers::on_homeless});
    }
}

void servers::set_now(time_point now) noexcept {
    main_.set_now(now);
    durable_.set_now(now);
    if (sentinel_) {
        sentinel_->link().set_now(now);
    }
}

void servers::close() {
    main_.close();
    durable_.close();
    if (sentinel_) {
        sentinel_->close();
    }
}

const std::string& servers::last_words() const noexcept {
    return (durable_.spoke_at() > main_.spoke_at() ? durable_ : main_).last_words();
}

void servers::on_ready(void* self) {
    const auto& s = *static_cast<servers*>(self);
    s.events_.ready(s.events_.owner);
}

void servers::on_durable_ready(void* self) {
    const auto& s = *static_cast<servers*>(self);
    s.durable_events_.ready(s.durable_events_.owner);
}

void servers::on_lost(void* self, errc lasting_reason) {
    const auto& s = *static_cast<servers*>(self);
    s.events_.lost(s.events_.owner, lasting_reason);
}

void servers::on_durable_lost(void* self, errc lasting_reason) {
    const auto& s = *static_cast<servers*>(self);
    s.durable_events_.lost(s.durable_events_.owner, lasting_reason);
}

void servers::on_homeless(void* self, errc lasting_reason) {
    on_lost(self, lasting_reason);
    on_durable_lost(self, lasting_reason);
}

void servers::on_astray(void* self, bool was_ready) {
    auto& s = *static_cast<servers*>(self);
    s.ask_for(s.main_, was_ready);
}

void servers::on_durable_astray(void* self, bool was_ready) {
    auto& s = *static_cast<servers*>(self);
    s.ask_for(s.durable_, was_ready);
}

void servers::ask_for(const wire::link& astray, bool was_ready) {
    if (sentinel_) {
        if (!was_ready) {
            sentinel_->not_there(astray.target());
        }
        sentinel_->ask();
    }
}

}  // namespace conch::topology
