// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_REDIS_DATA_SETS_HPP
#define CONCH_TEST_SIM_REDIS_DATA_SETS_HPP

#include "sim/redis/fleet.hpp"
#include "sim/redis/keyspace.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace conch::sim {

/// The keys of each process. A master and its replica share theirs: what the replica lacks is taken
/// back when it is promoted. But where a master is cut off and goes on, each of the two has a data
/// set of its own, until the old master comes back and discards its own.
class data_sets {
public:
    using process = fleet::process;

    explicit data_sets(const fleet& f) {
        for (process p = 0; p < f.processes(); ++p) {
            const bool own = p < f.shards() || f.is_sentinel(p);
            sets_.push_back(own ? make() : sets_[f.shard_of(p)]);
        }
    }

    keyspace& of(process p) noexcept { return sets_[p]->keys; }
    const keyspace& of(process p) const noexcept { return sets_[p]->keys; }
    /// In the order in which they came to be.
    unsigned number(process p) const noexcept { return sets_[p]->number; }
    bool same(process a, process b) const noexcept { return sets_[a] == sets_[b]; }
    std::size_t count() const noexcept { return sets_.size(); }

    /// From now on this replica has its own: what its master has but for the last `k` commands that
    /// wrote.
    void divide(process replica, std::size_t k) {
        auto own = make();
        own->keys = of(replica);
        own->keys.undo(k);
        sets_[replica] = std::move(own);
    }
    /// It discards what it has for what that one has.
    void resync(process p, process with) noexcept { sets_[p] = sets_[with]; }

private:
    struct data_set {
        keyspace keys{};
        unsigned number = 0;
    };

    std::shared_ptr<data_set> make() {
        auto s = std::make_shared<data_set>();
        s->number = made_++;
        return s;
    }

    unsigned made_ = 0;
    std::vector<std::shared_ptr<data_set>> sets_{};
};

}  // namespace conch::sim

#endif
