// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_RELEASING_HPP
#define CONCH_SRC_HOLD_RELEASING_HPP

#include "core/environment.hpp"
#include "hold/attempt.hpp"
#include "hold/events.hpp"
#include "hold/pending.hpp"
#include "topology/servers.hpp"

namespace conch::lock {

class acquisition_pool;

/// How acquisitions end: the release script, until the server has confirmed that the field is gone.
class releaser {
public:
    releaser(core::environment& env, completions& done, const topology::servers& servers,
             acquisition_pool& pool, const hold_events& events) noexcept
        : env_{env}, done_{done}, servers_{servers}, pool_{pool}, events_{events} {}

    /// Sends the release, and the next waiter's try behind it, or as one. `from` (if anybody) is
    /// completed with the verdict, at `valid_until` at the latest.
    void start_release(acquisition& a, caller from = {});
    /// The lock stays for so long from now, and is not held any more.
    void start_leave(acquisition& a, duration lease, caller from);
    /// Releases what an acquire may have taken that becomes no hold.
    void compensate(acquisition& a);

    /// From now on the acquire `taking` is to release what `leaving` would.
    static void join(attempt& taking, release& leaving) noexcept;
    /// The acquire, which replaces a release, was answered or lost. An answer is that of the
    /// release, too; else the release leaves by itself.
    void end_hand_over(attempt& taking, const wire::outcome& o);
    /// The acquire, which replaces a release, is not sent again: the release leaves by itself.
    static void release_apart(attempt& taking);

    /// The acquire was refused: an earlier copy, whose answer was lost, may have run nevertheless.
    void end_refused(acquisition& a);
    /// The acquire is known not to have taken the lock, or the lock to be gone: no release is
    /// needed, unless an older copy of the acquire may still run, or it has a place in line.
    void end_untaken(acquisition& a);

private:
    static const wire::call_type type;
    static const wire::call_type divisible_type;
    static const wire::call_type leave_type;
    friend struct release;

    static void encode_leave(wire::call& c, resp::writer& w);
    static void release_done(wire::call& c, const wire::outcome& o);
    static void on_release_timer(void* acquisition_);

    release& begin(acquisition& a, caller from);
    void answered(acquisition& a, const wire::call_history& sent, const wire::outcome& o);
    /// It was not done where it was sent.
    static void submit_again(release& r);
    void finish_release(acquisition& a, bool was_holder, const wire::call_history& sent);
    void due(acquisition& a);
    void finish(acquisition& a);
    bool may_come_back(const acquisition& a) const noexcept;
    void next_round_later(acquisition& a);

    core::environment& env_;
    completions& done_;
    const topology::servers& servers_;
    acquisition_pool& pool_;
    const hold_events& events_;
};

}  // namespace conch::lock

#endif
