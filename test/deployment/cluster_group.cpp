// SPDX-License-Identifier: BSL-1.0
#include "deployment/cluster_group.hpp"

#include "deployment/group_settings.hpp"
#include "deployment/replication.hpp"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace conch::test {
namespace {

template <typename Condition>
void wait_until(Condition condition, const char* otherwise) {
    asio::io_context io;
    if (!run_until(io, condition, start_limit)) {
        throw std::runtime_error{otherwise};
    }
}

}  // namespace

cluster_group::cluster_group(std::optional<node_certificate> shown) : shown_{std::move(shown)} {
    while (nodes_.size() < node_count) {
        const std::size_t i = nodes_.size();
        const cluster_node& node = start_node();
        // Different from the start, or the nodes would have to find that out.
        node.raw().must({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
        if (i < master_count) {
            node.add_slots(slot_count * i / master_count, slot_count * (i + 1) / master_count);
        }
        meet(i);
    }
    wait_until([&] { return all_known(); }, "the nodes did not find each other");
    for (std::size_t i = 0; i < master_count; ++i) {
        raw(i + master_count).must({"CLUSTER", "REPLICATE", nodes_[i].id()});
    }
    wait_until(
        [&] { return settled() && replica_of(0) == 3 && replica_of(1) == 4 && replica_of(2) == 5; },
        "the cluster was not formed");
}

cluster_node& cluster_group::start_node() {
    return shown_ ? nodes_.emplace_back(*shown_) : nodes_.emplace_back();
}

void cluster_group::meet(std::size_t newcomer) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (i != newcomer && nodes_[i].awake()) {
            raw(newcomer).must({"CLUSTER", "MEET", "127.0.0.1", std::to_string(nodes_[i].port()),
                                std::to_string(nodes_[i].bus_port())});
        }
    }
}

bool cluster_group::all_known() const {
    return std::ranges::all_of(nodes_, [&](const cluster_node& n) {
        const auto view = n.view();
        return std::ranges::all_of(nodes_, [&](const cluster_node& other) {
            return std::ranges::any_of(view, [&](const node_line& line) {
                return line.id == other.id() && !line.is("handshake") && !line.is("noaddr");
            });
        });
    });
}

std::size_t cluster_group::place_of(std::string_view id) const {
    const auto found = std::ranges::find(nodes_, id, &cluster_node::id);
    return found == nodes_.end() ? nobody : static_cast<std::size_t>(found - nodes_.begin());
}

std::vector<std::size_t> cluster_group::owners() const {
    std::vector<std::size_t> out(slot_count, nobody);
    std::vector<std::uint64_t> epochs(slot_count, 0);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (!nodes_[i].awake()) {
            continue;
        }
        const node_line self = nodes_[i].self();
        for (const auto& [first, last] : self.slots) {
            for (unsigned slot = first; slot <= last; ++slot) {
                if (out[slot] == nobody || self.epoch > epochs[slot]) {
                    out[slot] = i;
                    epochs[slot] = self.epoch;
                }
            }
        }
    }
    return out;
}

std::size_t cluster_group::replica_of(std::size_t master) const {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i].awake() && nodes_[i].self().master == nodes_[master].id()) {
            return i;
        }
    }
    return nobody;
}

std::string cluster_group::name_in(std::size_t node, const std::string& prefix) const {
    const auto all = owners();
    for (int i = 0;; ++i) {
        std::string name = prefix + std::to_string(i);
        if (all[slot_of(name)] == node) {
            return name;
        }
        if (i == 100'000) {
            throw std::runtime_error{"the node serves no slot"};
        }
    }
}

std::string cluster_group::name_of_slot(unsigned slot, const std::string& prefix) {
    for (int i = 0;; ++i) {
        std::string name = prefix + std::to_string(i);
        if (slot_of(name) == slot) {
            return name;
        }
    }
}

bool cluster_group::agrees(const cluster_node& n, const std::vector<std::size_t>& owners) const {
    std::vector<std::size_t> seen(slot_count, nobody);
    std::size_t known = 0;
    for (const node_line& line : n.view()) {
        const std::size_t at = place_of(line.id);
        if (at == nobody || !nodes_[at].awake()) {
            continue;
        }
        if (line.is("fail") || line.is("fail?") || line.is("handshake")) {
            return false;
        }
        ++known;
        for (const auto& [first, last] : line.slots) {
            std::fill(seen.begin() + first, seen.begin() + last + 1, at);
        }
    }
    const auto awake = std::ranges::count_if(nodes_, &cluster_node::awake);
    return known == static_cast<std::size_t>(awake) && seen == owners;
}

// Also of the epochs: who takes a slot over before it has heard of the greatest takes the same, and
// the two that have it then may leave the slot to nobody.
bool cluster_group::settled() const {
    const auto all = owners();
    std::set<std::string> epochs;
    for (const cluster_node& n : nodes_) {
        if (n.awake()) {
            epochs.insert(n.info("cluster_current_epoch"));
        }
    }
    return epochs.size() == 1 && std::ranges::find(all, nobody) == all.end() &&
           std::ranges::all_of(nodes_, [&](const cluster_node& n) {
               return !n.awake() ||
                      (n.info("cluster_state") == "ok" && agrees(n, all) &&
                       (n.info("role") == "master" || n.info("master_link_status") == "up"));
           });
}

bool cluster_group::replicated(std::size_t master) const {
    raw_client r = raw(master);
    return replicates(r, name_in(master, "written-to-be-replicated"), 1);
}

void cluster_group::name(std::size_t node, const std::string& host) {
    raw_client r = raw(node);
    r.must({"CONFIG", "SET", "cluster-announce-hostname", host});
    r.must({"CONFIG", "SET", "cluster-preferred-endpoint-type", "hostname"});
}

bool cluster_group::all_name(const std::set<std::string>& hosts) const {
    for (const cluster_node& n : nodes_) {
        std::set<std::string> said;
        for (const reply& range : n.raw().must({"CLUSTER", "SLOTS"}).items) {
            for (std::size_t i = 2; i < range.items.size(); ++i) {
                said.insert(range.items[i].items.at(0).text);
            }
        }
        if (said != hosts) {
            return false;
        }
    }
    return true;
}

config cluster_group::settings(const std::string& client_name) const {
    return group_settings(config::from_url(url()), client_name);
}

std::string cluster_group::url() const {
    std::string hosts;
    for (const cluster_node& n : nodes_) {
        hosts += (hosts.empty() ? "" : ",") + (shown_ ? shown_->host : usual_host) + ':' +
                 std::to_string(n.port());
    }
    return shown_ ? "rediss+cluster://" + hosts + "?cacert=" + shown_->ca
                  : "redis+cluster://" + hosts;
}

}  // namespace conch::test
