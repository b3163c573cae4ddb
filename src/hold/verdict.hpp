// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_VERDICT_HPP
#define CONCH_SRC_HOLD_VERDICT_HPP

#include <conch/clock.hpp>
#include <conch/error.hpp>

namespace conch::lock {

/// What a release ended in, from the server's answer and what is known of its sending.
struct release_facts {
    bool was_holder = false;    ///< the server deleted the field
    bool may_have_run = false;  ///< an earlier copy of the release was lost unanswered
    time_point first_sent{};    ///< when the first copy that may have run was sent
    time_point valid_until{};   ///< the hold's deadline
};

/// `errc{}`: done. Not the holder any more: an earlier copy may have done it, if that copy left in
/// time; else the lease had ended, or, in time and sent once, somebody took the lock away.
constexpr errc release_verdict(const release_facts& f) noexcept {
    if (f.was_holder) {
        return errc{};
    }
    if (f.first_sent >= f.valid_until) {
        return errc::lease_expired;
    }
    return f.may_have_run ? errc{} : errc::lock_lost;
}

}  // namespace conch::lock

#endif
