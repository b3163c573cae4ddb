// SPDX-License-Identifier: BSL-1.0
// What changes who serves a slot of the cluster.
#include "deployment/cluster_group.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace conch::test {
namespace {

constexpr auto settle_limit = std::chrono::seconds{60};

template <typename Condition>
asio::awaitable<void> must_become(Condition condition, const char* otherwise) {
    const bool became = co_await when(condition, settle_limit);
    if (!became) {
        throw std::runtime_error{otherwise};
    }
}

}  // namespace

void cluster_group::begin_migration(unsigned slot, std::size_t from, std::size_t to) {
    const std::string number = std::to_string(slot);
    raw(to).must({"CLUSTER", "SETSLOT", number, "IMPORTING", node(from).id()});
    raw(from).must({"CLUSTER", "SETSLOT", number, "MIGRATING", node(to).id()});
}

void cluster_group::move_key(const std::string& key, std::size_t from, std::size_t to) {
    raw(from).must({"MIGRATE", "127.0.0.1", std::to_string(node(to).port()), key, "0", "5000"});
}

std::size_t cluster_group::move_keys(unsigned slot, std::size_t from, std::size_t to) {
    std::size_t moved = 0;
    for (auto keys = node(from).keys_in(slot); !keys.empty(); keys = node(from).keys_in(slot)) {
        for (const std::string& key : keys) {
            move_key(key, from, to);
            ++moved;
        }
    }
    return moved;
}

void cluster_group::end_migration(unsigned slot, std::size_t from, std::size_t to) {
    // The new owner first: never may nobody serve the slot.
    assign(slot, to, to);
    assign(slot, from, to);
    for (std::size_t i = 0; i < size(); ++i) {
        if (i != from && i != to && node(i).awake() && node(i).info("role") == "master") {
            assign(slot, i, to);
        }
    }
}

void cluster_group::assign(unsigned slot, std::size_t told, std::size_t owner) {
    raw(told).must({"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", node(owner).id()});
}

void cluster_group::migrate(unsigned slot, std::size_t to) {
    const std::size_t from = owner_of(slot);
    if (from != to) {
        begin_migration(slot, from, to);
        move_keys(slot, from, to);
        end_migration(slot, from, to);
    }
}

void cluster_group::allow_failover() {
    for (std::size_t i = 0; i < size(); ++i) {
        if (node(i).awake()) {
            raw(i).must({"CONFIG", "SET", "cluster-replica-no-failover", "no"});
        }
    }
}

asio::awaitable<void> cluster_group::settle() const {
    co_await must_become([this] { return settled(); }, "the cluster does not settle");
}

asio::awaitable<std::size_t> cluster_group::fail_over(std::size_t master) {
    const std::size_t heir = replica_of(master);
    allow_failover();
    node(master).kill();
    co_await must_become([this, heir] { return node(heir).info("role") == "master"; },
                         "no failover");
    co_await settle();
    co_return heir;
}

asio::awaitable<void> cluster_group::hand_over_to(std::size_t replica) {
    // A master takes no such order from a node that it does not know for its replica yet.
    const node_line heir = node(replica).self();
    const cluster_node& its_master = node(place_of(heir.master));
    co_await must_become(
        [&] {
            return std::ranges::any_of(its_master.view(), [&](const node_line& line) {
                return line.id == heir.id && line.master == heir.master;
            });
        },
        "a master does not know its replica");
    raw(replica).must({"CLUSTER", "FAILOVER"});
    co_await must_become([this, replica] { return node(replica).info("role") == "master"; },
                         "the replica does not take over");
    co_await settle();
}

asio::awaitable<std::size_t> cluster_group::add_node() {
    const std::size_t place = size();
    start_node();
    meet(place);
    co_await settle();
    co_return place;
}

}  // namespace conch::test
