// SPDX-License-Identifier: BSL-1.0
#include "group/lock_group.hpp"

#include "core/time.hpp"
#include "group/attempt.hpp"
#include "group/holding.hpp"
#include "group/query.hpp"

#include <utility>

namespace conch::group {
namespace {

// Each view that a group makes is one of these. Null: it ended.
holding* holding_of(impl::hold_view& v) noexcept { return static_cast<view&>(v).of; }

int reason_of(const impl::hold_view& v) noexcept { return v.lost.load(std::memory_order_relaxed); }

error_code why_ended(const impl::hold_view& v) noexcept {
    return reason_of(v) != 0 ? static_cast<errc>(reason_of(v)) : errc::already_released;
}

}  // namespace

lock_group::lock_group(members& all, std::size_t size, const config& settings, const terms& how,
                       std::uint64_t seed)
    : ctx_{all, size, settings, how, core::random{seed}} {}

lock_group::~lock_group() { close(); }

void lock_group::end_turn() {
    while (core::timer* const due = ctx_.timers.pop_due(ctx_.now)) {
        due->fire(due->owner);
    }
}

void lock_group::acquire(const lock_options& options, bool try_only, void* tag,
                         std::uint64_t owner) {
    attempt::start(ctx_, options, try_only, tag, owner);
}

void lock_group::unlock(const impl::view_ptr& hold, void* tag) {
    if (!hold) {
        complete(tag, errc::not_owner);
    } else if (holding* const h = holding_of(*hold)) {
        h->unlock(tag);
    } else {
        complete(tag, why_ended(*hold));
    }
}

void lock_group::leave(const impl::view_ptr& hold, duration lease, void* tag) {
    if (!hold) {
        complete(tag, errc::not_owner);
    } else if (!core::lease_is_good(lease, false)) {
        complete(tag, errc::invalid_lease);
    } else if (holding* const h = holding_of(*hold)) {
        h->leave(tag, lease);
    } else {
        complete(tag, why_ended(*hold));
    }
}

void lock_group::extend(const impl::view_ptr& hold, duration lease, void* tag) {
    if (!hold) {
        complete(tag, errc::not_owner);
    } else if (holding* const h = holding_of(*hold)) {
        h->extend(tag, lease);
    } else {
        complete(tag, why_ended(*hold));
    }
}

void lock_group::downgrade(const impl::view_ptr& hold, void* tag) {
    if (!hold) {
        complete(tag, errc::not_owner);
    } else if (holding_of(*hold)) {
        complete(tag, errc::not_a_writer);
    } else {
        complete(tag, why_ended(*hold));
    }
}

void lock_group::wait_lost(const impl::view_ptr& hold, duration before, void* tag) {
    if (!hold) {
        complete(tag, errc::not_owner);
    } else if (before < duration::zero()) {
        complete(tag, errc::invalid_wait);
    } else if (holding* const h = holding_of(*hold)) {
        h->wait_lost(tag, before);
    } else {
        complete(tag, reason_of(*hold) != 0 ? why_ended(*hold) : error_code{});
    }
}

void lock_group::status(const status_options& options, void* tag, lock_status* result) {
    start_status(ctx_, options, tag, result);
}

void lock_group::force_unlock(void* tag) { start_force_unlock(ctx_, tag); }

void lock_group::cancel(void* tag, error_code why) {
    if (const auto it = ctx_.tasks.find(tag); it != ctx_.tasks.end()) {
        const auto keep = it->second;
        keep->cancel(why);
    }
}

void lock_group::release(impl::hold_view& hold) {
    if (holding* const h = holding_of(hold)) {
        h->release();
    }
}

void lock_group::detach(impl::hold_view& hold) {
    if (holding* const h = holding_of(hold)) {
        h->detach();
    }
}

void lock_group::close() {
    for (const auto& [tag, t] : std::exchange(ctx_.tasks, {})) {
        complete(tag, errc::client_closed);
    }
    for (const auto& [h, keep] : std::exchange(ctx_.holdings, {})) {
        h->drop();
    }
    ctx_.asked.clear();
}

}  // namespace conch::group
