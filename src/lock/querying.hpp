// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_LOCK_QUERYING_HPP
#define CONCH_SRC_LOCK_QUERYING_HPP

#include "lock/pending.hpp"

#include <conch/error.hpp>

// Looking at a lock from outside, and taking it from its holder.
namespace conch::lock {

/// Asks who holds the lock; writes the answer to `*result`.
void query_status(context& ctx, const impl::spec_ptr& spec, const status_options& options,
                  caller from, lock_status* result);

/// Reads the holder, then releases exactly that holder; the completion's flag says whether there
/// was one.
void force_unlock(context& ctx, const impl::spec_ptr& spec, caller from);

/// The caller gives up; the query itself runs to its end.
void give_up_query(query& q, error_code why);

}  // namespace conch::lock

#endif
