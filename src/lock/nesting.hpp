// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_LOCK_NESTING_HPP
#define CONCH_SRC_LOCK_NESTING_HPP

#include "lock/acquisition.hpp"

#include <conch/error.hpp>

// Deeper levels of a held acquisition: entered and left by writing the depth as it shall be.
namespace conch::lock {

/// One level deeper, past the local queue; completes with a hold of the same acquisition.
void enter_level(acquisition& a, caller from);

/// Some level of it is held or being entered; not one whose caller has given up, though it is still
/// on its way.
bool is_wanted(const acquisition& a) noexcept;

/// One level is left, and others remain (`a.depth` says how many).
void leave_level(acquisition& a, caller from);

/// The acquisition ends: so do its changes.
void end_changes(acquisition& a, error_code why);

}  // namespace conch::lock

#endif
