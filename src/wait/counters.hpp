// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WAIT_COUNTERS_HPP
#define CONCH_SRC_WAIT_COUNTERS_HPP

#include "core/environment.hpp"
#include "core/pool.hpp"
#include "hold/pending.hpp"
#include "topology/servers.hpp"
#include "wait/counter.hpp"
#include "wait/counter_change.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace conch::lock {

/// The semaphores and latches of one client.
class counters {
public:
    /// `prefix`: of what tells one request of this client from those of all others.
    counters(core::environment& e, completions& d, topology::servers& s,
             std::string_view prefix) noexcept
        : env{e}, done{d}, servers{s}, request_prefix{prefix} {}
    ~counters();

    /// Queues the caller; a try's completion says by its remark whether the permits were granted.
    /// Of a latch: until it is open, whatever `permits` says.
    void acquire(const impl::count_spec_ptr& spec, std::int64_t permits, duration wait,
                 bool try_only, caller from);
    /// `result`: as of `counter_change`.
    void change(const impl::count_spec_ptr& spec, counter_change::kind what, std::int64_t permits,
                caller from, std::int64_t* result);
    /// Every caller leaves: what must be carried out nevertheless goes on.
    void turn_away();
    /// The callers leave whose counter this link leads to, for a reason that lasts.
    void give_up_all(error_code why, const wire::link& at);
    /// The end: what is left is forgotten.
    void close();
    /// Hash slots may have other servers.
    void regrouped();
    /// Frees the counters that have nothing left to do.
    void retire_idle();

    std::size_t size() const noexcept { return pool_.live(); }
    std::size_t changing() const noexcept { return changes_.live(); }
    /// So much is on its way that permits would be lost without, and nobody waits for it.
    std::size_t unsettled() const noexcept;

    // For the counters and their changes.

    /// Adds permits that were granted to nobody.
    void give_back(counter& to, std::int64_t permits);
    void ended(counter_change& c);
    /// A change of it may be: a request whose outcome is unknown is given up.
    void lost(const impl::count_spec& spec);
    /// The counter may have nothing left to do: looked at when the turn ends.
    void may_be_idle(counter& s);
    std::uint64_t next_number() noexcept { return ++last_number_; }
    /// How long a caller waits for an answer; no longer than a request is repeated.
    duration patience() const noexcept;

    core::environment& env;
    completions& done;
    topology::servers& servers;
    const std::string_view request_prefix;
    core::pool<counter_waiter> waiters{};

private:
    struct key {
        const impl::count_spec* spec;

        friend bool operator==(const key& a, const key& b) noexcept { return *a.spec == *b.spec; }
        friend std::size_t hash_value(const key& k) noexcept {
            return std::hash<std::string_view>{}(k.spec->name());
        }
    };

    counter& counter_of(const impl::count_spec_ptr& spec);

    core::pool<counter> pool_{};
    core::pool<counter_change> changes_{};
    pending_list changing_{};
    boost::unordered_flat_map<key, counter*> all_{};
    std::vector<counter*> idle_{};
    std::uint64_t last_number_ = 0;
};

}  // namespace conch::lock

#endif
