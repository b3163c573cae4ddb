// SPDX-License-Identifier: BSL-1.0
// Which servers there are as the masters of a cluster come, go and take each other's place.
#include "topology/servers.hpp"

#include <algorithm>
#include <utility>

namespace conch::topology {

std::optional<std::uint16_t> servers::index_of(const wire::address& at) const noexcept {
    for (std::size_t i = 0; i < servers_.size(); ++i) {
        if (place_of(servers_[i]) == at) {
            return static_cast<std::uint16_t>(i);
        }
    }
    return std::nullopt;
}

// One that rests, or a new one.
std::uint16_t servers::add_server(const wire::address& at) {
    std::size_t i = 0;
    while (i < servers_.size() && (place_of(servers_[i]).known() || map_->serves(i))) {
        ++i;
    }
    if (i == servers_.size()) {
        servers_.emplace_back(*this, at);
    } else {
        move(servers_[i], at, false);
    }
    return static_cast<std::uint16_t>(i);
}

void servers::move(server& s, const wire::address& to, bool at_once) {
    s.main.link.begin_anew_at(to, at_once);
    if (s.durable) {
        s.durable->link.begin_anew_at(to, at_once);
    }
}

// Together, so that both have the same place.
void servers::park(server& s) {
    if (s.main.link.in_use() || (s.durable && s.durable->link.in_use())) {
        return;
    }
    s.main.link.park();
    if (s.durable) {
        s.durable->link.park();
    }
}

// The index of the master with these hash slots: that of its address, or of the server whose place
// it took, or a new one. `targets`: where the servers will be.
std::uint16_t servers::index_for(const slot_range& r, const std::vector<slot_range>& all,
                                 std::vector<wire::address>& targets) {
    const auto here = std::find(targets.begin(), targets.end(), r.master);
    if (here != targets.end()) {
        return static_cast<std::uint16_t>(here - targets.begin());
    }
    const auto is_left = [&](std::uint16_t s) {
        return std::none_of(all.begin(), all.end(),
                            [&](const slot_range& other) { return other.master == targets[s]; });
    };
    std::optional<std::uint16_t> looked_at;
    for (std::size_t slot = r.first; slot <= r.last; ++slot) {
        const std::uint16_t before = map_->owner(static_cast<std::uint16_t>(slot));
        if (before != looked_at && is_left(before)) {
            targets[before] = r.master;
            return before;
        }
        looked_at = before;
    }
    const std::uint16_t added = add_server(r.master);
    targets.resize(servers_.size());
    targets[added] = r.master;
    return added;
}

void servers::learned(const std::vector<slot_range>& ranges) {
    sharded_ = cluster_->sharded();
    std::vector<wire::address> targets;
    for (server_link* l : server_links_) {
        l->link.channels().shard(sharded_);
    }
    for (const server& s : servers_) {
        targets.push_back(place_of(s));
    }
    std::vector<std::uint16_t> owners;
    for (const slot_range& r : ranges) {
        owners.push_back(index_for(r, ranges, targets));
    }
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        map_->give(ranges[i], owners[i]);
    }
    for (std::size_t i = 0; i < targets.size(); ++i) {
        if (place_of(servers_[i]) != targets[i]) {
            log_(log_level::info, "a master of the cluster is at ", targets[i].text());
            move(servers_[i], targets[i], true);
        }
    }
    if (map_->any_moved()) {
        regroup();
    }
    for (std::size_t i = 0; i < servers_.size(); ++i) {
        // A server that is given hash slots, and has none yet, is asked again in a moment.
        const bool soon = std::exchange(servers_[i].sent_on_to, false);
        const bool owns = std::find(owners.begin(), owners.end(), i) != owners.end();
        if (!soon && !owns && !map_->serves(i)) {
            park(servers_[i]);
        }
    }
}

// Each call and each listener goes where its hash slot is.
void servers::regroup() {
    for (std::size_t i = 0; i < server_links_.size(); ++i) {  // of which there may be more then
        hand_over(*server_links_[i]);
    }
    events_.regrouped(events_.owner);
    map_->forget_moves();
}

}  // namespace conch::topology
