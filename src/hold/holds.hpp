// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_HOLDS_HPP
#define CONCH_SRC_HOLD_HOLDS_HPP

#include "core/environment.hpp"
#include "hold/acquisition_pool.hpp"
#include "hold/downgrading.hpp"
#include "hold/events.hpp"
#include "hold/holding.hpp"
#include "hold/names.hpp"
#include "hold/nesting.hpp"
#include "hold/noting.hpp"
#include "hold/pending.hpp"
#include "hold/releasing.hpp"
#include "hold/renewal.hpp"
#include "hold/replica_waits.hpp"
#include "topology/servers.hpp"

#include <string>
#include <string_view>

namespace conch::lock {

/// Who tends to the acquisitions of one client: each name knows it, and so each acquisition.
struct holds {
    /// `client_id`: unique among all clients of the servers.
    holds(core::environment& env, completions& done, topology::servers& s,
          std::string_view client_id, const hold_events& e)
        : servers{s},
          events{e},
          field_prefix{std::string{client_id} + ":"},
          releasing{env, done, s, pool, e},
          replicas{env, s, names, e},
          renewing{env, s, replicas, keeping},
          nesting{env, done, keeping},
          downgrading{env, done, keeping, renewing, nesting, e},
          noting{env, done, keeping},
          keeping{env, done, s, pool, renewing, releasing, nesting, downgrading, noting, e} {}

    topology::servers& servers;
    const hold_events& events;
    const std::string field_prefix;
    name_table names{};
    acquisition_pool pool{};
    releaser releasing;
    replica_waits replicas;
    renewer renewing;
    nester nesting;
    downgrader downgrading;
    noter noting;
    keeper keeping;
};

inline std::uint16_t lock_name::hash_slot() const noexcept {
    if (hash_slot_ == wire::no_hash_slot && client.servers.by_hash_slot()) {
        hash_slot_ = spec->hash_slot();
    }
    return hash_slot_;
}

inline wire::link& lock_name::link() const noexcept {
    return client.servers.serving(hash_slot(), static_cast<bool>(spec->replicas()));
}

}  // namespace conch::lock

#endif
