// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_DEPLOYMENT_CLUSTER_GROUP_HPP
#define CONCH_TEST_DEPLOYMENT_CLUSTER_GROUP_HPP

#include "support/raw_client.hpp"
#include "support/run.hpp"
#include "deployment/cluster_node.hpp"
#include "deployment/hash_slot.hpp"

#include <conch/config.hpp>

#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace conch::test {

/// A Redis Cluster: three masters that share the slots, and a replica of each. Nodes are known by
/// their place: 0 to 2 are the masters at first, and node `i + 3` is the replica of node `i`.
class cluster_group {
public:
    static constexpr std::size_t master_count = 3;
    static constexpr std::size_t node_count = 2 * master_count;
    static constexpr std::size_t nobody = static_cast<std::size_t>(-1);

    /// Returns when it is settled.
    cluster_group() : cluster_group{std::nullopt} {}
    /// The same; clients need TLS.
    explicit cluster_group(std::optional<node_certificate> shown);

    /// Settings of a client of this cluster, impatient enough for a test; its seeds are all nodes.
    config settings(const std::string& client_name = "conch") const;
    std::string url() const;

    std::size_t size() const noexcept { return nodes_.size(); }
    cluster_node& node(std::size_t i) { return nodes_.at(i); }
    const cluster_node& node(std::size_t i) const { return nodes_.at(i); }
    /// A connection of the test's own; made anew by each call.
    raw_client raw(std::size_t i) const { return nodes_.at(i).raw(); }
    /// The same, to the node that serves a key's slot.
    raw_client raw_at(std::string_view key) const { return raw(owner_of(slot_of(key))); }

    /// The node that serves a slot, by its own word; of two, the one with the newer epoch.
    std::size_t owner_of(unsigned slot) const { return owners().at(slot); }
    std::size_t owner_of(std::string_view key) const { return owner_of(slot_of(key)); }
    /// The nodes that serve each slot; `nobody` where no node that is awake does.
    std::vector<std::size_t> owners() const;
    /// A replica that is awake of this master; `nobody` if there is none.
    std::size_t replica_of(std::size_t master) const;
    /// A name that begins so, in a slot that this node serves.
    std::string name_in(std::size_t node, const std::string& prefix = "lock") const;
    /// A name that begins so, in this slot.
    static std::string name_of_slot(unsigned slot, const std::string& prefix = "lock");

    /// All nodes that are awake serve, agree on who serves what, and hold each other for alive;
    /// their replicas have a link to their masters.
    bool settled() const;
    /// The replica of this master has what it has: what was written before is safe.
    bool replicated(std::size_t master) const;

    /// From now on this node is known to others, and to clients, by this; from Redis 7.0 on.
    void name(std::size_t node, const std::string& host);
    /// Each node names these hosts, and no other, where it says who serves what.
    bool all_name(const std::set<std::string>& hosts) const;

    /// `to` takes what `from` does not have; nothing has moved yet.
    void begin_migration(unsigned slot, std::size_t from, std::size_t to);
    /// One key of a slot that migrates.
    void move_key(const std::string& key, std::size_t from, std::size_t to);
    /// All keys that are left; how many there were.
    std::size_t move_keys(unsigned slot, std::size_t from, std::size_t to);
    /// `to` serves the slot; all masters that are awake know.
    void end_migration(unsigned slot, std::size_t from, std::size_t to);
    /// All three, from whoever serves it.
    void migrate(unsigned slot, std::size_t to);

    /// From now on, replicas take over from masters that don't answer.
    void allow_failover();
    /// These complete when the cluster is settled; they throw if it never is.
    asio::awaitable<void> settle() const;
    /// Kills a master. The node that serves its slots then.
    asio::awaitable<std::size_t> fail_over(std::size_t master);
    /// Asks a replica to take over from its master, which is alive.
    asio::awaitable<void> hand_over_to(std::size_t replica);
    /// A new node, without slots. Its place.
    asio::awaitable<std::size_t> add_node();

private:
    void meet(std::size_t newcomer);
    bool all_known() const;
    bool agrees(const cluster_node& n, const std::vector<std::size_t>& owners) const;
    std::size_t place_of(std::string_view id) const;
    void assign(unsigned slot, std::size_t told, std::size_t owner);

    cluster_node& start_node();

    const std::optional<node_certificate> shown_;
    std::deque<cluster_node> nodes_{};
};

}  // namespace conch::test

#endif
