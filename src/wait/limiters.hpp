// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WAIT_LIMITERS_HPP
#define CONCH_SRC_WAIT_LIMITERS_HPP

#include "core/environment.hpp"
#include "core/pool.hpp"
#include "hold/pending.hpp"
#include "topology/servers.hpp"
#include "wait/limiter.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

namespace conch::lock {

/// The rate limits of one client.
class limiters {
public:
    limiters(core::environment& e, completions& d, topology::servers& s) noexcept
        : env{e}, done{d}, servers{s} {}
    ~limiters();

    /// Queues the caller at its limit; `wait` is for those that do.
    void acquire(const impl::rate_spec_ptr& spec, std::uint64_t permits, duration wait,
                 bool try_only, caller from, rate_verdict* result, bool log_refusal);
    /// Every caller leaves; or those whose limit this link leads to.
    void give_up_all(error_code why, const wire::link* at = nullptr);
    /// The limiter may have nothing left to do: looked at when the turn ends.
    void may_be_idle(limiter& l);
    /// Frees the limiters that have nothing left to do.
    void retire_idle();

    std::size_t size() const noexcept { return pool_.live(); }

    // For the limiters.

    core::environment& env;
    completions& done;
    topology::servers& servers;
    core::pool<permit_request> requests{};

private:
    /// What tells limits apart: who asks by another limit of the same name has a queue apart.
    struct key {
        const impl::rate_spec* spec;

        friend bool operator==(const key& a, const key& b) noexcept { return *a.spec == *b.spec; }
        friend std::size_t hash_value(const key& k) noexcept {
            return std::hash<std::string_view>{}(k.spec->name()) ^ k.spec->limit();
        }
    };

    limiter& limiter_of(const impl::rate_spec_ptr& spec);

    core::pool<limiter> pool_{};
    boost::unordered_flat_map<key, limiter*> all_{};
    std::vector<limiter*> idle_{};
};

}  // namespace conch::lock

#endif
