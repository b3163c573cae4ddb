// SPDX-License-Identifier: BSL-1.0
#include "wait/slots.hpp"

#include "core/check.hpp"

namespace conch::lock {
namespace {

/// The waiters of a client together poll less than 5,000 times a second: each asks by itself, and
/// nearly always in vain.
constexpr duration between_polls = std::chrono::microseconds{300};

}  // namespace

slots::slots(core::environment& e, completions& d, topology::servers& s, std::string_view client_id)
    : holds{e, d, s, client_id, slot::on_holds},
      env{e},
      done{d},
      deadlocks_{e.settings.deadlock_detection ? std::make_unique<deadlocks>(*this) : nullptr},
      rest_{this, &slots::on_rest_over} {}

slots::~slots() { CONCH_CHECK(names.empty()); }

slot& slots::slot_of(const impl::spec_ptr& spec) {
    lock_name* const n = protocol::has_places(*spec) ? nullptr : names.find(*spec);
    if (n) {
        return static_cast<slot&>(*n);
    }
    slot& s = slots_.make(*this, spec);
    names.add(s);
    return s;
}

duration slots::poll_pace() const noexcept {
    return static_cast<duration::rep>(contests.live()) * between_polls;
}

void slots::acquire(const impl::spec_ptr& spec, const request_terms& terms, caller from) {
    slot& s = slot_of(spec);
    s.acquire(waiters.make(from, s, spec, terms, env.now), terms.wait);
    may_be_idle(s);
}

void slots::give_up_all(error_code why, const wire::link* at) {
    for (lock_name* const n : names.list()) {
        if (!at || &n->link() == at) {
            static_cast<slot&>(*n).give_up_all(why);
        }
    }
}

void slots::regrouped() {
    names.for_each([&](lock_name& n) {
        if (servers.moved(n.hash_slot())) {
            static_cast<slot&>(n).regrouped();
        }
    });
    replicas.regrouped();
}

void slots::may_be_idle(slot& s) {
    if (!s.listed_idle_) {
        s.listed_idle_ = true;
        idle_.push_back(&s);
    }
}

void slots::retire_idle() {
    for (slot* s : idle_) {
        if (s->idle() && s->in_grace()) {
            resting_.push_back(s);
            continue;
        }
        s->listed_idle_ = false;
        if (s->idle()) {
            names.remove(*s);
            slots_.free(*s);
        }
    }
    idle_.clear();
    wait_for_rest();
}

void slots::wait_for_rest() {
    if (!resting_.empty() && !rest_.armed()) {
        env.timers.set(rest_, resting_.front()->contest_->turns.grace_ends());
    }
}

// Graces are about as long: whoever began to rest later waits behind the first.
void slots::on_rest_over(void* self) {
    slots& all = *static_cast<slots*>(self);
    while (!all.resting_.empty() && !all.resting_.front()->in_grace()) {
        all.idle_.push_back(all.resting_.front());
        all.resting_.pop_front();
    }
    all.wait_for_rest();
}

void slots::close() {
    names.for_each_acquisition([&](acquisition& a) {
        env.timers.cancel(a.timer);
        const auto withdraw = [&](wire::call* c) {
            if (c && c->where == wire::call::state::waiting) {
                servers.withdraw(*c);
            }
        };
        withdraw(a.acquiring);
        withdraw(a.releasing);
        a.home.forget(a);
    });
    env.timers.cancel(rest_);
    idle_.insert(idle_.end(), resting_.begin(), resting_.end());
    resting_.clear();
    names.for_each([&](lock_name& n) { may_be_idle(static_cast<slot&>(n)); });
    retire_idle();
}

}  // namespace conch::lock
