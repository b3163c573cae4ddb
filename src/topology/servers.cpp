// SPDX-License-Identifier: BSL-1.0
#include "topology/servers.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace conch::topology {
namespace {

/// A call that is sent from one server to the next so often waits before it goes on.
constexpr unsigned most_redirects = 16;
/// "Ask there for this once" is true for so long after the call was sent. By then the hash slot may
/// be on its way back, and somebody else may have the lock where it was.
constexpr duration asking_holds = std::chrono::seconds{1};

bool has_guide(const config& c) noexcept { return c.sentinel || c.cluster; }

}  // namespace

servers::server_link::server_link(servers& s, wire::address at, bool d)
    : home{s},
      durable{d},
      connection{s.settings_,
                 {std::move(at), has_guide(s.settings_) ? wire::role::master : wire::role::any},
                 s.timers_,
                 s.jitter_,
                 s.log_,
                 s.counters_,
                 s.last_words_},
      link{connection,
           s.settings_.reconnect_delay_max,
           s.timers_,
           s.jitter_,
           s.log_,
           s.counters_,
           {this, &servers::on_ready, &servers::on_lost, &servers::on_address_needed,
            s.clustered() ? &servers::on_redirected : nullptr,
            s.clustered() ? &servers::on_resumed : nullptr,
            s.clustered() ? nullptr : &servers::on_hash_slots_crossed, &servers::on_changed}} {
    s.server_links_.push_back(this);
    s.connections_.push_back(&connection);
    connection.set_now(s.now_);
    link.channels().shard(s.sharded_);
    if (s.fewest_joined_ != 0) {
        link.join_from(s.fewest_joined_);
    }
}

servers::servers(const config& settings, core::timer_heap& timers, core::random& jitter,
                 const core::log& log, stats& counters, const time_point& now, server_events events)
    : settings_{settings},
      timers_{timers},
      jitter_{jitter},
      log_{log},
      counters_{counters},
      now_{now},
      events_{events},
      map_{settings.cluster ? std::make_unique<slot_map>() : nullptr},
      by_hash_slot_{clustered()} {
    server& first = servers_.emplace_back(
        *this, has_guide(settings) ? wire::address{} : wire::address::of(settings));
    if (settings.sentinel) {
        sentinel_.emplace(settings, timers, jitter, log, now, main(), link_of(first, true),
                          wire::link_events{this, nullptr, &servers::on_lost_discovery});
        connections_.insert(connections_.begin() + 1, &sentinel_->connection());
    } else if (settings.cluster) {
        cluster_.emplace(settings, timers, jitter, log, now, last_words_,
                         cluster_events{this, &servers::on_learned, &servers::on_lost_discovery,
                                        &servers::on_put_off});
        connections_.insert(connections_.begin() + 1, &cluster_->connection());
    }
}

void servers::submit(wire::call& c, std::uint16_t hash_slot, bool durable) {
    c.hash_slot = by_hash_slot_ ? hash_slot : wire::no_hash_slot;
    serving(hash_slot, durable).submit(c);
}

bool servers::may_still_run(time_point first, time_point last) const noexcept {
    return std::any_of(server_links_.begin(), server_links_.end(),
                       [&](const server_link* l) { return l->link.may_still_run(first, last); });
}

wire::link& servers::link_of(server& s, bool durable) {
    if (!durable) {
        return s.main.link;
    }
    if (!s.durable) {
        s.durable.emplace(s.main.home, place_of(s), true);
    }
    return s.durable->link;
}

void servers::set_now(time_point now) noexcept {
    for (wire::connection* c : connections_) {
        c->set_now(now);
    }
}

void servers::join_from(std::size_t fewest) noexcept {
    fewest_joined_ = fewest;
    for (server_link* l : server_links_) {
        l->link.join_from(fewest);
    }
}

std::size_t servers::subscriptions() const noexcept {
    std::size_t sum = 0;
    for (const server_link* l : server_links_) {
        sum += l->link.channels().size();
    }
    return sum;
}

std::size_t servers::input_room() const noexcept {
    std::size_t sum = 0;
    for (const server_link* l : server_links_) {
        sum += l->link.input_room();
    }
    return sum;
}

void servers::close() {
    for (std::size_t i = 0; i < server_links_.size(); ++i) {  // a release may begin another
        server_links_[i]->link.close();
    }
    if (sentinel_) {
        sentinel_->close();
    }
    if (cluster_) {
        cluster_->close();
    }
}

void servers::on_ready(void* self) {
    server_link& l = *static_cast<server_link*>(self);
    if (l.home.cluster_) {
        l.home.cluster_->there(l.link.target());
    } else if (l.home.sentinel_) {
        l.home.sentinel_->there();
    }
    l.home.events_.ready(l.home.events_.owner, l.link);
}

void servers::on_lost(void* self, errc lasting_reason) {
    server_link& l = *static_cast<server_link*>(self);
    l.home.events_.lost(l.home.events_.owner, l.link, lasting_reason);
}

void servers::on_lost_discovery(void* self, errc lasting_reason) {
    auto& s = *static_cast<servers*>(self);
    s.events_.lost(s.events_.owner, s.main(), lasting_reason);
    if (s.servers_.front().durable) {
        s.events_.lost(s.events_.owner, s.servers_.front().durable->link, lasting_reason);
    }
}

void servers::on_address_needed(void* self, bool was_ready) {
    server_link& l = *static_cast<server_link*>(self);
    servers& all = l.home;
    const auto tend = [&](auto& discovery) {
        // Whoever refuses for good, or can't be trusted, is there. A sentinel is not to blame, and
        // the next one is asked in its turn; a node may name who was there once.
        const wire::outage& down = l.link.down();
        const bool met = all.sentinel_ && down.lasting != errc{} && !down.met_replica;
        if (!was_ready && !met && l.link.target().known()) {
            discovery->not_there(l.link.target(), down.met_replica);
        }
        discovery->ask();
    };
    if (all.sentinel_) {
        tend(all.sentinel_);
    } else if (all.cluster_) {
        tend(all.cluster_);
        all.hand_over(l);
    }
}

void servers::on_redirected(void* self, wire::call& c, const wire::redirection& to) {
    server_link& l = *static_cast<server_link*>(self);
    l.home.follow(c, l, to);
}

// Calls that the server refused, or that were sent round, as their hash slot went elsewhere.
void servers::on_resumed(void* self) {
    server_link& l = *static_cast<server_link*>(self);
    l.home.hand_over(l);
}

// A proxy hides a cluster, but not its rule. The rule is remembered for good, over connections and
// servers: a proxy stays where it is when a server behind it is replaced, and a client that is
// wrong about it only sends smaller scripts.
void servers::on_hash_slots_crossed(void* self) {
    servers& all = static_cast<server_link*>(self)->home;
    if (!std::exchange(all.by_hash_slot_, true)) {
        all.log_(log_level::info, "the server refuses scripts with keys of several hash slots: ",
                 "from now on each hash slot has its own");
    }
}

void servers::on_changed(void* self, const connection_change& c) {
    const server_events& e = static_cast<server_link*>(self)->home.events_;
    if (e.changed) {
        e.changed(e.owner, c);
    }
}

void servers::on_learned(void* self, const std::vector<slot_range>& ranges) {
    static_cast<servers*>(self)->learned(ranges);
}

bool servers::on_put_off(void* self) {
    bool any = false;
    wire::call_list none;
    for (server_link* l : static_cast<servers*>(self)->server_links_) {
        l->link.take_waiting(none, [&](const wire::call& c) {
            any = any || c.trouble == errc::server_unavailable;
            return false;  // only to look
        });
    }
    return any;
}

void servers::follow(wire::call& c, server_link& from, const wire::redirection& to) {
    const std::optional<wire::address> at =
        to.to.port != 0 ? cluster_->reached(to.to, from.link.target()) : std::nullopt;
    const std::optional<std::uint16_t> there = at ? index_of(*at) : std::nullopt;
    ++counters_.redirections;
    c.ask = wire::call::asking::no;
    if (at && !to.once && *at != from.link.target()) {
        cluster_->moved(to.slot, *at);
    }
    if (!at || ++c.redirects >= most_redirects) {
        cluster_->ask();
        from.link.retry_later(c, errc::server_unavailable);
    } else if (to.once) {
        server& importing = servers_[there ? *there : add_server(*at)];
        importing.sent_on_to = true;
        wire::link& other = link_of(importing, from.durable);
        if (other.ready() && now_ - c.history.last_sent < asking_holds) {
            c.ask = wire::call::asking::due;
            other.adopt(c);
        } else {  // nor may it be true any more when there is a connection
            other.use();
            from.link.retry_later(c, errc::server_unavailable);
        }
    } else if (there && *at != from.link.target()) {
        const bool is_news = map_->owner(to.slot) != *there;
        map_->give(to.slot, *there);
        cluster_->ask();
        link_of(servers_[*there], from.durable).adopt(c);
        if (is_news) {
            events_.regrouped(events_.owner);  // what is held there need not wait for the rest
        }
    } else {
        // A master that nobody has told of may have taken the place of another: that is for the
        // cluster to say, as it matters to who holds a lock.
        cluster_->ask();
        from.link.retry_later(c, errc::server_unavailable);
    }
}

// What waits for a server that doesn't serve it, unless it leaves for this once, or was sent round
// and has its pause.
void servers::hand_over(server_link& l) {
    wire::call_list gone;
    l.link.take_waiting(gone, [&](const wire::call& c) {
        return c.hash_slot != wire::no_hash_slot && !c.asks() && c.redirects < most_redirects &&
               &serving(c.hash_slot, l.durable) != &l.link;
    });
    while (!gone.empty()) {
        wire::call& c = gone.front();
        gone.pop_front();
        serving(c.hash_slot, l.durable).adopt(c);
    }
}

}  // namespace conch::topology
