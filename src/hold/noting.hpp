// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_NOTING_HPP
#define CONCH_SRC_HOLD_NOTING_HPP

#include "core/environment.hpp"
#include "core/pool.hpp"
#include "hold/acquisition.hpp"
#include "hold/pending.hpp"
#include "protocol/once.hpp"
#include "wire/call.hpp"

#include <conch/error.hpp>

#include <cstddef>

namespace conch::lock {

class keeper;
class noter;

/// Asks for the note beside a lock that is held, or writes it. Goes on until the server has
/// answered, the hold ends, or patience does: for a question after the operation timeout, else
/// after a lease.
struct note : pending, wire::call {
    note(caller c, noter& n, acquisition& a, const impl::once_note& w,
         impl::once_answer* out) noexcept;

    static const pending_kind own_kind;

    noter& home;
    acquisition* of;  ///< null once that ended
    const impl::once_note what;
    impl::once_answer* result;
    core::timer patience;
};

/// Notes of what was done under a lock. The server writes none for a hold that it does not have.
class noter {
public:
    noter(core::environment& env, completions& done, keeper& holds) noexcept
        : env_{env}, done_{done}, holds_{holds} {}

    /// One is on its way that says what was done under this hold.
    static bool is_being_written(impl::hold_view& view) noexcept;
    /// For a public hold of the lock of this spec. Writes the answer to `*result`.
    void send(const impl::view_ptr& view, const impl::lock_spec& spec, const impl::once_note& what,
              caller from, impl::once_answer* result);
    /// The acquisition ends: so do its notes.
    void end_all(acquisition& a, error_code why);

    /// That are not answered.
    std::size_t on_their_way() const noexcept { return notes_.live(); }

private:
    static const wire::call_type type;
    static void on_patience_over(void* note_);
    friend struct note;

    void give_up(note& n, error_code why);
    void answered(note& n, const wire::outcome& o);
    void finish(note& n);

    core::environment& env_;
    completions& done_;
    keeper& holds_;
    core::pool<note> notes_{};
};

}  // namespace conch::lock

#endif
