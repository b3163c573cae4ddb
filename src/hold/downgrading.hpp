// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_DOWNGRADING_HPP
#define CONCH_SRC_HOLD_DOWNGRADING_HPP

#include "core/environment.hpp"
#include "core/pool.hpp"
#include "hold/acquisition.hpp"
#include "hold/events.hpp"
#include "hold/pending.hpp"
#include "wire/call.hpp"

#include <conch/error.hpp>

#include <cstddef>

namespace conch::lock {

class downgrader;
class keeper;
class nester;
class renewer;

/// Turns a writer's hold into a reader's. Once it was written it goes on, with or without a caller,
/// until the server has told which of the two the hold is, or the hold ends.
struct downgrade : pending, wire::call {
    downgrade(caller c, downgrader& d, acquisition& a) noexcept;

    static const pending_kind own_kind;

    downgrader& home;
    acquisition* of;       ///< null once that ended
    const bool first;      ///< no earlier one of its hold may have run
    duration lease{};      ///< as it was sent
    core::timer patience;  ///< of its caller
};

/// The first that is on its way; null if none is. Until the last one is answered, what other
/// scripts find of the writer's field says nothing.
const downgrade* downgrade_of(const acquisition& a) noexcept;

/// It is a reader's, or becomes one: nothing that wants to write nests in it, and the server counts
/// no levels of it.
inline bool is_reader(const acquisition& a) noexcept {
    return protocol::is_shared(*a.spec) || downgrade_of(a);
}

/// Downgrades of held acquisitions. An acquisition takes the reader's form when the server has
/// confirmed that, and keeps it.
class downgrader {
public:
    downgrader(core::environment& env, completions& done, keeper& holds, renewer& renewals,
               nester& nesting, const hold_events& events) noexcept
        : env_{env},
          done_{done},
          holds_{holds},
          renewals_{renewals},
          nesting_{nesting},
          events_{events} {}

    /// A public hold of a writer shall be one of a reader.
    void downgrade_level(const impl::view_ptr& view, caller from);
    /// Another script did not find the field of its form. Whether that is no loss yet, as the other
    /// field may be there: the answer of a downgrade tells.
    bool looks_for_other_field(acquisition& a);
    /// The acquisition ends: so do its downgrades.
    void end_all(acquisition& a, errc why);

    /// That are not answered.
    std::size_t on_their_way() const noexcept { return downgrades_.live(); }

private:
    static const wire::call_type type;
    static void encode(wire::call& c, resp::writer& w);
    static void on_patience_over(void* downgrade_);
    friend struct downgrade;

    void begin(acquisition& a, caller from);
    void set_patience(downgrade& d);
    void give_up(downgrade& d, error_code why);
    void not_done(downgrade& d);
    void answered(downgrade& d, const wire::outcome& o);
    void done(acquisition& a, time_point sent, duration lease);
    void finish(downgrade& d);

    core::environment& env_;
    completions& done_;
    keeper& holds_;
    renewer& renewals_;
    nester& nesting_;
    const hold_events& events_;
    core::pool<downgrade> downgrades_{};
};

}  // namespace conch::lock

#endif
