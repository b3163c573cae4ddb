// SPDX-License-Identifier: BSL-1.0
// A master that is cut off and goes on beside the one that took its place, until it comes back and
// discards what it has.
#include "sim/server_node.hpp"

#include <algorithm>
#include <utility>

namespace conch::sim {
namespace {

/// Whose deadline this key has; empty: nobody's.
std::string_view reader_of(std::string_view key) noexcept {
    const std::size_t from = key.find("}:");
    const std::size_t to = key.find(":rwlock_timeout:");
    return to == key.npos ? std::string_view{} : key.substr(from + 2, to - from - 2);
}

}  // namespace

bool server_node::split(const parting& s, effect* e) {
    const fleet& f = redis_.processes();
    // A replica that is cut off is elected by nobody.
    const bool leads_next = s.with_old && machines_[f.master(f.shard_of(*s.with_old))].awaits_heir;
    if (split_ || leads_next || !may_take_over(s.shard) || (s.with_old && stalls(*s.with_old))) {
        return false;
    }
    const fleet::process old = f.master(s.shard);
    redis_.divide(s.shard, s.lost_writes, wall_clock());
    std::set<fleet::process> cut_off{old};
    if (s.with_old) {
        cut_off.insert(*s.with_old);
    }
    redis_.cut_off(std::move(cut_off));
    split_ = parted{s.shard, old, s.hangs_up, e, ++splits_};
    note_copies(f.replica(s.shard));
    world_.plan<&server_node::promote_beside>(s.promoted, this, splits_);
    world_.plan<&server_node::rejoin>(s.over, this, splits_);
    if (s.gives_up >= 0) {
        world_.plan<&server_node::give_up>(s.gives_up, this, splits_);
    }
    return true;
}

void server_node::give_up(std::uint64_t number, std::uint64_t) {
    if (split_ && split_->number == number) {
        world_.note("gives up", split_->old);
        redis_.refuse_writes(split_->old);
    }
}

bool server_node::is_torn(std::size_t shard) const noexcept {
    const fleet& f = redis_.processes();
    return redis_.divided(shard) || f.is_cut_off(f.master(shard)) || f.is_cut_off(f.replica(shard));
}

void server_node::promote_beside(std::uint64_t number, std::uint64_t) {
    if (!split_ || split_->number != number || std::exchange(split_->promoted, true)) {
        return;
    }
    world_.note("promoted beside", split_->shard);
    redis_.promote(split_->shard);
    flush();
    spread_word();
}

// The old master is told some time later.
void server_node::rejoin(std::uint64_t number, std::uint64_t) {
    if (!split_ || split_->number != number) {
        return;
    }
    promote_beside(number, 0);
    world_.note("rejoins", split_->old);
    redis_.rejoin();
    spread_word();
    world_.plan<&server_node::demote>(world_.now() + world_.chance.spread(millis, slowest_word),
                                      this, number);
}

void server_node::demote(std::uint64_t number, std::uint64_t) {
    if (!split_ || split_->number != number) {
        return;
    }
    const fleet::process old = split_->old;
    if (stalls(old)) {
        world_.plan<&server_node::demote>(machines_[old].stalled.until, this, number);
        return;
    }
    const bool hangs_up = split_->hangs_up;
    learn(old);
    flush();
    // Sentinels end the connections of those whom they reconfigure.
    if (hangs_up && running(old)) {
        network_->reset_all(true, fleet::port_of(old));
    }
}

void server_node::end_split() {
    if (split_) {
        promote_beside(split_->number, 0);
        redis_.rejoin();
        learn(split_->old);
    }
}

// Where keys move, they may have been at any of them.
instant server_node::last_split(std::string_view key) const noexcept {
    instant last = -1;
    const std::size_t shard = shard_of(key);
    for (std::size_t s = 0; s < redis_.processes().shards(); ++s) {
        const auto ended = splits_ended_.find(s);
        if (s != shard && imported_.empty()) {
            continue;
        } else if (split_ && split_->shard == s) {
            return world_.now();
        } else if (ended != splits_ended_.end()) {
            last = std::max(last, ended->second);
        }
    }
    return last;
}

// The first word of its master that reaches an old one ends the split.
void server_node::learn(fleet::process p) {
    const bool discards = redis_.is_to_resync(p);
    if (discards) {
        const fleet::process master = redis_.processes().master(split_->shard);
        if (discards_) {
            discards_(p);
        }
        feel(redis_.differ(p, master, wall_clock()) ? split_->by : nullptr);
        standings_.discarded(redis_.data_set_of(p));
        splits_ended_[split_->shard] = world_.now() + 1;  // behind what was done in this moment
        split_.reset();
    }
    redis_.learn(p);
}

// What both have now, in the same state; and what the replica has, as it lacks the release.
void server_node::note_copies(fleet::process replica) {
    const fleet::process master = redis_.processes().master(split_->shard);
    note_standings(master);
    for (const std::string& name : names_) {
        const auto there = redis_.fields(name, wall_clock());
        for (const auto& h : redis_.holders_at(replica, name, wall_clock())) {
            standings_.copied(redis_.data_set_of(replica), h.field, deadline_of(h));
            if (std::find(there.begin(), there.end(), h.field) == there.end()) {
                brought_back_.insert(h.field);
            }
        }
        // Who has a place there may be served by the other one, and be done, before that serves it.
        for (const auto& place : redis_.in_line_at(replica, name, wall_clock())) {
            brought_back_.insert(place.first);
        }
    }
}

void server_node::note_standings(fleet::process p) {
    for (const std::string& name : names_) {
        for (const auto& h : redis_.holders_at(p, name, wall_clock())) {
            standings_.has(redis_.data_set_of(p), h.field, deadline_of(h));
        }
    }
}

// What is left of its lease there is as much as its client believes, then. A reader that is renewed
// at one key after the other is there if the last of them is: that with its deadline.
void server_node::note_renewals(const script_run& r) {
    for (std::size_t i = 0; r.script == "permits_renew" && i < r.answer.items.size(); ++i) {
        if (r.answer.items[i].integer > 0) {  // its permits have one end: that of the first
            standings_.found(redis_.data_set_of(process_of(r.line)),
                             std::string{r.args[3 * i]} + std::string{"\0\1", 2});
        }
    }
    for (std::size_t i = 0; r.is("renew") && i < r.answer.items.size(); ++i) {
        const reply& one = r.answer.items[i];
        const std::string_view reader =
            r.is_plain("renew") ? reader_of(r.keys[i]) : std::string_view{};
        const std::string_view holder = reader.empty() ? r.args[2 * i] : reader;
        const bool is_first_of_two = r.script == "renew" && !holder.ends_with(":write") &&
                                     redis_.has_field(r.keys[i], "mode", wall_clock());
        if (one.what != reply::kind::integer) {
            continue;
        }
        const bool looks = r.args[2 * i + 1] == "0";  // and changes nothing
        if (one.integer > 0 && !is_first_of_two && !looks) {
            standings_.found(redis_.data_set_of(process_of(r.line)), holder);
        } else if (one.integer == 0 && !reader.empty()) {
            sightings_[std::string{reader}].push_back({r.at, r.client, r.line, sight::missing});
        }
    }
}

std::int64_t server_node::deadline_of(const fake_redis::placed_field& h) noexcept {
    return h.expires_ms < 0 ? standings::no_expiry : h.expires_ms;
}

// Released or given up at one of two masters: the other one isn't asked.
void server_node::note_left(fleet::process by, std::string_view field) {
    for (fleet::process p = 0; p < machines_.size(); ++p) {
        if (redis_.data_set_of(p) == redis_.data_set_of(by)) {
            continue;
        }
        for (const std::string& name : names_) {
            const auto there = redis_.holders_at(p, name, wall_clock());
            const auto waiting = redis_.in_line_at(p, name, wall_clock());
            if (std::any_of(there.begin(), there.end(),
                            [&](const auto& h) { return h.field == field; }) ||
                std::any_of(waiting.begin(), waiting.end(),
                            [&](const auto& w) { return w.first == field; })) {
                brought_back_.emplace(field);
            }
        }
    }
}

standings::data_sets server_node::standing(std::string_view key, std::string_view field) const {
    const auto in = standings_.of(field);
    return in ? *in : standings::data_sets{redis_.data_set_of(redis_.master_of(key))};
}

bool server_node::share_data(std::string_view key, std::string_view a, std::string_view b) const {
    const auto in_a = standing(key, a);
    const auto in_b = standing(key, b);
    return std::any_of(in_a.begin(), in_a.end(), [&](unsigned set) { return in_b.contains(set); });
}

bool server_node::discarded(std::string_view field) const {
    const auto in = standings_.of(field);
    if (!in) {
        return false;
    }
    for (fleet::process p = 0; p < machines_.size(); ++p) {
        if (in->contains(redis_.data_set_of(p))) {
            return false;
        }
    }
    return true;
}

}  // namespace conch::sim
