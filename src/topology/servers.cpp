// SPDX-License-Identifier: BSL-1.0
#include "topology/servers.hpp"

#include <algorithm>
#include <utility>

namespace conch::topology {
namespace {

/// The connections of each seat have numbers of their own.
constexpr unsigned seat_shift = 48;
/// A call that is sent from one server to the next so often waits before it goes on.
constexpr unsigned most_redirects = 16;

std::uint64_t first_epoch(std::size_t seat) noexcept {
    return static_cast<std::uint64_t>(seat) << seat_shift;
}

wire::destination start_of(const config& c) {
    if (c.sentinel || c.cluster) {
        return {{}, wire::role::master};
    }
    return {wire::address::of(c), wire::role::any};
}

}  // namespace

servers::seat::seat(servers& s, wire::destination to)
    : home{s},
      link{s.settings_,
           std::move(to),
           s.timers_,
           s.jitter_,
           s.log_,
           s.counters_,
           s.last_words_,
           {this, &servers::on_ready, &servers::on_lost, &servers::on_astray,
            s.clustered() ? &servers::on_redirected : nullptr}} {}

servers::servers(const config& settings, core::timer_heap& timers, core::random& jitter,
                 const core::log& log, stats& counters, const time_point& now, server_events events)
    : settings_{settings},
      timers_{timers},
      jitter_{jitter},
      log_{log},
      counters_{counters},
      now_{now},
      events_{events},
      map_{settings.cluster ? std::make_unique<slot_map>() : nullptr} {
    seats_.emplace_back(*this, start_of(settings));
    if (!clustered()) {
        wire::destination same = start_of(settings);
        same.first_epoch = first_epoch(1);
        seats_.emplace_back(*this, std::move(same));
    }
    if (settings.sentinel) {
        sentinel_.emplace(settings, timers, jitter, log, now, main(), durable(),
                          wire::link_events{this, nullptr, &servers::on_lost_guide});
    } else if (settings.cluster) {
        cluster_.emplace(settings, timers, jitter, log, now, last_words_,
                         cluster_events{this, &servers::on_learned, &servers::on_lost_guide});
    }
}

void servers::submit(wire::call& c, std::uint16_t hash_slot, bool durable) {
    c.hash_slot = clustered() ? hash_slot : wire::no_hash_slot;
    serving(hash_slot, durable).submit(c);
}

bool servers::may_still_run(std::uint64_t epoch) const noexcept {
    return seats_[epoch >> seat_shift].link.may_still_run(epoch);
}

const wire::link* servers::guide() const noexcept {
    return sentinel_ ? &sentinel_->link() : cluster_ ? &cluster_->link() : nullptr;
}

const wire::link& servers::at(std::size_t i) const noexcept {
    const wire::link* const second = i > 0 ? guide() : nullptr;
    return i == 1 && second ? *second : seats_[i - (second ? 1 : 0)].link;
}

void servers::set_now(time_point now) noexcept {
    for (std::size_t i = 0; i < count(); ++i) {
        at(i).set_now(now);
    }
}

void servers::join_from(std::size_t fewest) noexcept {
    fewest_joined_ = fewest;
    for (seat& s : seats_) {
        s.link.join_from(fewest);
    }
}

std::size_t servers::subscriptions() const noexcept {
    std::size_t sum = 0;
    for (const seat& s : seats_) {
        sum += s.link.channels().size();
    }
    return sum;
}

std::size_t servers::input_room() const noexcept {
    std::size_t sum = 0;
    for (const seat& s : seats_) {
        sum += s.link.input().capacity();
    }
    return sum;
}

void servers::close() {
    for (seat& s : seats_) {
        s.link.close();
    }
    if (sentinel_) {
        sentinel_->close();
    }
    if (cluster_) {
        cluster_->close();
    }
}

void servers::on_ready(void* self) {
    seat& s = *static_cast<seat*>(self);
    s.home.events_.ready(s.home.events_.owner, s.link);
}

void servers::on_lost(void* self, errc lasting_reason) {
    seat& s = *static_cast<seat*>(self);
    s.home.events_.lost(s.home.events_.owner, s.link, lasting_reason);
}

void servers::on_lost_guide(void* self, errc lasting_reason) {
    auto& s = *static_cast<servers*>(self);
    s.events_.lost(s.events_.owner, s.main(), lasting_reason);
    if (!s.clustered()) {
        s.events_.lost(s.events_.owner, s.durable(), lasting_reason);
    }
}

void servers::on_astray(void* self, bool was_ready) {
    seat& s = *static_cast<seat*>(self);
    servers& all = s.home;
    const auto tend = [&](auto& guide) {
        if (!was_ready && s.link.target().known()) {
            guide->not_there(s.link.target());
        }
        guide->ask();
    };
    if (all.sentinel_) {
        tend(all.sentinel_);
    } else if (all.cluster_) {
        tend(all.cluster_);
        all.hand_over(s, true);
    }
}

void servers::on_redirected(void* self, wire::call& c, const wire::redirection& to) {
    seat& s = *static_cast<seat*>(self);
    s.home.follow(c, s.link, to);
}

void servers::on_learned(void* self, const std::vector<slot_range>& ranges) {
    static_cast<servers*>(self)->learned(ranges);
}

void servers::follow(wire::call& c, wire::link& from, const wire::redirection& to) {
    const wire::address at = cluster_->reached(to.to);
    const std::optional<std::uint16_t> there = seat_at(at);
    ++counters_.redirections;
    c.asking = false;
    if (++c.redirects >= most_redirects) {
        c.redirects = 0;
        cluster_->ask();
        from.retry_later(c, errc::server_unavailable);
    } else if (to.once) {
        c.asking = true;
        (there ? seats_[*there] : seats_[add_seat(at)]).link.adopt(c);
    } else if (there && &seats_[*there].link != &from) {
        map_->give(to.slot, *there);
        cluster_->ask();
        seats_[*there].link.adopt(c);
    } else {
        // A master that nobody has told of may have taken the place of another: that is for the
        // cluster to say, as it matters to who holds a lock.
        cluster_->ask();
        from.retry_later(c, errc::server_unavailable);
    }
}

std::optional<std::uint16_t> servers::seat_at(const wire::address& at) const noexcept {
    for (std::size_t i = 0; i < seats_.size(); ++i) {
        if (seats_[i].link.target() == at) {
            return static_cast<std::uint16_t>(i);
        }
    }
    return std::nullopt;
}

// One that rests, or a new one.
std::uint16_t servers::add_seat(const wire::address& at) {
    std::size_t i = 0;
    while (i < seats_.size() && (seats_[i].link.target().known() || map_->serves(i))) {
        ++i;
    }
    if (i == seats_.size()) {
        seat& s =
            seats_.emplace_back(*this, wire::destination{at, wire::role::master, first_epoch(i)});
        s.link.set_now(now_);
        s.link.channels().shard(sharded_);
        if (fewest_joined_ != 0) {
            s.link.join_from(fewest_joined_);
        }
    } else {
        seats_[i].link.move_later(at);
    }
    return static_cast<std::uint16_t>(i);
}

// The seat of the master with these parts: where it is, or that of the one whose place it took, or
// another. `targets`: where the seats will be.
std::uint16_t servers::seat_for(const slot_range& r, const std::vector<slot_range>& all,
                                std::vector<wire::address>& targets) {
    const auto here = std::find(targets.begin(), targets.end(), r.master);
    if (here != targets.end()) {
        return static_cast<std::uint16_t>(here - targets.begin());
    }
    const std::uint16_t before = map_->owner(r.first);
    const bool still_there = std::any_of(all.begin(), all.end(), [&](const slot_range& other) {
        return other.master == targets[before];
    });
    if (!still_there) {
        targets[before] = r.master;
        return before;
    }
    const std::uint16_t added = add_seat(r.master);
    targets.resize(seats_.size());
    targets[added] = r.master;
    return added;
}

void servers::learned(const std::vector<slot_range>& ranges) {
    sharded_ = cluster_->sharded();
    std::vector<wire::address> targets;
    for (seat& s : seats_) {
        s.link.channels().shard(sharded_);
        targets.push_back(s.link.target());
    }
    std::vector<std::uint16_t> owners;
    for (const slot_range& r : ranges) {
        owners.push_back(seat_for(r, ranges, targets));
    }
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        for (std::size_t slot = ranges[i].first; slot <= ranges[i].last; ++slot) {
            map_->give(static_cast<std::uint16_t>(slot), owners[i]);
        }
    }
    for (std::size_t i = 0; i < targets.size(); ++i) {
        if (seats_[i].link.target() != targets[i]) {
            log_(log_level::info, "a master of the cluster is at ", targets[i].text());
            seats_[i].link.move_to(targets[i]);
        }
    }
    if (map_->any_moved()) {
        regroup();
    }
}

// Each call and each listener goes where its part is.
void servers::regroup() {
    for (seat& s : seats_) {
        hand_over(s, false);
    }
    events_.regrouped(events_.owner);
    map_->forget_moves();
    for (std::size_t i = 0; i < seats_.size(); ++i) {
        if (!map_->serves(i)) {
            seats_[i].link.rest();
        }
    }
}

// What waits at a seat that doesn't serve it; `broken`: also what waits there for this once.
void servers::hand_over(seat& s, bool broken) {
    wire::call_list gone;
    s.link.take_waiting(gone, [&](const wire::call& c) {
        return c.hash_slot != wire::no_hash_slot && (broken || !c.asking) &&
               &serving(c.hash_slot) != &s.link;
    });
    while (!gone.empty()) {
        wire::call& c = gone.front();
        gone.pop_front();
        c.where = wire::call::state::idle;
        c.asking = false;
        serving(c.hash_slot).adopt(c);
    }
}

}  // namespace conch::topology
