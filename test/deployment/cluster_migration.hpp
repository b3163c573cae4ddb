// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_DEPLOYMENT_CLUSTER_MIGRATION_HPP
#define CONCH_TEST_DEPLOYMENT_CLUSTER_MIGRATION_HPP

#include "deployment/cluster_test.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace conch::test {

/// A slot of the cluster that goes from one node to another, step by step.
class cluster_migration : public cluster_test {
protected:
    static constexpr std::size_t from = 0;
    static constexpr std::size_t to = 1;

    /// All of them are in one slot of `from`.
    std::string named(const std::string& name) const { return name + '{' + tag + '}'; }
    void begin() { group.begin_migration(slot, from, to); }
    void move(const std::string& key) { group.move_key(key, from, to); }
    void end() {
        group.move_keys(slot, from, to);
        group.end_migration(slot, from, to);
    }
    bool is_at(std::size_t node, const std::string& key) {
        const auto keys = group.node(node).keys_in(slot);
        return std::ranges::find(keys, key) != keys.end();
    }

    const std::string tag = group.name_in(from, "tag");
    const unsigned slot = slot_of(tag);
};

}  // namespace conch::test

#endif
