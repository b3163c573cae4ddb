// SPDX-License-Identifier: BSL-1.0
#include "wait/counters.hpp"

#include "core/check.hpp"
#include "protocol/counter.hpp"

#include <algorithm>

namespace conch::lock {

counters::~counters() { CONCH_CHECK(all_.empty()); }

duration counters::patience() const noexcept {
    return std::min<duration>(env.settings.operation_timeout, protocol::request_repeated);
}

counter& counters::counter_of(const impl::count_spec_ptr& spec) {
    const auto it = all_.find(key{spec.get()});
    if (it != all_.end()) {
        return *it->second;
    }
    counter& s = pool_.make(*this, spec);
    all_.emplace(key{s.spec.get()}, &s);
    return s;
}

void counters::acquire(const impl::count_spec_ptr& spec, std::int64_t permits, duration wait,
                       bool try_only, caller from) {
    counter& s = counter_of(spec);
    s.acquire(waiters.make(from, s, permits, wait, try_only));
}

void counters::change(const impl::count_spec_ptr& spec, counter_change::kind what,
                      std::int64_t permits, caller from, std::int64_t* result) {
    counter_change& c = changes_.make(from, counter_of(spec), what, permits, result);
    changing_.push_back(c);
    c.begin();
}

void counters::give_back(counter& to, std::int64_t permits) {
    ++env.telemetry.counters.compensations;
    change(to.spec, counter_change::kind::add, permits, {}, nullptr);
}

void counters::ended(counter_change& c) {
    counter& of = c.of;
    changes_.free(c);
    may_be_idle(of);
}

void counters::lost(const impl::count_spec& spec) {
    ++env.telemetry.counters.permits_in_doubt;
    env.telemetry.warn("a change may be lost: no server answered for too long", spec.name());
}

void counters::close() {
    while (!changing_.empty()) {
        static_cast<counter_change&>(changing_.front()).stop();
    }
    retire_idle();
}

void counters::turn_away() {
    for (const auto& [of, s] : all_) {
        s->give_up_all(errc::client_closed);
    }
    for (auto next = changing_.begin(); next != changing_.end();) {
        auto& c = static_cast<counter_change&>(*next++);
        if (!c.completed()) {
            c.leave(errc::client_closed);
        }
    }
}

void counters::give_up_all(error_code why, const wire::link& at) {
    for (const auto& [of, s] : all_) {
        if (&s->link() == &at) {
            s->give_up_all(why);
        }
    }
    for (auto next = changing_.begin(); next != changing_.end();) {
        auto& c = static_cast<counter_change&>(*next++);
        if (!c.completed() && &c.of.link() == &at) {
            c.fail(why);
        }
    }
}

void counters::regrouped() {
    for (const auto& [of, s] : all_) {
        s->regrouped();
    }
}

std::size_t counters::unsettled() const noexcept {
    std::size_t n = 0;
    for (const auto& [of, s] : all_) {
        n += s->unsettled() ? 1 : 0;
    }
    for (const pending& p : changing_) {
        n += static_cast<const counter_change&>(p).unsettled() ? 1 : 0;
    }
    return n;
}

void counters::may_be_idle(counter& s) {
    if (!s.listed_idle_) {
        s.listed_idle_ = true;
        idle_.push_back(&s);
    }
}

void counters::retire_idle() {
    for (counter* s : idle_) {
        s->listed_idle_ = false;
        if (s->idle()) {
            all_.erase(key{s->spec.get()});
            pool_.free(*s);
        }
    }
    idle_.clear();
}

}  // namespace conch::lock
