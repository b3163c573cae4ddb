// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WAIT_SLOTS_HPP
#define CONCH_SRC_WAIT_SLOTS_HPP

#include "core/environment.hpp"
#include "core/pool.hpp"
#include "core/timer_heap.hpp"
#include "hold/holds.hpp"
#include "wait/contest.hpp"
#include "wait/deadlocks.hpp"
#include "wait/slot.hpp"
#include "wait/waiter.hpp"
#include "wait/wanted_lately.hpp"

#include <conch/error.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

namespace conch::lock {

/// The slots of one client, with all that is held in them.
class slots : public holds {
public:
    slots(core::environment& env, completions& done, topology::servers& servers,
          std::string_view client_id);
    ~slots();

    /// Queues the caller at the slot of this lock, or answers it.
    void acquire(const impl::spec_ptr& spec, const request_terms& terms, caller from);
    /// Every waiter leaves; or those whose lock this link leads to.
    void give_up_all(error_code why, const wire::link* at = nullptr);
    /// Hash slots have other links than before.
    void regrouped();
    /// The slot may have nothing left to do: looked at when the turn ends.
    void may_be_idle(slot& s);
    /// Frees the slots that have nothing left to do.
    void retire_idle();
    /// All acquisitions and slots are forgotten, whatever the servers have.
    void close();

    std::size_t size() const noexcept { return slots_.live(); }
    /// Of one name, where all names together ask as often as they may.
    duration poll_pace() const noexcept;
    /// A waiter asks again after that long, if it hears nothing.
    duration poll_interval() const noexcept {
        return std::max(env.settings.max_poll_interval, poll_pace());
    }

    // For the slots.

    core::environment& env;
    completions& done;
    core::pool<waiter> waiters{};
    core::pool<contest> contests{};
    wanted_lately wanted{};

    // For what is found in `config::deadlock_detection`.

    /// If not, it is a wait from now on.
    bool would_deadlock(waiter& w) { return deadlocks_ && deadlocks_->would_deadlock(w); }
    void wait_ended(const waiter& w) {
        if (deadlocks_) {
            deadlocks_->wait_ended(w);
        }
    }
    void hold_began(const acquisition& a) {
        if (deadlocks_) {
            deadlocks_->hold_began(a);
        }
    }
    void hold_ended(const acquisition& a) {
        if (deadlocks_) {
            deadlocks_->hold_ended(a);
        }
    }
    /// Waits that it looks at, and commands for them.
    std::size_t watched() const noexcept { return deadlocks_ ? deadlocks_->live() : 0; }

private:
    slot& slot_of(const impl::spec_ptr& spec);
    void wait_for_rest();
    static void on_rest_over(void* self);

    std::unique_ptr<deadlocks> deadlocks_{};  ///< null: they are not looked for

    core::pool<slot> slots_{};
    std::vector<slot*> idle_{};
    std::deque<slot*> resting_{};   ///< idle, and in their grace
    core::timer rest_;              ///< of the first of them
};

inline slots& slot_state::all() const noexcept { return static_cast<slots&>(client); }
inline core::environment& slot_state::env() const noexcept { return all().env; }

}  // namespace conch::lock

#endif
