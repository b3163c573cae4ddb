// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WAIT_SLOT_STATE_HPP
#define CONCH_SRC_WAIT_SLOT_STATE_HPP

#include "core/environment.hpp"
#include "hold/names.hpp"
#include "wait/contest.hpp"
#include "wait/queue.hpp"

#include <cstdint>

namespace conch::lock {

class slots;

/// What a slot knows of its name: who waits, for whom of them a try is on its way, and what there
/// is of a contest with others. It answers questions, and decides nothing.
class slot_state : public lock_name {
public:
    inline slots& all() const noexcept;
    inline core::environment& env() const noexcept;

protected:
    slot_state(slots& all, impl::spec_ptr spec) noexcept;
    ~slot_state();

    // Waiters.
    bool has_waiters() const noexcept { return !queue_.empty(); }
    /// The first waiter waits for a holder of this client.
    bool blocked() const noexcept;
    bool is_busy_for(const waiter& w) const noexcept;

    // Tries.
    /// The first waiter that no try is on its way for, if it may have one.
    waiter* next_to_try() noexcept;
    /// The first of those that are on their way; null if none is.
    acquisition* trying() const noexcept { return last_tried_ ? queue_.head().trying : nullptr; }
    /// From now on it is made for this one.
    void make_for(waiter& w, acquisition& a) noexcept;
    acquisition& take_try(waiter& w) noexcept;

    // The contest.
    void end_contest() noexcept;
    /// Wakes contend(), if that awaits this.
    void tell(wake what) noexcept;
    /// The same, for a reason to try.
    void heard(wake what);
    bool follows_release() const noexcept;
    /// Whoever wants the lock now counts as the next of the streak.
    bool in_grace() const noexcept;
    /// The streak of this client, after one more hold of it.
    bool streak_ends() const noexcept;
    turns::bounds bounds_of_streak() const noexcept;
    bool others_wait() const noexcept { return contest_ && contest_->turns.others_wait(); }
    bool owes_turn() const noexcept { return contest_ && contest_->turns.owed(); }
    bool expects_to_wait() const noexcept;

    bool contending_ : 1 = false;  ///< contend() runs
    bool listed_idle_ : 1 = false;
    bool one_at_a_time_ : 1 = false;  ///< until a try is granted, only the first waiter has one
    std::uint32_t rides_ = 0;         ///< of readers that joined the last acquisition
    queue queue_{};
    /// A try is on its way for this one and for each in front of it; for nobody, if it is null.
    waiter* last_tried_ = nullptr;
    contest* contest_ = nullptr;
};

}  // namespace conch::lock

#endif
