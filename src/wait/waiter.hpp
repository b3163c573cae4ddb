// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WAIT_WAITER_HPP
#define CONCH_SRC_WAIT_WAITER_HPP

#include "core/timer_heap.hpp"
#include "hold/acquisition.hpp"
#include "hold/pending.hpp"
#include "protocol/lock_protocol.hpp"

#include <chrono>
#include <cstdint>
#include <ratio>

namespace conch::lock {

class slot;

/// What an acquire asks for.
struct request_terms : hold_terms {
    duration max_hold{};
    duration progress_within{};  ///< zero: the holder need not report any
    duration wait{};
    bool try_only = false;  ///< busy and timed out are answers, not errors
};

/// Up to 49 days.
using short_millis = std::chrono::duration<std::uint32_t, std::milli>;

/// A wait that is over is prolonged by so much for an answer that is on its way.
inline constexpr duration answer_grace = std::chrono::milliseconds{100};

/// A caller that wants the lock, in its slot's queue.
struct waiter : pending {
    waiter(caller c, slot& home, impl::spec_ptr spec, const request_terms& terms, time_point now);

    static const pending_kind own_kind;

    bool shared() const noexcept { return protocol::is_shared(*spec); }
    /// What is tried for another is what this one wants.
    bool would_take(const acquisition& tried) const noexcept;
    /// The hold of another is what this one wants, with no word to the server.
    bool would_take_as_it_is(const acquisition& held, time_point now) const noexcept;

    const short_millis progress_within;  ///< as `terms`
    const bool try_only : 1;             ///< the same
    const bool no_wait : 1;              ///< it doesn't wait for others
    bool tried : 1 = false;              ///< a try made for it was answered
    bool queued : 1 = false;             ///< behind others of this client
    bool overdue : 1 = false;            ///< its wait is over, and was prolonged
    bool watched : 1 = false;            ///< `deadlocks` looks after its wait
    acquisition* trying = nullptr;  ///< the try that is on its way for it
    slot& home;
    impl::spec_ptr spec;
    hold_terms terms;
    duration max_hold;
    time_point since;
    core::timer deadline;  ///< of its wait
};

}  // namespace conch::lock

#endif
