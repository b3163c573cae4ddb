// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_HOLDING_HPP
#define CONCH_SRC_HOLD_HOLDING_HPP

#include "core/environment.hpp"
#include "core/pool.hpp"
#include "hold/acquisition.hpp"
#include "hold/events.hpp"
#include "hold/pending.hpp"
#include "topology/servers.hpp"

#include <conch/error.hpp>

#include <cstddef>

namespace conch::lock {

class acquisition_pool;
class downgrader;
class keeper;
class nester;
class noter;
class releaser;
class renewer;

/// Wants to know when a hold ends, or that it is going to.
struct watcher : pending {
    watcher(caller c, keeper& k, level& l, duration before) noexcept;

    static const pending_kind own_kind;

    keeper& home;
    level& of;
    duration before;  ///< so long before the deadline
    core::timer soon;
};

/// Wants a longer lease.
struct extension : pending {
    extension(caller c, keeper& k, acquisition& a, duration l, time_point now) noexcept;

    static const pending_kind own_kind;

    keeper& home;
    acquisition& of;
    duration lease;
    time_point since;
    errc refused{};  ///< by the server, for now
    core::timer patience;
};

/// Why a hold whose level is gone can't be used any more.
errc reason_of(const impl::hold_view& view) noexcept;
/// Why a hold ends, if it does at its deadline.
errc reason_at_deadline(const acquisition& a) noexcept;

/// What happens to acquisitions while they are held: levels, deadline, loss.
class keeper {
public:
    keeper(core::environment& env, completions& done, const topology::servers& servers,
           acquisition_pool& pool, renewer& renewals, releaser& releases, nester& nesting,
           downgrader& downgrading, noter& noting, const hold_events& events) noexcept
        : env_{env},
          done_{done},
          servers_{servers},
          pool_{pool},
          renewals_{renewals},
          releases_{releases},
          nesting_{nesting},
          downgrading_{downgrading},
          noting_{noting},
          events_{events} {}

    /// The server has it, by a command sent at `sent` with this lease. The deadline never goes
    /// back.
    void set_deadline(acquisition& a, time_point sent, duration lease);
    /// One more public hold of a held acquisition; or the first, which is the grant. Its holder
    /// counts as one that last reported progress then.
    impl::view_ptr add_level(acquisition& a, time_point last_report);
    /// The hold is over without a release: every caller is told. Unless the server said that it is
    /// gone, it is released in the background.
    void lose(acquisition& a, errc why);
    /// The same, because the server said that it is gone.
    void lose_gone(acquisition& a);
    /// The server did not find its field: it is lost, unless a downgrade may have given it another
    /// one. False: that is being asked.
    bool lose_missing(acquisition& a);
    /// The last level is gone: releases the lock; `from` (if anybody) waits for the answer.
    void end_hold(acquisition& a, caller from = {});

    /// A public hold is released; `from` (if anybody) waits for the answer.
    void release_level(const impl::view_ptr& view, caller from);
    /// The same, but if it is the last one the lock stays for `lease` from now, held by nobody.
    void leave_level(const impl::view_ptr& view, duration lease, caller from);
    /// A public hold is given up; its key stays until the lease ends.
    void detach_level(impl::hold_view& view);

    /// Somebody waits for its end.
    static bool is_watched(impl::hold_view& view) noexcept;
    /// Completes when the hold ends, or `before` ahead of its deadline or of the client's end.
    void watch(const impl::view_ptr& view, duration before, caller from);
    /// The client closes at `end`: who is to be told ahead of time is told `notice` before that, at
    /// the latest.
    void close_at(time_point end, duration notice) noexcept {
        closes_at_ = end;
        closing_notice_ = notice;
    }
    /// That is known: who waits for the end of this hold is told now, or in time.
    void notify_closing(acquisition& a);

    /// Makes the lease end no earlier than `lease` from now.
    void extend(const impl::view_ptr& view, duration lease, caller from);
    /// A renewal with this lease, sent at `sent`, was done. Whether somebody wants more than that.
    bool extended(acquisition& a, time_point sent, duration lease);
    /// It was refused, which may pass. When it is to be tried again, at the latest.
    duration not_extended(acquisition& a, errc why, bool passes);
    /// A command that lowers the TTL was lost on its way: it may run after a longer lease was
    /// promised, so that there is none until it can't run any more.
    void forbid_growth(acquisition& a);

    std::size_t levels() const noexcept { return levels_; }
    std::size_t watchers() const noexcept { return watchers_.live(); }
    std::size_t extensions() const noexcept { return extensions_.live(); }

private:
    static void on_deadline(void* acquisition_);
    static void on_soon(void* watcher_);
    static void on_patience_over(void* extension_);
    friend struct watcher;
    friend struct extension;

    void begin_hold(acquisition& a);
    /// Ends the level. Its acquisition, if it was the last one; else that goes one level back.
    acquisition* end_last_level(const impl::view_ptr& view, caller from);
    void end_level(level& l, errc why);
    void end_quietly(acquisition& a);
    void fail_extensions(acquisition& a, errc why);
    time_point notice_of_closing(const watcher& w) const noexcept;
    void set_soon(watcher& w);
    void tell(watcher& w, error_code why);
    void end(extension& e, error_code why);

    core::environment& env_;
    completions& done_;
    const topology::servers& servers_;
    acquisition_pool& pool_;
    renewer& renewals_;
    releaser& releases_;
    nester& nesting_;
    downgrader& downgrading_;
    noter& noting_;
    const hold_events& events_;
    core::pool<watcher> watchers_{};
    core::pool<extension> extensions_{};
    std::size_t levels_ = 0;  ///< that have not ended
    time_point closes_at_ = time_point::max();
    duration closing_notice_{};
};

}  // namespace conch::lock

#endif
