// SPDX-License-Identifier: BSL-1.0
#include "hold/composite_view.hpp"

#include "hold/level.hpp"

namespace conch::impl {

void intrusive_ptr_add_ref(hold_view* v) noexcept {
    v->references.fetch_add(1, std::memory_order_relaxed);
}

void intrusive_ptr_release(hold_view* v) noexcept {
    if (v->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        switch (v->kind) {
            case view_kind::plain: delete static_cast<lock::level*>(v); return;
            case view_kind::reporting: delete static_cast<lock::reporting_level*>(v); return;
            case view_kind::composite: {
                auto& c = static_cast<composite_view&>(*v);
                c.of.destroy(c);
                return;
            }
        }
    }
}

core::report_time* report_of(hold_view& v) noexcept {
    switch (v.kind) {
        case view_kind::plain: return nullptr;
        case view_kind::reporting: return &static_cast<lock::reporting_level&>(v).reported;
        case view_kind::composite: return &static_cast<composite_view&>(v).reported;
    }
    return nullptr;
}

void note_progress(hold_view& v, time_point at) noexcept {
    if (v.kind == view_kind::composite) {
        auto& c = static_cast<composite_view&>(v);
        c.of.note_progress(c, at);
    } else if (core::report_time* const r = report_of(v)) {
        r->raise(at);
    }
}

}  // namespace conch::impl
