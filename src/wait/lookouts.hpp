// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WAIT_LOOKOUTS_HPP
#define CONCH_SRC_WAIT_LOOKOUTS_HPP

#include "core/environment.hpp"
#include "core/pool.hpp"
#include "core/timer_heap.hpp"
#include "hold/pending.hpp"
#include "hold/querying.hpp"
#include "protocol/spec.hpp"
#include "topology/servers.hpp"
#include "wait/vigil.hpp"
#include "wire/call.hpp"

#include <conch/lock_status.hpp>

#include <cstddef>
#include <string>

// Waiting until a lock has another holder, without wanting it.
namespace conch::lock {

class lookouts;

/// Asks who holds the lock at each message, with each (re)subscription and within the poll
/// interval, until it is somebody else than who was known. One question at a time is on its way.
struct lookout : pending, wire::call {
    lookout(caller c, lookouts& h, impl::spec_ptr s, const status_options& o, lock_status* out);

    static const pending_kind own_kind;

    lookouts& home;
    impl::spec_ptr spec;
    const status_options extras;
    const std::string known;  ///< the holder; empty: nobody
    lock_status* result;      ///< null: nobody wants it any more
    bool with_fence;          ///< false: the user may not read it
    vigil news;
    core::timer patience;  ///< of a question
};

/// Those of one client.
class lookouts {
public:
    lookouts(core::environment& env, completions& done, topology::servers& servers,
             queries& asked) noexcept
        : env_{env}, done_{done}, servers_{servers}, asked_{asked} {}

    /// `*result`: who is known, and later who is new, with the extras.
    void watch(const impl::spec_ptr& spec, const status_options& extras, caller from,
               lock_status* result);
    /// The caller leaves.
    void give_up(lookout& l, error_code why);
    /// All do, or those that ask at this link.
    void give_up_all(error_code why, const wire::link* at = nullptr);
    /// Hash slots may have other servers.
    void regrouped();

    std::size_t live() const noexcept { return pool_.live(); }

    // For its parts.

    void ask(lookout& l);
    void answered(lookout& l, const wire::outcome& o);
    wire::link& link_of(const lookout& l) const { return servers_.serving(l.spec->hash_slot()); }

    core::environment& env() const noexcept { return env_; }
    topology::servers& servers() const noexcept { return servers_; }

private:
    void told(lookout& l, lock_status&& now);
    void end(lookout& l, error_code ec);

    core::environment& env_;
    completions& done_;
    topology::servers& servers_;
    queries& asked_;
    core::pool<lookout> pool_{};
    pending_list all_{};
};

}  // namespace conch::lock

#endif
