// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_LOCK_CONTEXT_HPP
#define CONCH_SRC_LOCK_CONTEXT_HPP

#include "core/pool.hpp"
#include "core/random.hpp"
#include "core/run_queue.hpp"
#include "core/telemetry.hpp"
#include "core/timer_heap.hpp"
#include "lock/acquisition.hpp"
#include "lock/attempt.hpp"
#include "lock/limiter.hpp"
#include "lock/pending.hpp"
#include "lock/querying.hpp"
#include "lock/releasing.hpp"
#include "lock/renewal.hpp"
#include "lock/replica_waits.hpp"
#include "lock/slot.hpp"
#include "topology/servers.hpp"

#include <conch/config.hpp>
#include <conch/error.hpp>

#include <boost/intrusive/list.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace conch::lock {

/// The end of one caller's operation, for the driver to deliver.
struct completion {
    void* tag = nullptr;
    error_code ec{};
    impl::view_ptr view{};
    bool flag = false;  ///< of a refused acquire: no server was there to be asked
};

/// What tells locks apart.
struct slot_key {
    const protocol::lock_protocol* protocol;
    std::string_view name;
    bool durable;  ///< on a connection of its own

    explicit slot_key(const impl::lock_spec& spec) noexcept
        : slot_key{spec, static_cast<bool>(spec.replicas())} {}
    slot_key(const impl::lock_spec& spec, bool d) noexcept
        : protocol{&protocol::family_of(spec)}, name{spec.name()}, durable{d} {}
    friend bool operator==(const slot_key&, const slot_key&) = default;
};

/// Finds slots by what tells them apart, which each keeps in its spec.
struct slot_hash {
    using is_transparent = void;
    std::size_t operator()(const slot_key& k) const noexcept {
        return std::hash<std::string_view>{}(k.name) ^ static_cast<std::size_t>(k.protocol->status);
    }
    std::size_t operator()(const slot* s) const noexcept { return (*this)(slot_key{*s->spec}); }
};
struct slot_equal {
    using is_transparent = void;
    bool operator()(const slot* a, const slot* b) const noexcept { return a == b; }
    bool operator()(const slot_key& k, const slot* s) const noexcept {
        return k == slot_key{*s->spec};
    }
    bool operator()(const slot* s, const slot_key& k) const noexcept { return (*this)(k, s); }
};

/// What tells rate limits apart: who asks by another limit of the same name has a queue apart.
struct limiter_key {
    const impl::rate_spec* spec;

    friend bool operator==(const limiter_key& a, const limiter_key& b) noexcept {
        return *a.spec == *b.spec;
    }
    friend std::size_t hash_value(const limiter_key& k) noexcept {
        return std::hash<std::string_view>{}(k.spec->name()) ^ k.spec->limit();
    }
};

/// What all locks of one client share. Owned by the engine; one thread at a time.
struct context {
    context(const config& settings, std::string_view client_id, std::uint64_t seed);
    context(const context&) = delete;
    context& operator=(const context&) = delete;
    ~context();

    /// Queues the completion of `p`; no-op if it was completed before.
    void complete(pending& p, error_code ec, impl::view_ptr view = {}, bool flag = false);
    /// The same at once, for a caller whose operation needs no object.
    void answer(caller from, error_code ec, impl::view_ptr view = {});
    /// The slot of this lock; made if there is none.
    slot& slot_of(const impl::spec_ptr& spec);
    /// The hold of this owner, by whichever mutex of this lock; null if there is none.
    acquisition* held_by(const impl::lock_spec& spec, std::uint64_t owner) const noexcept;
    /// From their first try until the server is known not to have them. Each may be forgotten when
    /// its turn comes.
    template <typename Function>
    void for_each_acquisition(Function f) const {
        for (slot* const s : all_slots) {
            s->for_each_acquisition(f);
        }
    }
    /// This client's holds of this lock may be gone: asks the server.
    void check_holds(const impl::lock_spec& spec);
    /// The queue of this limit; made if there is none.
    limiter& limiter_of(const impl::rate_spec_ptr& spec);
    /// The slot may have nothing left to do: looked at when the turn ends.
    void may_be_idle(slot& s);
    void may_be_idle(limiter& l);
    /// Frees the slots and limiters that have nothing left to do.
    void retire_idle();

    const config& settings;
    const std::string id;            ///< the client's uuid
    const std::string field_prefix;  ///< uuid and colon
    core::random jitter;
    core::timer_heap timers{};
    core::heap_of<acquisition> renewals{};
    core::run_queue awake{};
    time_point now{};
    core::telemetry telemetry{settings, timers, now};
    bool closing = false;
    /// While holders may still release by themselves: when that ends, and how long before that they
    /// are told at the latest.
    time_point closes_at = time_point::max();
    duration closing_notice{};
    std::size_t pending_count = 0;
    std::size_t level_count = 0;  ///< that have not ended
    std::uint64_t next_number = 1;
    std::vector<completion> completions{};

    core::pool<slot> slots{};
    core::pool<slot::contest> contests{};
    core::pool<acquisition> acquisition_pool{};
    core::pool<attempt> attempts{};
    core::pool<release> releases{};
    core::pool<waiter> waiters{};
    core::pool<watcher> watchers{};
    core::pool<extension> extensions{};
    core::pool<level_change> changes{};
    core::pool<query> query_pool{};
    core::pool<limiter> limiter_pool{};
    core::pool<permit_request> permit_requests{};

    pending_list queries{};
    boost::unordered_flat_set<slot*, slot_hash, slot_equal> all_slots{};
    std::vector<slot*> idle{};
    boost::unordered_flat_map<limiter_key, limiter*> limiters{};
    std::vector<limiter*> idle_limiters{};
    renewer renewing{*this};
    replica_waits replicas{*this};
    topology::servers servers;

private:
    static void on_ready(void* self, wire::link& l);
    static void on_lost(void* self, wire::link& l, errc lasting_reason);
    static void on_regrouped(void* self);
};

}  // namespace conch::lock

#endif
