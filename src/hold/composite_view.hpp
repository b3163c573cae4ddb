// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_COMPOSITE_VIEW_HPP
#define CONCH_SRC_HOLD_COMPOSITE_VIEW_HPP

#include "core/hold_view.hpp"
#include "core/report_time.hpp"

namespace conch::impl {

/// Of a hold that is made of holds of several clients. All other views are those of levels.
struct composite_view : hold_view {
    /// What there is to know of the kind that derives from it.
    struct kind {
        time_point (*until)(const composite_view& v) noexcept;  ///< from any thread
        void (*note_progress)(composite_view& v, time_point at) noexcept;  ///< from any thread
        void (*destroy)(composite_view& v) noexcept;
    };

    explicit composite_view(const kind& k) noexcept
        : hold_view{0, {}, view_kind::composite}, of{k} {}

    const kind& of;
    core::report_time reported{};

protected:
    ~composite_view() = default;
};

/// The deadline of either kind.
inline time_point end_of(const hold_view& v) noexcept {
    if (v.kind == view_kind::composite) {
        const auto& c = static_cast<const composite_view&>(v);
        return c.of.until(c);
    }
    return time_point{duration{v.valid_until.load(std::memory_order_acquire)}};
}

/// When its holder last reported progress; null: it need not.
core::report_time* report_of(hold_view& v) noexcept;

/// The holder reported progress at that time. From any thread.
void note_progress(hold_view& v, time_point at) noexcept;

}  // namespace conch::impl

#endif
