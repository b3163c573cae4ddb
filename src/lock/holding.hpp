// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_LOCK_HOLDING_HPP
#define CONCH_SRC_LOCK_HOLDING_HPP

#include "lock/acquisition.hpp"

#include <conch/error.hpp>

// What happens to an acquisition while it is held: levels, deadline, loss.
namespace conch::lock {

/// The server has it, by a command sent at `sent` with this lease. The deadline never goes back.
void set_deadline(acquisition& a, time_point sent, duration lease);

/// The grant: the first level, the deadline, the renewals.
impl::view_ptr begin_hold(acquisition& a);

/// One more public hold of a held acquisition.
impl::view_ptr add_level(acquisition& a);

/// The hold is over without a release: every caller is told. Unless the server said that it is
/// gone, it is released in the background.
void lose(acquisition& a, errc why);
/// The same, because the server said that it is gone.
void lose_gone(acquisition& a);

/// A public hold is released; `by` (if anybody) waits for the answer.
void release_level(context& ctx, const impl::view_ptr& view, caller from);

/// The last level is gone: releases the lock; `by` (if anybody) waits for the answer.
void end_hold(acquisition& a, caller from = {});

/// A public hold is given up; its key stays until the lease ends.
void detach_level(impl::hold_view& view);

/// Somebody waits for its end.
bool is_watched(impl::hold_view& view) noexcept;

/// Completes when the hold ends, or `before` ahead of its deadline or of the client's end.
void watch(context& ctx, const impl::view_ptr& view, duration before, caller from);

/// The client is going to close: who waits for the end of this hold is told now, or, if it is to be
/// told ahead of time, in time.
void notify_closing(acquisition& a);

/// A command that lowers the TTL was lost on its way: it may run after a longer lease was promised,
/// so that there is none until it can't run any more.
void forbid_growth(acquisition& a);

/// Makes the lease end no earlier than `lease` from now.
void extend(context& ctx, const impl::view_ptr& view, duration lease, caller from);

}  // namespace conch::lock

#endif
