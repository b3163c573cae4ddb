// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_NESTING_HPP
#define CONCH_SRC_HOLD_NESTING_HPP

#include "core/environment.hpp"
#include "core/pool.hpp"
#include "hold/acquisition.hpp"
#include "hold/pending.hpp"
#include "wire/call.hpp"

#include <conch/error.hpp>

#include <cstddef>

namespace conch::lock {

class keeper;
class nester;

/// Goes one level deeper, or comes back from one.
struct level_change : pending, wire::call {
    level_change(caller c, nester& n, acquisition& a, bool deeper) noexcept;

    static const pending_kind own_kind;

    nester& home;
    acquisition* of;   ///< null once that ended
    duration lease{};  ///< as it was sent
    bool enters;
    core::timer patience;
};

/// Deeper levels of held acquisitions: entered and left by writing the depth as it shall be.
class nester {
public:
    nester(core::environment& env, completions& done, keeper& holds) noexcept
        : env_{env}, done_{done}, holds_{holds} {}

    /// One level deeper, past the local queue; completes with a hold of the same acquisition.
    void enter_level(acquisition& a, caller from);
    /// Some level of it is held or being entered; not one whose caller has given up, though it is
    /// still on its way.
    static bool is_wanted(const acquisition& a) noexcept;
    /// One level is left, and others remain (`a.depth` says how many).
    void leave_level(acquisition& a, caller from);
    /// The acquisition ends: so do its changes.
    void end_changes(acquisition& a, error_code why);

    /// Changes on their way.
    std::size_t changes() const noexcept { return changes_.live(); }

private:
    static const wire::call_type type;
    static void encode_nest(wire::call& c, resp::writer& w);
    static void on_change_overdue(void* change_);
    friend struct level_change;

    void begin_change(acquisition& a, caller from, bool enters);
    void nest_done(level_change& c, const wire::outcome& o);
    void finish(level_change& c);
    void leave_unwanted(acquisition& a);

    core::environment& env_;
    completions& done_;
    keeper& holds_;
    core::pool<level_change> changes_{};
};

}  // namespace conch::lock

#endif
