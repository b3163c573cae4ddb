// SPDX-License-Identifier: BSL-1.0
#include "lock/context.hpp"

#include "core/check.hpp"

#include <vector>

namespace conch::lock {
context::context(const config& s, std::string_view client_id, std::uint64_t seed)
    : settings{s},
      id{client_id},
      field_prefix{id + ":"},
      jitter{seed},
      servers{s,
              timers,
              jitter,
              telemetry.log,
              telemetry.counters,
              now,
              topology::server_events{this, &context::on_ready, &context::on_lost,
                                      &context::on_regrouped}} {}

context::~context() { CONCH_CHECK(all_slots.empty() && limiters.empty()); }

void context::complete(pending& p, error_code ec, impl::view_ptr view, bool flag) {
    if (p.completed()) {
        return;
    }
    if (p.from.running) {
        *p.from.running = nullptr;
    }
    completions.push_back({std::exchange(p.from.tag, nullptr), ec, std::move(view), flag});
    CONCH_CHECK(pending_count > 0);
    --pending_count;
}

void context::answer(caller from, error_code ec, impl::view_ptr view) {
    unlock at_once{from};  // whatever it was: nobody cancels it any more
    complete(at_once, ec, std::move(view));
}

slot& context::slot_of(const impl::spec_ptr& spec) {
    const auto it = all_slots.find(slot_key{*spec});
    if (it != all_slots.end()) {
        return **it;
    }
    slot& s = slots.make(*this, spec);
    all_slots.insert(&s);
    return s;
}

acquisition* context::held_by(const impl::lock_spec& spec, std::uint64_t owner) const noexcept {
    if (owner == 0) {
        return nullptr;
    }
    for (const bool durable : {false, true}) {
        const auto it = all_slots.find(slot_key{spec, durable});
        if (acquisition* const a = it != all_slots.end()
                                       ? (*it)->held_by(owner, protocol::is_shared(spec))
                                       : nullptr) {
            return a;
        }
    }
    return nullptr;
}

void context::check_holds(const impl::lock_spec& spec) {
    for (const bool durable : {false, true}) {
        const auto it = all_slots.find(slot_key{spec, durable});
        if (it != all_slots.end()) {
            (*it)->check_holders();
        }
    }
}

limiter& context::limiter_of(const impl::rate_spec_ptr& spec) {
    const auto it = limiters.find(limiter_key{spec.get()});
    if (it != limiters.end()) {
        return *it->second;
    }
    limiter& l = limiter_pool.make(*this, spec);
    limiters.emplace(limiter_key{l.spec.get()}, &l);
    return l;
}

void context::may_be_idle(limiter& l) {
    if (!l.listed_idle_) {
        l.listed_idle_ = true;
        idle_limiters.push_back(&l);
    }
}

void context::may_be_idle(slot& s) {
    if (!s.listed_idle_) {
        s.listed_idle_ = true;
        idle.push_back(&s);
    }
}

void context::retire_idle() {
    for (slot* s : idle) {
        s->listed_idle_ = false;
        if (s->idle()) {
            all_slots.erase(s);
            slots.free(*s);
        }
    }
    idle.clear();
    for (limiter* l : idle_limiters) {
        l->listed_idle_ = false;
        if (l->idle()) {
            limiters.erase(limiter_key{l->spec.get()});
            limiter_pool.free(*l);
        }
    }
    idle_limiters.clear();
}

void context::on_ready(void* self, wire::link& l) {
    auto& ctx = *static_cast<context*>(self);
    ctx.renewing.check_all(l);
}

void context::on_regrouped(void* self) {
    auto& ctx = *static_cast<context*>(self);
    for (slot* s : ctx.all_slots) {
        if (ctx.servers.moved(s->hash_slot())) {
            s->regrouped();
        }
    }
    ctx.replicas.regrouped();
}

void context::on_lost(void* self, wire::link& l, errc lasting_reason) {
    auto& ctx = *static_cast<context*>(self);
    if (lasting_reason == errc{}) {
        ctx.replicas.connection_lost(l);
        return;
    }
    const auto is_there = [&](std::uint16_t part) { return &ctx.servers.serving(part) == &l; };
    for (auto it = ctx.queries.begin(); it != ctx.queries.end();) {
        auto& q = static_cast<query&>(*it++);
        if (is_there(q.spec->hash_slot())) {
            q.pending_hook::unlink();
            give_up_query(q, lasting_reason);
        }
    }
    for (const auto& [key, limit] : ctx.limiters) {
        if (is_there(limit->hash_slot())) {
            limit->give_up_all(lasting_reason);
        }
    }
    const std::vector<slot*> all{ctx.all_slots.begin(), ctx.all_slots.end()};
    for (slot* s : all) {
        if (&s->link() == &l) {
            s->give_up_all(lasting_reason);
        }
    }
}

}  // namespace conch::lock
