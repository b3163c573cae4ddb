// SPDX-License-Identifier: BSL-1.0
#include "hold/names.hpp"

#include "hold/holds.hpp"

#include <algorithm>

namespace conch::lock {
namespace {

/// Of a set that may have several of one lock.
template <typename Set>
void erase_one(Set& from, lock_name& n) noexcept {
    const auto [begin, end] = from.equal_range(&n);
    from.erase(std::find(begin, end, &n));
}

}  // namespace

void lock_name::submit(wire::call& c) {
    client.servers.submit(c, hash_slot(), static_cast<bool>(spec->replicas()));
}

acquisition* lock_name::held_by(std::uint64_t owner, bool shared) noexcept {
    acquisition* found = nullptr;
    acquisitions_.for_each_holder([&](acquisition& a) {
        found = owner != 0 && a.terms.owner == owner && (shared || !is_reader(a)) ? &a : found;
    });
    return found;
}

void lock_name::check_holders() {
    acquisitions_.for_each_holder([&](acquisition& a) { client.renewing.check(a); });
}

void lock_name::check_holders_again() {
    acquisitions_.for_each_holder([&](acquisition& a) { client.renewing.check_again(a); });
}

void lock_name::forget(acquisition& a) {
    acquisitions_.remove(a);
    client.pool.free(a);
    client.events.forgotten(*this);
}

void name_table::add(lock_name& n) {
    if (protocol::has_places(*n.spec)) {
        in_line_.insert(&n);
    } else {
        all_.insert(&n);
        durable_ += n.spec->replicas() ? 1 : 0;
    }
}

void name_table::remove(lock_name& n) noexcept {
    if (protocol::has_places(*n.spec)) {
        erase_one(in_line_, n);
    } else {
        all_.erase(&n);
        durable_ -= n.spec->replicas() ? 1 : 0;
    }
}

std::vector<lock_name*> name_table::list() const {
    std::vector<lock_name*> names{all_.begin(), all_.end()};
    names.insert(names.end(), in_line_.begin(), in_line_.end());
    return names;
}

acquisition* name_table::held_by(const impl::lock_spec& spec, std::uint64_t owner) const noexcept {
    if (owner == 0) {
        return nullptr;
    }
    acquisition* found = nullptr;
    for_each_held(spec, [&](lock_name& n) {
        found = found ? found : n.held_by(owner, protocol::is_shared(spec));
    });
    return found;
}

void name_table::check_holds(const impl::lock_spec& spec) const {
    for_each_held(spec, [](lock_name& n) { n.check_holders(); });
}

void name_table::hold_began(lock_name& n) {
    const bool in_line = protocol::has_places(*n.spec);
    if (in_line) {
        holders_.insert(&n);
    }
    if (in_line ? holders_.size() == 1 : durable_ == 0) {
        return;
    }
    std::size_t held = 0;
    for_each_held(*n.spec, [&](const lock_name&) { ++held; });
    if (held > 1) {
        for_each_held(*n.spec, [](lock_name& h) { h.check_holders_again(); });
    }
}

void name_table::hold_ended(lock_name& n) noexcept {
    if (protocol::has_places(*n.spec)) {
        erase_one(holders_, n);
    }
}

}  // namespace conch::lock
