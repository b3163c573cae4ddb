// SPDX-License-Identifier: BSL-1.0
#include "hold/names.hpp"

#include "hold/holds.hpp"

#include <algorithm>

namespace conch::lock {

std::uint16_t lock_name::hash_slot() const noexcept {
    if (hash_slot_ == wire::no_hash_slot && client.servers.by_hash_slot()) {
        hash_slot_ = spec->hash_slot();
    }
    return hash_slot_;
}

wire::link& lock_name::link() const noexcept {
    return client.servers.serving(hash_slot(), static_cast<bool>(spec->replicas()));
}

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
        const auto [begin, end] = in_line_.equal_range(key{n});
        in_line_.erase(std::find(begin, end, &n));
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
    for_each_of(spec, [&](lock_name& n) {
        found = found ? found : n.held_by(owner, protocol::is_shared(spec));
    });
    return found;
}

void name_table::check_holds(const impl::lock_spec& spec) const {
    for_each_of(spec, [](lock_name& n) { n.check_holders(); });
}

void name_table::hold_began(const lock_name& n) {
    const bool in_line = protocol::has_places(*n.spec);
    held_in_line_ += in_line ? 1 : 0;
    if (in_line ? held_in_line_ == 1 : durable_ == 0) {
        return;  // there is no other: a walk along the line would be long
    }
    bool others = false;
    for_each_of(*n.spec, [&](const lock_name& other) {
        others = others || (&other != &n && other.held());
    });
    if (others) {
        check_holds(*n.spec);
    }
}

void name_table::hold_ended(const lock_name& n) noexcept {
    held_in_line_ -= protocol::has_places(*n.spec) ? 1 : 0;
}

}  // namespace conch::lock
