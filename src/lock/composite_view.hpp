// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_LOCK_COMPOSITE_VIEW_HPP
#define CONCH_SRC_LOCK_COMPOSITE_VIEW_HPP

#include "core/hold_view.hpp"

namespace conch::impl {

/// Of a hold that is made of holds of several clients. All other views are those of levels.
struct composite_view : hold_view {
    composite_view() noexcept : hold_view{0, {}, true} {}
    virtual ~composite_view() = default;
    /// The hold's deadline, from any thread.
    virtual time_point until() const noexcept = 0;
};

/// The deadline of either kind.
inline time_point end_of(const hold_view& v) noexcept {
    if (v.composite) {
        return static_cast<const composite_view&>(v).until();
    }
    return time_point{duration{v.valid_until.load(std::memory_order_acquire)}};
}

}  // namespace conch::impl

#endif
