// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_TOPOLOGY_NODE_LIST_HPP
#define CONCH_SRC_TOPOLOGY_NODE_LIST_HPP

#include "topology/slot_map.hpp"
#include "wire/address.hpp"

#include <conch/config.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace conch::topology {

/// The nodes of a cluster that may be asked, one after the other: those of the settings, then the
/// masters that became known.
class node_list {
public:
    /// More masters than any cluster has: what a node tells is nonsense then.
    static constexpr std::size_t most = 1000;

    /// `settings`: at least one.
    explicit node_list(const std::vector<server_address>& settings) : settings_{settings} {
        know({});
    }

    std::size_t size() const noexcept { return nodes_.size(); }
    /// The one that is asked at present.
    const wire::address& asked() const noexcept { return nodes_[asked_]; }
    void turn_to_next() noexcept { asked_ = (asked_ + 1) % nodes_.size(); }
    /// The masters are these from now on.
    void know(const std::vector<slot_range>& ranges) {
        const wire::address at = nodes_.empty() ? wire::address{} : asked();
        nodes_.clear();
        for (const server_address& a : settings_) {
            add({a.host, a.port, {}});
        }
        for (const slot_range& r : ranges) {
            add(r.master);
        }
        const auto where = std::find(nodes_.begin(), nodes_.end(), at);
        asked_ = where == nodes_.end() ? 0 : place_of(where);
    }
    /// Whoever leaves the present node goes there.
    void prefer(const wire::address& next) {
        add(next);
        const auto where = std::find(nodes_.begin(), nodes_.end(), next);
        if (where != nodes_.end()) {
            asked_ = (place_of(where) + nodes_.size() - 1) % nodes_.size();
        }
    }

private:
    void add(const wire::address& a) {
        if (nodes_.size() < most && std::find(nodes_.begin(), nodes_.end(), a) == nodes_.end()) {
            nodes_.push_back(a);
        }
    }
    std::size_t place_of(std::vector<wire::address>::const_iterator it) const noexcept {
        return static_cast<std::size_t>(it - nodes_.begin());
    }

    const std::vector<server_address>& settings_;
    std::vector<wire::address> nodes_{};
    std::size_t asked_ = 0;
};

}  // namespace conch::topology

#endif
