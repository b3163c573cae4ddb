// SPDX-License-Identifier: BSL-1.0
#include "core/lock_terms.hpp"

#include "core/time.hpp"

#include <algorithm>

namespace conch::core {

errc check_options(const lock_options& o, const config& c) noexcept {
    if (o.wait && *o.wait < duration::zero()) {
        return errc::invalid_wait;
    }
    if (!lease_is_good(lease_of(o, c), renews(o, c))) {
        return errc::invalid_lease;
    }
    if (o.max_hold < shortest_lease) {
        return errc::invalid_max_hold;
    }
    if (o.progress_within != duration::zero() &&
        (o.progress_within < shortest_renewed_lease ||
         o.progress_within > longest_without_progress || !renews(o, c))) {
        return errc::invalid_progress_within;
    }
    const duration longest_stop = std::min(lease_of(o, c), o.max_hold) / 2;
    if (o.stop_before && (*o.stop_before < duration::zero() || *o.stop_before > longest_stop)) {
        return errc::invalid_stop_before;
    }
    return {};
}

}  // namespace conch::core
