// SPDX-License-Identifier: BSL-1.0
// Which losses are declared: nobody is to blame for what comes of what strangers do to locks.
#include "sim/simulation.hpp"

#include <algorithm>

namespace conch::sim {

instant simulation::persisted_at(const std::string& field) const noexcept {
    const auto it = persisted_.find(field);
    return it == persisted_.end() ? -1 : it->second;
}

bool simulation::outlived_its_release(const std::string& field) const noexcept {
    const instant at = persisted_at(field);
    return at >= 0 && at < settled_at_ && !is_tended(field);
}

bool simulation::is_dead_reader(std::size_t name, const std::string& field) {
    const std::string_view lock = specs_[name]->name();
    return how_.read_write && !field.ends_with(":write") &&
           !server_.redis().exists(timeout_key(lock, field), server_.wall_clock());
}

bool simulation::is_tended(const std::string& field) const noexcept {
    const owner_of o = owner_in(field);
    return !is_foreign(field) && clients_[o.client]->engine().tends(o.number);
}

bool simulation::deserted(const std::string& field) const noexcept {
    const owner_of o = owner_in(field);
    return is_foreign(field) || clients_[o.client]->dead() || clients_[o.client]->closed() ||
           (was_left_behind(o.client, o.number) && !is_tended(field));
}

instant simulation::last_loss(const held& h) const {
    return std::max(last_declared_loss(h), server_.last_split(specs_[h.name]->name()));
}

instant simulation::last_declared_loss(const held& h) const {
    const std::string_view lock = specs_[h.name]->name();
    return std::max(last_declared_loss(lock), last_declared_loss(timeout_key(lock, field_of(h))));
}

bool simulation::endangered(const held& h) const {
    const forces& f = forces_[h.name];
    return h.sent_at <= last_loss(h) || !f.running.empty() || h.sent_at <= f.last_end;
}

// Who meant to take it away may have come too late, or met somebody else.
bool simulation::loss_declared(const held& h) const {
    const std::string field = field_of(h);
    if (h.sent_at <= last_declared_loss(h) || h.sent_at <= forces_[h.name].spoilt_at ||
        was_deleted(field)) {
        return true;
    }
    const auto& seen = server_.sightings(field);
    return std::any_of(seen.begin(), seen.end(), [&](const auto& s) {
        return s.what == server_node::sight::deleted && targets_.contains({s.client, field});
    });
}

}  // namespace conch::sim
