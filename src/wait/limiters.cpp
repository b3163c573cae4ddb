// SPDX-License-Identifier: BSL-1.0
#include "wait/limiters.hpp"

#include "core/check.hpp"

namespace conch::lock {

limiters::~limiters() { CONCH_CHECK(all_.empty()); }

limiter& limiters::limiter_of(const impl::rate_spec_ptr& spec) {
    const auto it = all_.find(key{spec.get()});
    if (it != all_.end()) {
        return *it->second;
    }
    limiter& l = pool_.make(*this, spec);
    all_.emplace(key{l.spec.get()}, &l);
    return l;
}

void limiters::acquire(const impl::rate_spec_ptr& spec, std::uint64_t permits, duration wait,
                       bool try_only, caller from, rate_verdict* result, bool log_refusal) {
    limiter& l = limiter_of(spec);
    permit_request& r = requests.make(from, l, permits, try_only, result);
    r.log_refusal = log_refusal;
    l.acquire(r, wait);
}

void limiters::give_up_all(error_code why, const wire::link* at) {
    for (const auto& [of, l] : all_) {
        if (!at || &servers.serving(l->hash_slot()) == at) {
            l->give_up_all(why);
        }
    }
}

void limiters::may_be_idle(limiter& l) {
    if (!l.listed_idle_) {
        l.listed_idle_ = true;
        idle_.push_back(&l);
    }
}

void limiters::retire_idle() {
    for (limiter* l : idle_) {
        l->listed_idle_ = false;
        if (l->idle()) {
            all_.erase(key{l->spec.get()});
            pool_.free(*l);
        }
    }
    idle_.clear();
}

}  // namespace conch::lock
