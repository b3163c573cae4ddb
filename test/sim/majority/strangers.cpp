// SPDX-License-Identifier: BSL-1.0
#include "sim/majority/strangers.hpp"

#include "sim/majority/simulation.hpp"

#include <algorithm>
#include <cstdlib>

namespace conch::sim::majority {

// What is a part of nobody's hold yet, or no more, is noted, too: its grant may be on its way.
void strangers::take(std::size_t name, std::size_t place) {
    for (const std::string& field : all_.locks().fields(name, place)) {
        taken_.emplace(field, all_.the_world().now());
    }
    last_taken_[name] = all_.the_world().now();
}

bool strangers::remove(std::size_t name, std::size_t place) {
    if (all_.locks().fields(name, place).empty()) {
        return false;
    }
    take(name, place);
    last_removed_[name] = all_.the_world().now();
    server_node& s = all_.server_of(place);
    s.redis().remove(all_.spec(name, place)->name(), s.wall_clock());
    return true;
}

bool strangers::persist(std::size_t name, std::size_t place) {
    server_node& s = all_.server_of(place);
    const auto fields = all_.locks().fields(name, place);
    if (fields.empty() || (all_.settled() && !is_tended(place, fields.front())) ||
        !s.redis().persist(all_.spec(name, place)->name(), s.wall_clock())) {
        return false;
    }
    persisted_.insert_or_assign(fields.front(), all_.the_world().now());
    return true;
}

bool strangers::spoil(std::size_t name, std::size_t place) {
    // The number of permits would be gone, and another text would be another holder.
    if (all_.locks().nameless(name, place) || all_.locks().is_text(name, place)) {
        return false;
    }
    const bool had = !all_.locks().fields(name, place).empty();
    take(name, place);
    server_node& s = all_.server_of(place);
    s.redis().put_foreign(all_.spec(name, place)->name(), fake_redis::foreign::text,
                          s.wall_clock());
    spoilt_.insert_or_assign({name, place}, all_.the_world().now());
    return had;
}

void strangers::restore(std::size_t name, std::size_t place) {
    if (spoilt_.erase({name, place}) > 0) {
        server_node& s = all_.server_of(place);
        s.redis().remove_foreign(all_.spec(name, place)->name(), s.wall_clock());
    }
}

void strangers::restore_all() {
    while (!spoilt_.empty()) {
        const auto [name, place] = spoilt_.begin()->first;
        restore(name, place);
    }
}

bool strangers::force(process& by, std::size_t name, std::size_t place) {
    if (by.dead() || !by.running() || by.node(place).closing()) {
        return false;
    }
    forces_.push_back({&by, {name, place}});
    last_taken_[name] = all_.the_world().now();
    by.force_at(name, place, forces_.size() - 1);
    return all_.locks().taken(name, place);
}

void strangers::force_ended(std::size_t number) {
    forced_release& f = forces_[number];
    f.ended_at = all_.the_world().now();
    last_taken_[f.of.first] = f.ended_at;
}

// What it has sent knows only who had the lock by then.
void strangers::died(const process& p) {
    for (std::size_t i = 0; i < forces_.size(); ++i) {
        if (forces_[i].by == &p && forces_[i].ended_at < 0) {
            force_ended(i);
        }
    }
}

bool strangers::took(std::size_t name, std::size_t place, const std::string& field,
                     instant since) const {
    return taken_.contains(field) || std::ranges::any_of(forces_, [&](const forced_release& f) {
               return f.of == place_of{name, place} && (f.ended_at < 0 || f.ended_at >= since);
           });
}

// Who stands in line at a server asks again after so long at most, and others wait behind.
instant strangers::known_by(std::size_t name) const {
    const auto it = last_removed_.find(name);
    return it == last_removed_.end()
               ? -1
               : it->second + all_.how().settings.max_poll_interval.count() * 102 / 100;
}

instant strangers::persisted_at(const std::string& field) const {
    const auto it = persisted_.find(field);
    return it == persisted_.end() ? -1 : it->second;
}

instant strangers::last_taken(std::size_t name) const {
    if (std::ranges::any_of(forces_, [&](const forced_release& f) {
            return f.of.first == name && f.ended_at < 0;
        })) {
        return all_.the_world().now();
    }
    const auto it = last_taken_.find(name);
    return it == last_taken_.end() ? -1 : it->second;
}

bool strangers::is_tended(std::size_t place, const std::string& field) const {
    const process* const p = all_.process_of(place, field);
    const std::size_t colon = field.find(':');
    return p && !p->dead() && colon != std::string::npos &&
           p->node(place).engine().tends(std::strtoull(field.c_str() + colon + 1, nullptr, 10));
}

// A release that gave up when the lease would have been over, as it may where it has to be sent
// again, and the first copy took long; or nobody is left to make one.
bool strangers::outlived_its_release(std::size_t place, const std::string& field) const {
    const auto at = persisted_.find(field);
    const process* const p = all_.process_of(place, field);
    const scenario& how = all_.how();
    const bool may_give_up = how.has(fault::script_flush) && !how.answers_in_time();
    return at != persisted_.end() && !is_tended(place, field) &&
           (at->second < all_.settled_at() || !p || p->dead() || p->node(place).closing() ||
            detached_.contains(field) || may_give_up);
}

void strangers::remove_deserted() {
    for (std::size_t name = 0; name < all_.how().names; ++name) {
        for (std::size_t place = 0; place < all_.how().places(); ++place) {
            const auto fields = all_.locks().fields(name, place);
            server_node& s = all_.server_of(place);
            const auto& key = all_.spec(name, place)->name();
            if (!fields.empty() && s.redis().left(key, s.wall_clock()) == -1 &&
                outlived_its_release(place, fields.front())) {
                s.redis().remove(key, s.wall_clock());
                last_removed_[name] = all_.the_world().now();
            }
        }
    }
}

}  // namespace conch::sim::majority
