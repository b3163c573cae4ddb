// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_LOCK_QUERYING_HPP
#define CONCH_SRC_LOCK_QUERYING_HPP

#include "lock/pending.hpp"

#include <conch/error.hpp>

#include <string>

// Looking at a lock from outside, and taking it from its holder.
namespace conch::lock {

/// Asks who holds the lock; then goes on with what its purpose calls for. One command at a time is
/// on its way.
struct query : pending, wire::call {
    /// The holder is known: tells it, or asks for more.
    using continuation = void (*)(query& q, lock_status s);

    query(caller c, context& h, impl::spec_ptr s, continuation go_on, lock_status* out) noexcept;

    static const pending_kind own_kind;

    context& ctx;
    impl::spec_ptr spec;
    const continuation on_status;
    bool with_fence;        ///< false: the user may not read it, or nobody wants it
    bool answered = false;  ///< `result` has what the caller needs; the rest is an extra
    lock_status* result;    ///< null: nobody wants it, or not any more
    std::string holder{};   ///< the field that a forced release deletes
    core::timer patience;
};

/// Asks who holds the lock; writes the answer to `*result`.
void query_status(context& ctx, const impl::spec_ptr& spec, const status_options& options,
                  caller from, lock_status* result);

/// Reads the holder, then releases exactly that holder; the completion's flag says whether there
/// was one.
void force_unlock(context& ctx, const impl::spec_ptr& spec, caller from);

/// The caller gives up; the query itself runs to its end.
void give_up_query(query& q, error_code why);

// For its parts.

void begin_query(context& ctx, const impl::spec_ptr& spec, caller from, query::continuation go_on,
                 lock_status* result);
/// Sends the next command.
void next_step(query& q, const wire::call_type& step);
void end_query(query& q, error_code ec, bool flag = false);
/// How many clients wait, and where the holder is: what can't be had is left out.
void ask_for_clients(query& q, lock_status s);

}  // namespace conch::lock

#endif
