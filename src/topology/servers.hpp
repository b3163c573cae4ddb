// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_TOPOLOGY_SERVERS_HPP
#define CONCH_SRC_TOPOLOGY_SERVERS_HPP

#include "topology/cluster.hpp"
#include "topology/sentinel.hpp"
#include "topology/slot_map.hpp"
#include "wire/connection.hpp"
#include "wire/link.hpp"

#include <conch/config.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace conch::topology {

/// What the locks hear of their servers.
struct server_events {
    void* owner = nullptr;
    /// As `wire::link_events` has them, of this link.
    void (*ready)(void* owner, wire::link& l) = nullptr;
    void (*lost)(void* owner, wire::link& l, errc lasting_reason) = nullptr;
    /// Hash slots have other links than before: `servers::moved()` says which.
    void (*regrouped)(void* owner) = nullptr;
    /// As `wire::link_events` has it, of any link that leads to a server with locks.
    void (*changed)(void* owner, const connection_change& c) = nullptr;
};

/// The connections of one client: which of them serves a key, and which there are.
///
/// One server serves every key: that of the settings, or the master that sentinels name. Or the
/// masters of a cluster serve, each its own keys. Each has another connection for locks that wait
/// for replicas, as that blocks a connection; not before one is used.
class servers {
public:
    servers(const config& settings, core::timer_heap& timers, core::random& jitter,
            const core::log& log, stats& counters, const time_point& now, server_events events);
    servers(const servers&) = delete;
    servers& operator=(const servers&) = delete;

    // For the locks.

    /// The link of the server with the keys of this hash slot. In a cluster that changes.
    /// `durable`: what is written shall be waited for.
    wire::link& serving(std::uint16_t hash_slot, bool durable = false) noexcept {
        server& s = map_ ? servers_[map_->owner(hash_slot)] : servers_.front();
        return durable ? link_of(s, true) : s.main.link;
    }
    /// Sends a call for a key of this hash slot there.
    void submit(wire::call& c, std::uint16_t hash_slot, bool durable = false);
    /// Takes back a call that waits, wherever that is.
    void withdraw(wire::call& c) noexcept { main().withdraw(c); }
    /// A connection to any of them that broke between these may still run what was written on it:
    /// one call may have been lost with several of them, of different servers.
    bool may_still_run(time_point first, time_point last) const noexcept;
    bool clustered() const noexcept { return map_ != nullptr; }
    /// The keys of one script are all of one hash slot: in a cluster, and where a server refused
    /// others.
    bool by_hash_slot() const noexcept { return by_hash_slot_; }
    /// Releases are told by SPUBLISH.
    bool sharded() const noexcept { return sharded_; }
    /// During `regrouped`: this hash slot has another link than before.
    bool moved(std::uint16_t hash_slot) const noexcept { return map_ && map_->moved(hash_slot); }

    // For the driver. The first is that of the only server, or of one of a cluster's.

    wire::link& main() noexcept { return servers_.front().main.link; }
    const wire::link& main() const noexcept { return servers_.front().main.link; }
    std::size_t count() const noexcept { return connections_.size(); }
    wire::connection& connection(std::size_t i) noexcept { return *connections_[i]; }
    const wire::connection& connection(std::size_t i) const noexcept { return *connections_[i]; }
    /// The one at this place logs in at a sentinel.
    bool is_sentinel(std::size_t i) const noexcept { return sentinel_ && i == 1; }
    void set_now(time_point now) noexcept;
    void join_from(std::size_t fewest) noexcept;
    const std::string& last_words() const noexcept { return last_words_; }
    std::size_t subscriptions() const noexcept;
    /// How many bytes what comes from the servers may take.
    std::size_t input_room() const noexcept;
    void close();

private:
    /// What leads to a server with locks.
    struct server_link {
        server_link(servers& s, wire::address at, bool d);
        servers& home;
        const bool durable;
        wire::connection connection;
        wire::link link;
    };
    /// One server with locks.
    struct server {
        server(servers& s, wire::address at) : main{s, std::move(at), false} {}
        server_link main;
        std::optional<server_link> durable{};  ///< to the same; made when it is needed
        bool sent_on_to = false;               ///< by ASK, since hash slots were last learned
    };

    static void on_ready(void* self);
    static void on_lost(void* self, errc lasting_reason);
    static void on_address_needed(void* self, bool was_ready);
    static void on_redirected(void* self, wire::call& c, const wire::redirection& to);
    static void on_resumed(void* self);
    static void on_hash_slots_crossed(void* self);
    static void on_changed(void* self, const connection_change& c);
    static void on_learned(void* self, const std::vector<slot_range>& ranges);
    static void on_lost_discovery(void* self, errc lasting_reason);
    static bool on_put_off(void* self);

    static wire::link& link_of(server& s, bool durable);
    static const wire::address& place_of(const server& s) noexcept { return s.main.link.target(); }
    static void move(server& s, const wire::address& to, bool at_once);
    static void park(server& s);
    std::uint16_t add_server(const wire::address& at);
    std::optional<std::uint16_t> index_of(const wire::address& at) const noexcept;
    std::uint16_t index_for(const slot_range& r, const std::vector<slot_range>& all,
                            std::vector<wire::address>& targets);
    void learned(const std::vector<slot_range>& ranges);
    void regroup();
    void hand_over(server_link& l);
    void follow(wire::call& c, server_link& from, const wire::redirection& to);

    const config& settings_;
    core::timer_heap& timers_;
    core::random& jitter_;
    const core::log& log_;
    stats& counters_;
    const time_point& now_;
    server_events events_;
    std::string last_words_{};
    std::deque<server> servers_{};
    std::vector<server_link*> server_links_{};  // of all servers, in the order of their making
    // Theirs, and second that to who knows where masters are.
    std::vector<wire::connection*> connections_{};
    std::unique_ptr<slot_map> map_{};
    std::optional<sentinel> sentinel_{};
    std::optional<cluster> cluster_{};
    std::size_t fewest_joined_ = 0;  // 0: as it is by itself
    bool sharded_ = false;
    bool by_hash_slot_;
};

}  // namespace conch::topology

#endif
