// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_HELD_HPP
#define CONCH_TEST_SIM_HELD_HPP

#include "core/hold_view.hpp"
#include "sim/world.hpp"

#include <conch/options.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace conch::sim {

struct call;

/// A hold in a user's hands, as the public handle would be.
struct held {
    std::uint64_t client = 0;
    std::uint64_t user = 0;
    std::size_t name = 0;
    bool shared = false;  ///< for reading
    impl::view_ptr view{};
    std::uint64_t number = 0;  ///< the second part of its field; nested ones share it
    instant asked_at = 0;      ///< when its acquire began
    instant sent_at = 0;       ///< when the successful attempt left
    instant began_at = 0;      ///< the same, but when it was passed on, for one that was
    instant granted_at = 0;
    duration max_hold = forever;
    duration renewed_lease{};  ///< zero if it isn't renewed for ever
    duration progress_within{};  ///< zero: its holder need not report any
    time_point reported{};       ///< when its holder last did, by its client's clock
    bool fell_silent = false;    ///< for longer than that, at least once
    bool extended = false;       ///< its user asked for that
    time_point granted_until{};  ///< its first deadline; who passed it on may have extended it
    call* watch = nullptr;
    bool judged = false;     ///< its loss was looked at
    bool explained = false;  ///< and its reason
    bool told = false;       ///< of its loss, or closing

    /// What `hold::owns_lock()` says at this local time.
    bool owns_lock(time_point local_now) const noexcept {
        return view->lost.load() == 0 && view->asked.load() == impl::hold_request::none &&
               local_now < valid_until();
    }
    time_point valid_until() const noexcept {
        return time_point{duration{view->valid_until.load()}};
    }
    /// Its holder has not reported progress for too long.
    bool is_silent(time_point local_now) const noexcept {
        return progress_within != duration{} && local_now - reported > progress_within;
    }
    void report(time_point local_now) noexcept {
        fell_silent = fell_silent || is_silent(local_now);
        reported = local_now;
    }
};

}  // namespace conch::sim

#endif
