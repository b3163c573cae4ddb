// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_QUERYING_HPP
#define CONCH_SRC_HOLD_QUERYING_HPP

#include "core/environment.hpp"
#include "core/pool.hpp"
#include "hold/names.hpp"
#include "hold/pending.hpp"
#include "protocol/lock_protocol.hpp"
#include "topology/servers.hpp"
#include "wire/call.hpp"

#include <conch/error.hpp>

#include <cstddef>
#include <string>

// Looking at a lock from outside, and taking it from its holder.
namespace conch::lock {

class queries;

/// Asks who holds the lock; then goes on with what its purpose calls for. One command at a time is
/// on its way.
struct query : pending, wire::call {
    /// The holder is known: tells it, or asks for more.
    using continuation = void (*)(query& q, lock_status s);

    query(caller c, queries& h, impl::spec_ptr s, continuation go_on, lock_status* out) noexcept;

    static const pending_kind own_kind;

    queries& home;
    impl::spec_ptr spec;
    const continuation on_status;
    bool with_fence;        ///< false: the user may not read it, or nobody wants it
    bool answered = false;  ///< `result` has what the caller needs; the rest is an extra
    lock_status* result;    ///< null: nobody wants it, or not any more
    std::string holder{};   ///< the field that a forced release deletes
    core::timer patience;
};

/// The questions of one client that are not answered.
class queries {
public:
    queries(core::environment& env, completions& done, topology::servers& servers,
            const name_table& held) noexcept
        : env_{env}, done_{done}, servers_{servers}, held_{held} {}

    /// Asks who holds the lock; writes the answer to `*result`.
    void query_status(const impl::spec_ptr& spec, const status_options& options, caller from,
                      lock_status* result);
    /// The status is known, but for the extras: completes with them.
    void add_clients(const impl::spec_ptr& spec, lock_status&& known, caller from,
                     lock_status* result);
    /// Reads the holder, then releases exactly that holder; the completion's remark says whether
    /// there was one.
    void force_unlock(const impl::spec_ptr& spec, caller from);
    /// The caller gives up; the query itself runs to its end.
    void give_up_query(query& q, error_code why);
    /// All do, or those that ask at this link.
    void give_up_all(error_code why, const wire::link* at = nullptr);

    std::size_t live() const noexcept { return pool_.live(); }

    // For their parts.

    /// Sends the next command.
    void next_step(query& q, const wire::call_type& step);
    void end_query(query& q, error_code ec, bool released = false);
    /// This client's holds of its lock may be gone.
    void check_holds(const query& q) const { held_.check_holds(*q.spec); }
    bool sharded() const noexcept { return servers_.sharded(); }
    wire::link& link_of(const query& q) const { return servers_.serving(q.spec->hash_slot()); }

private:
    query& add(const impl::spec_ptr& spec, caller from, query::continuation go_on,
               lock_status* result);
    void begin_query(const impl::spec_ptr& spec, caller from, query::continuation go_on,
                     lock_status* result);

    core::environment& env_;
    completions& done_;
    topology::servers& servers_;
    const name_table& held_;
    core::pool<query> pool_{};
    pending_list all_{};
};

/// A forced release: takes the lock from the holder that was read.
void release_holder(query& q, lock_status s);
/// How many clients wait, and where the holder is: what can't be had is left out.
void ask_for_clients(query& q, lock_status s);

}  // namespace conch::lock

#endif
