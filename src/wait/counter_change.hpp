// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WAIT_COUNTER_CHANGE_HPP
#define CONCH_SRC_WAIT_COUNTER_CHANGE_HPP

#include "core/timer_heap.hpp"
#include "hold/pending.hpp"
#include "protocol/counter.hpp"
#include "wire/call.hpp"

#include <cstdint>
#include <optional>

namespace conch::lock {

class counter;

/// Changes the permits of a semaphore, or the count of a latch, once, however often its call is
/// written; or looks at them.
///
/// A caller who gives up, or had no answer in time to what was written, leaves an addition or a
/// count-down to be carried out, and permits that were drained to be added again, in the
/// background.
class counter_change : public pending, public wire::call {
public:
    enum class kind : std::uint8_t {
        add,
        set,
        try_set,
        drain,
        arm,
        count_down,
        look,
        // Of permits with a lease.
        look_out,    ///< how many are out
        look_total,  ///< and how many there are in all
    };

    /// `result`: for the permits that were drained or looked at; may be null.
    counter_change(caller c, counter& s, kind k, std::int64_t permits, std::int64_t* result);
    ~counter_change();

    static const pending_kind own_kind;

    void begin();
    /// The caller leaves; what is to be carried out nevertheless goes on.
    void leave(error_code why);
    /// No server answers. What was never written is not done; else it is as if the caller left.
    void fail(error_code why);
    /// It is forgotten, whatever it may still do.
    void stop();
    /// Nobody waits for it, and it would be lost if it did not go on.
    bool unsettled() const noexcept { return completed() && goes_on(); }

    counter& of;

private:
    static const wire::call_type change_type;
    static const wire::call_type look_type;
    static const wire::call_type look_leased_type;

    static const wire::call_type& type_for(kind k, const counter& s) noexcept;

    static void encode(wire::call& c, resp::writer& w);
    static void done(wire::call& c, const wire::outcome& o);
    static void looked(wire::call& c, const wire::outcome& o);
    std::optional<std::int64_t> read_look(const resp::value& reply) const;
    static void on_overdue(void* self);

    void answered(const resp::value& reply);
    void end(error_code why, bool is_done = false);
    /// The error of a caller to whom it is unknown whether it was done.
    error_code why_in_doubt(error_code why) const noexcept;
    bool is_owed() const noexcept { return kind_ == kind::add || kind_ == kind::count_down; }
    void retry_later();
    /// When the first copy was written that may have run; never: there is none.
    time_point first_copy() const noexcept;
    time_point repeated_until() const noexcept;
    bool goes_on() const noexcept;
    /// Somebody wants what it does: a caller, or who waits for what is added or counted down.
    bool wanted() const noexcept { return !completed() || is_owed(); }

    const kind kind_;
    const std::int64_t permits_;
    const std::uint64_t number_;
    std::int64_t* result_;  ///< null: nobody wants it, or not any more
    core::timer patience_;
    time_point first_copy_ = core::never;  ///< of those before the last refusal
    time_point told_at_ = core::never;     ///< when its caller was told, if it has one
};

}  // namespace conch::lock

#endif
