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
        void (*note_progress)(composite_view& v, time_point at) noexcept;  ///< from any thread
        void (*destroy)(composite_view& v) noexcept;
    };

    explicit composite_view(const kind& k) noexcept : hold_view{0, {}, {}, true}, of{k} {}

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

/// Of several threads that report progress, the latest time stays.
inline void raise_progress(hold_view& v, time_point at) noexcept {
    const duration::rep mine = at.time_since_epoch().count();
    duration::rep last = v.progressed.load(std::memory_order_relaxed);
    while (last < mine &&
           !v.progressed.compare_exchange_weak(last, mine, std::memory_order_relaxed)) {
    }
}

/// The holder reported progress at that time.
inline void note_progress(hold_view& v, time_point at) noexcept {
    if (v.composite) {
        auto& c = static_cast<composite_view&>(v);
        c.of.note_progress(c, at);
    } else {
        raise_progress(v, at);
    }
}

/// When the holder last did.
inline time_point progress_of(const hold_view& v) noexcept {
    return time_point{duration{v.progressed.load(std::memory_order_relaxed)}};
}

}  // namespace conch::impl

#endif
