// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_COMPOSITE_VIEW_HPP
#define CONCH_SRC_HOLD_COMPOSITE_VIEW_HPP

#include "core/hold_view.hpp"

namespace conch::impl {

/// Of a hold that is made of holds of several clients. All other views are those of levels.
struct composite_view : hold_view {
    /// What there is to know of the kind that derives from it.
    struct kind {
        time_point (*until)(const composite_view& v) noexcept;  ///< from any thread
        void (*destroy)(composite_view& v) noexcept;
    };

    explicit composite_view(const kind& k) noexcept : hold_view{0, {}, true}, of{k} {}

    const kind& of;

protected:
    ~composite_view() = default;
};

/// The deadline of either kind.
inline time_point end_of(const hold_view& v) noexcept {
    if (v.composite) {
        const auto& c = static_cast<const composite_view&>(v);
        return c.of.until(c);
    }
    return time_point{duration{v.valid_until.load(std::memory_order_acquire)}};
}

}  // namespace conch::impl

#endif
