// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WAIT_SLOT_HPP
#define CONCH_SRC_WAIT_SLOT_HPP

#include "core/task.hpp"
#include "hold/attempt.hpp"
#include "hold/events.hpp"
#include "wait/slot_state.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace conch::lock {

/// The waiters of one name, which get its lock one after the other: their queue, their one
/// contender, their subscription. Or one waiter, where each has a place at the server.
///
/// At most one try is on its way and wanted, that of the first waiter; of permits, also those of
/// the waiters next behind it. A try is made directly while it may succeed at once; when one was
/// answered "busy", a contend() conversation takes over, until nobody waits.
class slot : public slot_state {
public:
    slot(slots& all, impl::spec_ptr spec) noexcept;

    // For callers.

    /// Queues the waiter, or answers it; `wait` is how long it waits for others.
    void acquire(waiter& w, duration wait);
    /// The waiter leaves with this error; what was tried for it goes to the next, or back.
    void give_up(waiter& w, error_code why);
    /// Every waiter leaves.
    void give_up_all(error_code why);
    /// Its wait is over.
    static void on_wait_over(void* waiter_);

    // For what it consists of.

    /// Where it hears of its lock.
    std::string channel();

    static const hold_events on_holds;

    /// What to ask the server for.
    protocol::acquire_request request_of(const attempt& t);
    /// The try was answered, or lost.
    void answered(attempt& t, const wire::outcome& o);
    /// Another server has the lock from now on: listens there, and looks at what it has.
    void regrouped();
    /// contend() begins, if it hasn't, and waiters are still behind a local hold.
    void contend_now();
    /// It has nothing to do, but may be in its grace.
    bool idle() const noexcept;

private:
    friend core::task contend(slot& s);
    friend class slots;

    static void on_news(void* self, wire::news what);
    static void on_patience_over(void* acquisition_);

    // Tries.
    void advance();  // lets the next waiter try, if it can
    /// For so many waiters at most.
    void try_next(std::size_t most);
    acquisition& acquisition_to_try(const waiter& w, release* leaving = nullptr);
    void try_now(waiter& w, release* leaving = nullptr);
    void pass_try_on(waiter& w);
    /// Tells contend(), if none is on its way any more.
    void try_ended() noexcept;
    /// Who stands behind the first waiter has tried too soon.
    void fall_back();
    void tried(acquisition& a, const wire::outcome& o);
    void tried_in_vain(acquisition& a, const wire::outcome& o);
    void confirmed(acquisition& a, errc why);
    void granted(acquisition& a);
    void begin_hold(acquisition& a);
    bool take_gift(std::string_view message);
    void busy(protocol::acquire_answer&& answer, bool elsewhere = false);
    void failed(error_code why);
    void abandon(acquisition& a);
    void stand_in_line(acquisition& a);
    void leave_line();
    time_point patience_with(const acquisition& a) const noexcept;

    // Holders, and who comes next.
    bool pass_on(acquisition& a);
    bool can_hand_over(const acquisition& a) noexcept;
    void hand_over(acquisition& a);
    void downgraded(acquisition& a, bool done);
    void hold_ended(acquisition& a, bool releasing);
    void release_reached(std::int64_t clients);
    void nest_others(acquisition& a);
    bool nest_in(acquisition& a);
    void ride();

    // Waiters.
    /// The waiter has a public hold of it.
    void grant(acquisition& a, waiter& w);
    /// The waiter has none.
    void leave(waiter& w, error_code why, impl::remark said = {});
    void left(waiter& w, error_code why, const acquisition* granted_);
    void end_tries(std::uint32_t permits);
    void others_left(bool head_too);
    /// The first waiter left; the next one may want fewer.
    void head_changed();

    // The contest.
    contest& begin_contest();
    void begin_conversation();
    void end_conversation();
    /// The head needs a try of its own, for this reason.
    void try_for_head(wake why);
    void contend_soon();
    void pass_or_owe() noexcept;
};

/// Gets the lock for the slot's waiters, one after the other, until none is left: subscribes,
/// tries, waits for a release, a poll or a local hand-off, and tries again.
core::task contend(slot& s);

}  // namespace conch::lock

#endif
